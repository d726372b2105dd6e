package duck

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// reserved is what a fresh worker has mapped but not touched (about 150 MB:
// stacks of threads, arenas of two allocators), which RLIMIT_DATA counts.
const reserved = 192 << 20

// limitProcess bounds what this process may take. RLIMIT_DATA turns a hostile
// allocation into a clean error of the engine; core files would hold data.
func limitProcess(s *setup) error {
	limits := map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_FSIZE: uint64(max(s.TempBytes, 64<<20))}
	if s.DataLimit {
		limits[syscall.RLIMIT_DATA] = uint64(s.Memory + reserved)
	}
	for which, n := range limits {
		if err := syscall.Setrlimit(which, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("limit %d: %w", which, err)
		}
	}
	return nil
}

const (
	mayReadFile = landlock.AccessFSSet(llsys.AccessFSReadFile)

	mayRead  = mayReadFile | landlock.AccessFSSet(llsys.AccessFSReadDir)
	mayWrite = mayRead | landlock.AccessFSSet(llsys.AccessFSWriteFile|llsys.AccessFSTruncate|
		llsys.AccessFSMakeReg|llsys.AccessFSMakeDir|llsys.AccessFSRemoveFile|llsys.AccessFSRemoveDir)
)

// cgroups hold the memory limit of a container. DuckDB 1.5.6 ends the process
// when they are there and cannot be read.
var cgroups = []string{"/proc/self/cgroup", "/sys/fs/cgroup"}

// sandboxProcess confines this process to reading some folders and writing
// others; no program can be started, no network reached. It gives "" where the
// kernel has no landlock.
func sandboxProcess(read, write []string) (string, error) {
	abi, err := llsys.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return "", nil
	}
	w := mayWrite
	if abi < 3 {
		w &^= landlock.AccessFSSet(llsys.AccessFSTruncate)
	}
	err = landlock.V10.BestEffort().Restrict(
		landlock.PathAccess(mayRead, read...).IgnoreIfMissing(),
		landlock.PathAccess(w, write...),
		landlock.PathAccess(mayReadFile, cgroups...).IgnoreIfMissing())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("landlock %d", abi), nil
}

// isolate puts a worker into its own process group, so that a terminal's ^C is
// the server's to handle, and ends it with the thread that starts it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// residentBytes is the private memory of a process now, 0 when it is gone.
func residentBytes(pid int) int64 {
	m := memoryOf(pid)
	return m[1] - m[2]
}

// mappedBytes is the private memory that a process may write, touched or not,
// which RLIMIT_DATA bounds; 0 when it is gone.
func mappedBytes(pid int) int64 { return memoryOf(pid)[5] }

// memoryOf reads size, resident, shared, text, lib and data, all zero when the
// process is gone.
func memoryOf(pid int) (m [6]int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return m
	}
	if _, err := fmt.Sscan(string(text), &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]); err != nil {
		return [6]int64{}
	}
	for i := range m {
		m[i] *= int64(os.Getpagesize())
	}
	return m
}
