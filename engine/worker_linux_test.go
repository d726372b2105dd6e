package engine_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// endless is allowed and does not end by itself; n makes texts differ.
func endless(n int) string {
	return fmt.Sprintf("SELECT count(*) FROM order_items a, order_items b, order_items c WHERE a.qty * b.qty > c.qty + %d", n)
}

type outcome struct {
	ans *engine.Answer
	err error
}

// start asks in the background.
func (h house) start(ctx context.Context, who, text string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		ans, err := h.sqlIn(ctx, who, text)
		done <- outcome{ans, err}
	}()
	return done
}

// cpu gives the processor time of a process in ticks; 0 when it is gone.
func cpu(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return user + system
}

// busy waits until n workers compute and gives their ids.
func (h house) busy(n int) []int {
	h.t.Helper()
	var out []int
	require.Eventually(h.t, func() bool {
		before := map[int]int{}
		for _, pid := range h.Pool().PIDs() {
			before[pid] = cpu(pid)
		}
		time.Sleep(60 * time.Millisecond) // the clock that is watched ticks every 10
		out = nil
		for pid, was := range before {
			if cpu(pid) >= was+2 {
				out = append(out, pid)
			}
		}
		return len(out) == n
	}, 20*time.Second, time.Millisecond, "%d workers compute", n)
	return out
}

func TestKillingAWorkerCostsOneQuery(t *testing.T) {
	h := open(t, workspace(t))
	lost := h.start(t.Context(), "operator", endless(1))
	pid := h.busy(1)[0]
	require.Equal(t, "3970\n", h.rows("ana", "SELECT count(*) FROM orders"), "another is answered meanwhile")
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	got := <-lost
	h.code(diag.ExecuteCrashed, got.err)
	require.Nil(t, got.ans)
	require.NotContains(t, got.err.Error(), strconv.Itoa(pid))
	require.Equal(t, "3970\n", h.rows("ana", "SELECT count(*) FROM orders"), "others are answered after it")
	require.Eventually(t, func() bool { return len(h.Pool().PIDs()) == 3 }, 10*time.Second, time.Millisecond, "two workers and the spare")
	require.NotContains(t, h.Pool().PIDs(), pid)
}

func TestKillingAWorkerDoesNotTouchAnotherQuery(t *testing.T) {
	h := open(t, workspace(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := h.start(ctx, "operator", endless(1))
	victim := h.busy(1)[0]
	second := h.start(ctx, "operator", endless(2))
	h.busy(2)
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	require.Equal(t, diag.ExecuteCrashed, diag.CodeOf((<-first).err))
	h.busy(1) // the second computes on
	cancel()
	require.Equal(t, diag.RequestCancelled, diag.CodeOf((<-second).err))
}

func TestDeadline(t *testing.T) {
	h := open(t, workspace(t, [3]string{"plumbline.cue", `"30s"`, `"1s"`}))
	began := time.Now()
	_, err := h.sql("operator", endless(1))
	h.code(diag.LimitTime, err)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Contains(t, err.Error(), "1s")
	h.idle()
}

// idle requires that all workers are free: as many questions as there are
// workers are answered, and none computes any more.
func (h house) idle() {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		before := map[int]int{}
		for _, pid := range h.Pool().PIDs() {
			before[pid] = cpu(pid)
		}
		time.Sleep(60 * time.Millisecond)
		for pid, was := range before {
			if cpu(pid) >= was+3 {
				return false
			}
		}
		return true
	}, 10*time.Second, time.Millisecond, "a worker still computes")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			_, err := h.sql("ana", fmt.Sprintf("SELECT count(*) + %d FROM orders", i))
			if err != nil {
				h.t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestCancel(t *testing.T) {
	h := open(t, workspace(t))
	ctx, cancel := context.WithCancel(t.Context())
	got := h.start(ctx, "operator", endless(1))
	h.busy(1)
	began := time.Now()
	cancel()
	h.code(diag.RequestCancelled, (<-got).err)
	require.Less(t, time.Since(began), 3*time.Second, "the grace of a worker is a quarter of a second")
	h.idle()
}

// A question that no worker takes in its time is refused as such, whoever keeps
// the workers busy.
func TestBusy(t *testing.T) {
	h := open(t, workspace(t,
		[3]string{"plumbline.cue", "workers: 2", "workers: 1"},
		[3]string{"rego/limits.rego", `{"rows": 500}`, `{"rows": 500, "time_ms": 400}`}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hog := h.start(ctx, "operator", endless(1))
	h.busy(1)
	_, err := h.sql("sam", "SELECT count(*) FROM customers")
	h.code(diag.RequestBusy, err)
	cancel()
	<-hog
	require.Equal(t, "179\n", h.rows("sam", "SELECT count(*) FROM customers"))
}

// Callers with an equal text share a run; one of them leaving stops nothing for
// the others, and the last one stops it.
func TestOneOfTwoLeaves(t *testing.T) {
	h := open(t, workspace(t))
	ctx1, cancel1 := context.WithCancel(t.Context())
	ctx2, cancel2 := context.WithCancel(t.Context())
	defer cancel2()
	first := h.start(ctx1, "operator", endless(1))
	h.busy(1)
	second := h.start(ctx2, "operator", endless(1))
	cancel1()
	require.Equal(t, diag.RequestCancelled, diag.CodeOf((<-first).err))
	select {
	case got := <-second:
		t.Fatalf("the second ended with the first: %v", got.err)
	case <-time.After(300 * time.Millisecond):
	}
	h.busy(1)
	cancel2()
	require.Equal(t, diag.RequestCancelled, diag.CodeOf((<-second).err))
	h.idle()
}
