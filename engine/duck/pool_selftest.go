package duck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"plumbline/semantic/diag"
)

// SelfTest lets a worker itself try to write, to read outside the data, to
// attach, to install and to change settings, and fails with config.self_test
// unless every attempt is refused and left no file. What the operating system's
// sandbox must refuse is tried only where there is one.
func (p *Pool) SelfTest(ctx context.Context) error {
	name := fmt.Sprintf(".plumbline-self-test-%d", os.Getpid())
	tmp := filepath.Join(os.TempDir(), name)
	targets := []string{tmp}
	dirs := p.setup.ReadDirs
	if len(dirs) == 0 {
		dirs = []string{p.dir}
	}
	data := filepath.Join(dirs[0], name)
	targets = append(targets, data)
	for i, probe := range probes {
		if probe.sql == "" && !p.confined(i) {
			continue
		}
		rep, _, err := p.call(ctx, true, slack, request{Verb: verbProbe, Probe: i}, []string{data, tmp})
		if err != nil {
			return err
		}
		if rep.Fail == nil || rep.Fail.Kind != failRefused {
			return diag.New(diag.ConfigSelfTest, "a worker was able to %s", probe.label).WithHint("do not serve; report it")
		}
	}
	for _, f := range targets {
		if _, err := os.Lstat(f); !os.IsNotExist(err) {
			os.RemoveAll(f)
			return diag.New(diag.ConfigSelfTest, "a worker was able to leave a file").WithHint("do not serve; report it")
		}
	}
	return nil
}

// confined reports whether the sandbox in force covers a probe: landlock knows
// the network since its fourth version.
func (p *Pool) confined(probe int) bool {
	var version int
	if _, err := fmt.Sscanf(p.Sandbox(), "landlock %d", &version); err != nil {
		return false
	}
	return probe != probeConnect || version >= 4
}
