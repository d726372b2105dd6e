package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds a message over stdio, as maxBody does over HTTP.
const maxLine = maxBody

// lines passes on the messages of a client, one a line, and answers by itself
// what is none: a line that is no JSON object, or that is too long, gets a
// JSON-RPC error and costs only itself. The SDK would end the whole connection.
type lines struct {
	in      *bufio.Reader
	close   io.Closer
	out     io.Writer
	pending []byte // of the line that is being passed on
}

func newLines(in io.ReadCloser, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, maxLine+1), close: in, out: out}
}

// Read gives bytes of well-formed lines only.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.pending) == 0 {
		line, err := l.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if err := l.refuse(-32600, "a message is longer than the server accepts"); err != nil {
				return 0, err
			}
			if err := l.skip(); err != nil {
				return 0, err
			}
			continue
		}
		if err != nil && len(bytes.TrimSpace(line)) == 0 {
			return 0, err
		}
		switch text := bytes.TrimSpace(line); {
		case len(text) == 0:
		case !json.Valid(text):
			err = l.refuse(-32700, "a line is no well-formed JSON")
		case !isMessage(text):
			err = l.refuse(-32600, "a line is no JSON-RPC 2.0 message")
		default:
			l.pending, err = append(bytes.Clone(text), '\n'), nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

// isMessage reads a line as the SDK will.
func isMessage(text []byte) bool {
	_, err := jsonrpc.DecodeMessage(text)
	return text[0] == '{' && err == nil
}

// skip reads to the end of an overlong line.
func (l *lines) skip() error {
	for {
		_, err := l.in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (l *lines) refuse(code int, message string) error {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return err
	}
	_, err = l.out.Write(append(text, '\n'))
	return err
}

// Close closes the client's side.
func (l *lines) Close() error { return l.close.Close() }

// oneWriter keeps whole messages apart: the SDK and lines write to one stream.
type oneWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

func (w *oneWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}
