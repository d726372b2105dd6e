package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck"
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
