package duck_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck"
	"plumbline/policy/prove"
	"plumbline/semantic/diag"
)

// serverEnv makes the test binary a server that opens a pool, prints its
// workers, and waits to be killed.
const serverEnv = "DUCK_TEST_SERVER"

func serve() {
	var cfg duck.Config
	if err := json.Unmarshal([]byte(os.Getenv(serverEnv)), &cfg); err != nil {
		panic(err)
	}
	p, err := duck.Open(context.Background(), cfg)
	if err != nil {
		panic(err)
	}
	for len(p.PIDs()) <= cfg.Workers {
		time.Sleep(time.Millisecond)
	}
	json.NewEncoder(os.Stdout).Encode(p.PIDs())
	select {}
}

// Workers end with their server, however it ends; the next server removes what
// the last one left on disk.
func TestWorkersDieWithTheirServer(t *testing.T) {
	cfg := config(t)
	text, err := json.Marshal(cfg)
	require.NoError(t, err)
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), serverEnv+"="+string(text))
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)
	var pids []int
	require.NoError(t, json.Unmarshal(line, &pids))
	require.Len(t, pids, cfg.Workers+1)
	require.NoError(t, server.Process.Kill())
	server.Wait()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return gone(pid) }, 5*time.Second, time.Millisecond)
	}
	left, err := filepath.Glob(filepath.Join(cfg.TempDir, "*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	p := open(t, cfg)
	left, err = filepath.Glob(filepath.Join(cfg.TempDir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{p.Dir()}, left)
}

// gone also counts a process that nobody has waited for yet, once its last
// thread has let go of its pipes.
func gone(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	var id int
	var name, state string
	fmt.Sscan(string(text), &id, &name, &state)
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return state == "Z" && (err != nil || len(threads) < 2)
}

// A worker sees nothing of the server's environment.
func TestWorkerGetsNoSecrets(t *testing.T) {
	t.Setenv("PLUMBLINE_TEST_TOKEN", "secret")
	p := open(t, config(t))
	for _, pid := range settled(t, p, 3) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		require.NoError(t, err)
		require.NotContains(t, string(text), "TOKEN")
	}
}

// A query that spills leaves nothing behind, nor does a worker that is killed.
func TestTempFilesGo(t *testing.T) {
	cfg := config(t)
	cfg.Memory = duck.MinMemory
	p := open(t, cfg)
	spill := `SELECT a.label || b.id AS l, a.label || a.label || b.id AS m FROM ` + itemsTable + ` a JOIN ` + itemsTable + ` b ON b.id < 20 ORDER BY l DESC, m`
	res, err := run(t, p, spill)
	require.NoError(t, err)
	res.Release()
	require.Empty(t, spilled(t, p))
	victims := settled(t, p, 3)
	var lost sync.WaitGroup
	lost.Go(func() {
		if res, err := p.Run(context.Background(), prove.ForTest(t, spill), limits); err == nil {
			res.Release()
		}
	})
	require.Eventually(t, func() bool { return len(spilled(t, p)) > 0 }, 10*time.Second, time.Millisecond)
	for _, pid := range victims {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	require.Eventually(t, func() bool {
		return len(p.PIDs()) == 3 && !slices.ContainsFunc(p.PIDs(), func(pid int) bool { return slices.Contains(victims, pid) })
	}, 10*time.Second, time.Millisecond)
	lost.Wait()
	require.Empty(t, spilled(t, p))
	works(t, p)
}

func spilled(t *testing.T, p *duck.Pool) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(p.Dir(), "worker-*", "*"))
	require.NoError(t, err)
	return left
}

func TestTempSpaceIsBounded(t *testing.T) {
	cfg := config(t)
	cfg.Memory, cfg.Temp = duck.MinMemory, 8<<20
	p := open(t, cfg)
	_, err := run(t, p, `SELECT max(x) FROM (SELECT a.label || b.label AS x, row_number() OVER (ORDER BY a.label || b.label) AS r FROM `+itemsTable+` a JOIN `+itemsTable+` b ON b.id < 20)`)
	require.Equal(t, diag.LimitMemory, diag.CodeOf(err), "%v", err)
	works(t, p)
}

func TestConfigIsChecked(t *testing.T) {
	for name, change := range map[string]func(*duck.Config){
		"memory":  func(c *duck.Config) { c.Memory = duck.MinMemory - 1 },
		"temp":    func(c *duck.Config) { c.Temp = 0 },
		"threads": func(c *duck.Config) { c.Threads = 0 },
		"workers": func(c *duck.Config) { c.Workers = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := duck.Config{TempDir: t.TempDir(), Memory: duck.MinMemory, Temp: 1, Threads: 1, Workers: 1}
			change(&cfg)
			_, err := duck.Open(t.Context(), cfg)
			require.Equal(t, diag.ConfigInvalid, diag.CodeOf(err))
		})
	}
}

// A worker that is no worker is an error, not a hang.
func TestBrokenExecutable(t *testing.T) {
	for _, program := range []string{"/bin/true", "/bin/echo", "/nonexistent"} {
		cfg := config(t)
		cfg.Executable = program
		_, err := duck.Open(t.Context(), cfg)
		require.Equal(t, diag.BugInternal, diag.CodeOf(err), program)
	}
}

// The least memory is enough to start and answer.
func TestMinMemory(t *testing.T) {
	cfg := config(t)
	cfg.Memory = duck.MinMemory
	p := open(t, cfg)
	for range 20 {
		works(t, p)
	}
	res, err := p.Run(t.Context(), prove.ForTest(t, `SELECT label, id FROM `+itemsTable), duck.RunLimits{Rows: items, Bytes: 32 << 20})
	require.NoError(t, err)
	require.Equal(t, items, res.Rows)
	res.Release()
}

func TestSandboxIsReported(t *testing.T) {
	p := open(t, config(t))
	t.Log(p.Sandbox())
	cfg := config(t)
	cfg.RequireSandbox = true
	other, err := duck.Open(t.Context(), cfg)
	if p.Sandbox() == "" {
		require.Equal(t, diag.ConfigSandbox, diag.CodeOf(err))
		return
	}
	require.NoError(t, err)
	require.NoError(t, other.Close())
}
