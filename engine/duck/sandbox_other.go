//go:build !linux

package duck

import (
	"os/exec"
	"syscall"
)

// limitProcess only forbids core files: other systems do not hold a process to
// its data size, so DuckDB's own limit is what is left.
func limitProcess(*setup) error {
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}

// sandboxProcess has no landlock here; the server says so at start.
func sandboxProcess(_, _ []string) (string, error) { return "", nil }

// isolate puts a worker into its own process group. It ends when its pipe closes.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// residentBytes is not known here.
func residentBytes(int) int64 { return 0 }

// mappedBytes is not known here either, and nothing bounds it.
func mappedBytes(int) int64 { return 0 }
