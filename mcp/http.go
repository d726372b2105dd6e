package mcp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline/semantic/diag"
)

// maxBody bounds a request over HTTP; SQL is capped at 64 KiB by the parser.
const maxBody = 256 << 10

// Token is the secret of one subject.
type Token struct {
	Subject string
	Secret  string
}

// HTTP gives the handler of the streamable transport: stateless, one bearer
// token per subject, cross-origin requests refused unless listed. Requests
// without a known token get 401. It keeps only digests of the tokens.
//
// The server must be made without a stdio subject: over HTTP nobody may ever be
// taken for the person at the terminal.
func (s *Server) HTTP(tokens []Token, origins []string) (http.Handler, error) {
	if s.stdioSubject != "" {
		return nil, diag.New(diag.BugInternal, "a server over HTTP was given a subject of its own")
	}
	verify, err := verifier(tokens)
	if err != nil {
		return nil, err
	}
	protection := http.NewCrossOriginProtection()
	for _, o := range origins {
		if err := protection.AddTrustedOrigin(o); err != nil {
			return nil, diag.Wrap(err, diag.ConfigInvalid, "server.origins holds %q, which is no origin", o).WithHint("write scheme://host[:port]")
		}
	}
	stream := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
	})
	bearer := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", protection.Handler(challenged(bearer(admitted(rememberRequest(stream))))))
	return mux, nil
}

// challenge tells a client without a known token how to come with one (RFC 6750).
const challenge = `Bearer realm="plumbline"`

// challenged puts the challenge on what next refuses; admitted, inside next,
// takes it away. The SDK sends one only to those who name an OAuth server.
func challenged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", challenge)
		next.ServeHTTP(w, r)
	})
}

func admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del("WWW-Authenticate")
		next.ServeHTTP(w, r)
	})
}

// verifier compares digests in constant time and looks at every token.
func verifier(tokens []Token) (auth.TokenVerifier, error) {
	type known struct {
		subject string
		digest  [sha256.Size]byte
	}
	var list []known
	for _, t := range tokens {
		if len(t.Secret) < 16 {
			return nil, diag.New(diag.ConfigInvalid, "the token of subject %q is shorter than 16 characters", t.Subject).WithHint("use a random token, for example 32 hex digits")
		}
		digest := sha256.Sum256([]byte(t.Secret))
		for _, k := range list {
			if k.digest == digest {
				return nil, diag.New(diag.ConfigInvalid, "subjects %q and %q have the same token", k.subject, t.Subject).WithHint("give each its own")
			}
		}
		list = append(list, known{t.Subject, digest})
	}
	return func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		digest := sha256.Sum256([]byte(token))
		var info *auth.TokenInfo
		for _, k := range list {
			if subtle.ConstantTimeCompare(k.digest[:], digest[:]) == 1 {
				info = &auth.TokenInfo{UserID: k.subject}
			}
		}
		if info == nil {
			return nil, auth.ErrInvalidToken
		}
		return info, nil
	}, nil
}

// requestKey holds the HTTP request's own context inside the handler's.
type requestKey struct{}

// rememberRequest lets untilClosed see the connection: clients of protocol
// versions before 2026-07-28 cancel a stateless call by closing it.
func rememberRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context())))
	})
}

// untilClosed gives a context that ends with the caller's connection as well.
// The function it gives must be called when the call is over.
func untilClosed(ctx context.Context) (context.Context, func()) {
	request, ok := ctx.Value(requestKey{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(request, cancel)
	return ctx, func() { stop(); cancel() }
}
