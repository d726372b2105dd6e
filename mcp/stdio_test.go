package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/mcp"
	"plumbline/semantic/diag"
)

// terminal is a client at the other end of two pipes.
type terminal struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	stop context.CancelFunc
}

func stdio(t *testing.T, a mcp.Asker, who string) terminal {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mcp.New(a, "test", who).Stdio(ctx, inR, outW) }()
	t.Cleanup(func() { stop(); inW.Close(); outR.Close() })
	return terminal{t, inW, bufio.NewReader(outR), done, stop}
}

func (c terminal) say(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c.t, err)
}

// hear reads the response with an id.
func (c terminal) hear(id int) rpc {
	c.t.Helper()
	for {
		line, err := c.out.ReadString('\n')
		require.NoError(c.t, err)
		var r struct {
			ID *int
			rpc
		}
		require.NoError(c.t, json.Unmarshal([]byte(line), &r), line)
		if r.ID != nil && *r.ID == id {
			return r.rpc
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`

func (c terminal) ends() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(waitFor):
		c.t.Fatal("stdio does not end")
		return nil
	}
}

func TestStdio(t *testing.T) {
	c := stdio(t, shop(t), "greta")
	c.say(hello)
	c.hear(0)
	c.say(strings.Replace(callBody(older, engine.ToolSQL, sqlArgs("SELECT DISTINCT tenant FROM customers")), `"id":1`, `"id":7`, 1))
	r := c.hear(7)
	require.Equal(t, "globex", r.Result.table(t).Rows[0][0], "the configured subject asks")
	c.say(strings.Replace(callBody(older, engine.ToolSQL, `{"sql":"SELECT 1","tenant":"acme"}`), `"id":1`, `"id":8`, 1))
	require.Equal(t, string(diag.RequestUnknownArg), c.hear(8).Result.refusals(t)[0].Code)
	require.NoError(t, c.in.Close())
	err := c.ends()
	require.True(t, err == nil || errors.Is(err, io.EOF), "%v", err)
}

func TestStdioNeedsASubject(t *testing.T) {
	for _, who := range []string{"", "nobody"} {
		err := mcp.New(shop(t), "test", who).Stdio(t.Context(), io.NopCloser(strings.NewReader(hello)), struct {
			io.Writer
			io.Closer
		}{io.Discard, io.NopCloser(nil)})
		require.Equal(t, diag.RequestSubject, diag.CodeOf(err))
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	c := stdio(t, shop(t), "ana")
	c.say(hello)
	c.hear(0)
	c.stop()
	c.ends()
}

// A client that leaves in the middle of a call, or asks to stop it, cancels the question.
func TestStdioCancels(t *testing.T) {
	w := waiting{shop(t), make(chan struct{}), make(chan error, 1)}
	c := stdio(t, w, "ana")
	c.say(hello)
	c.hear(0)
	c.say(callBody(older, engine.ToolSQL, sqlArgs("SELECT 1")))
	<-w.began
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	require.ErrorIs(t, <-w.ended, context.Canceled)

	c = stdio(t, w, "ana")
	c.say(hello)
	c.hear(0)
	c.say(callBody(older, engine.ToolSQL, sqlArgs("SELECT 1")))
	<-w.began
	require.NoError(t, c.in.Close())
	select {
	case err := <-w.ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(waitFor):
		t.Fatal("the question goes on without its asker")
	}
	c.ends()
}

// A client that does not read its answers holds up nobody else.
func TestStdioSlowReader(t *testing.T) {
	slow := stdio(t, shop(t), "ana")
	slow.say(hello)
	slow.say(callBody(older, engine.ToolSQL, sqlArgs("SELECT id FROM orders")))
	quick := stdio(t, shop(t), "ana")
	quick.say(hello)
	quick.hear(0)
	for range 3 {
		quick.say(callBody(older, engine.ToolSQL, sqlArgs("SELECT count(*) FROM orders")))
		require.False(t, quick.hear(1).Result.IsError)
	}
	slow.hear(0)
	require.Len(t, slow.hear(1).Result.table(t).Rows, 1000, "late is not lost")
}

func TestStdioNonsense(t *testing.T) {
	for _, line := range []string{"{", "null", "\x00\x01", `{"jsonrpc":"2.0"}`, strings.Repeat("[", 1000)} {
		c := stdio(t, shop(t), "ana")
		go io.Copy(io.Discard, c.out)
		io.WriteString(c.in, line+"\n")
		c.in.Close()
		c.ends()
	}
}
