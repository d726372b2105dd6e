package duck

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// probe makes one attempt of the self-test. The list is compiled in and chosen
// by number, so that no text of a caller can arrive here. A refusal is reported
// as a failure of kind refused; no failure means that the attempt got through.
func (w *worker) probe(ctx context.Context, n int, data, tmp string) reply {
	if n < 0 || n >= len(probes) {
		return failed(failSetup, "no such probe")
	}
	var err error
	switch n {
	case probeWriteData:
		err = onlyDenied(os.WriteFile(data, nil, 0o600))
	case probeWriteTemp:
		err = onlyDenied(os.WriteFile(tmp, nil, 0o600))
	case probeReadOutside:
		_, err = os.ReadFile("/etc/hostname")
		err = onlyDenied(err)
	case probeConnect:
		err = onlyDenied(connect(ctx))
	default:
		defer interruptOn(ctx, w.main.conn)()
		err = w.main.exec(strings.NewReplacer("{data}", quoted(data), "{tmp}", quoted(tmp)).Replace(probes[n].sql))
	}
	if err != nil {
		return failed(failRefused, err.Error())
	}
	return reply{}
}

func quoted(path string) string { return strings.ReplaceAll(path, "'", "''") }

// onlyDenied keeps the refusals of the operating system and drops other errors,
// which would make an attempt look refused that merely failed.
func onlyDenied(err error) error {
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		return err
	}
	return nil
}

func connect(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", "127.0.0.1:9")
	if err == nil {
		return conn.Close()
	}
	return err
}
