package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck"
	"plumbline/semantic/diag"
)

func TestSharingRunsEqualTextsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		var runs int
		finish := make(chan struct{})
		start := func(context.Context) (*duck.Result, error) {
			runs++
			<-finish
			return &duck.Result{Rows: 7}, nil
		}
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				rows, release, err := s.do(context.Background(), "q", start)
				if err != nil || rows.Rows != 7 {
					t.Errorf("got %v, %v", rows, err)
					return
				}
				release()
			})
		}
		synctest.Wait()
		close(finish)
		wg.Wait()
		require.Equal(t, 1, runs)

		_, release, err := s.do(context.Background(), "q", start)
		require.NoError(t, err)
		release()
		require.Equal(t, 2, runs, "a run that is over is not shared")
		require.Empty(t, s.runs)
	})
}

func TestSharingGoesOnForThoseWhoStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		finish, stopped := make(chan struct{}), make(chan struct{})
		start := func(ctx context.Context) (*duck.Result, error) {
			select {
			case <-finish:
				return &duck.Result{Rows: 1}, nil
			case <-ctx.Done():
				close(stopped)
				return nil, ctx.Err()
			}
		}
		ask := func(ctx context.Context) chan error {
			out := make(chan error, 1)
			go func() {
				_, release, err := s.do(ctx, "q", start)
				if err == nil {
					release()
				}
				out <- err
			}()
			synctest.Wait()
			return out
		}
		why := errors.New("left")
		impatient, leave := context.WithCancelCause(context.Background())
		first, second := ask(impatient), ask(context.Background())
		leave(why)
		require.ErrorIs(t, <-first, why, "the one who starts may leave")
		select {
		case <-stopped:
			t.Fatal("the run stopped although someone waits")
		default:
		}
		close(finish)
		require.NoError(t, <-second)

		finish = make(chan struct{})
		alone, leaveAlone := context.WithCancel(context.Background())
		third := ask(alone)
		leaveAlone()
		require.Error(t, <-third)
		<-stopped // the last to leave stops the run
		synctest.Wait()
		require.Empty(t, s.runs)
	})
}

// The deadline of who began a run is not that of who joined it, in both directions.
func TestSharingKeepsDeadlinesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		runs := 0
		start := func(ctx context.Context) (*duck.Result, error) {
			runs++
			select {
			case <-time.After(5 * time.Second):
				return &duck.Result{Rows: 1}, nil
			case <-ctx.Done():
				return nil, diag.New(diag.RequestBusy, "as the pool says it")
			}
		}
		ask := func(limit time.Duration) chan diag.Code {
			out := make(chan diag.Code, 1)
			go func() {
				ctx, cancel := context.WithTimeoutCause(context.Background(), limit, errTime)
				defer cancel()
				_, release, err := s.do(ctx, "q", start)
				if err == nil {
					release()
				}
				out <- diag.CodeOf(err)
			}()
			synctest.Wait()
			return out
		}
		brief, long, briefer := ask(3*time.Second), ask(10*time.Second), ask(time.Second)
		require.Equal(t, diag.LimitTime, <-briefer)
		require.Equal(t, diag.RequestBusy, <-brief, "who began it learns why from the pool")
		require.Equal(t, diag.Code(""), <-long, "who has time left begins it again")
		require.Equal(t, 2, runs)
		require.Empty(t, s.runs)
	})
}

func TestSharingSurvivesAPanic(t *testing.T) {
	var s sharing
	_, _, err := s.do(t.Context(), "q", func(context.Context) (*duck.Result, error) { panic("out of range") })
	require.Equal(t, diag.BugInternal, diag.CodeOf(err))
	require.NotContains(t, err.Error(), "out of range")
	require.Empty(t, s.runs)
}
