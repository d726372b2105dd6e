package duck_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck"
)

// joins runs small queries, each with a text of its own, and gives the most
// that a worker has mapped after any of them, in MiB.
func joins(t *testing.T, p *duck.Pool, n int) (most int) {
	t.Helper()
	for i := range n {
		res, err := run(t, p, fmt.Sprintf(`SELECT a.name FROM `+peopleTable+` a LEFT JOIN `+peopleTable+` b ON a.id = b.id WHERE a.id <> %d`, i+10))
		require.NoError(t, err, i)
		res.Release()
		for _, pid := range p.PIDs() {
			most = max(most, mapped(pid))
		}
	}
	return most
}

func mapped(pid int) (kib int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // a worker that has just ended has nothing mapped
	_, text2, _ := strings.Cut(string(text), "VmData:")
	fmt.Sscan(text2, &kib)
	return kib >> 10
}

// RLIMIT_DATA counts what is mapped: what a worker keeps of earlier questions
// would be refused to later ones.
func TestWorkersDoNotWear(t *testing.T) {
	p := open(t, config(t))
	settled(t, p, 3)
	before := p.Losses()
	most := joins(t, p, 500)
	t.Log(most, "MiB")
	require.Less(t, most, 330)
	require.Equal(t, before, p.Losses())
}

// Where the allocators keep all they had, small questions still get answers.
func TestWornWorkersAreReplaced(t *testing.T) {
	cfg := config(t).Wasteful()
	cfg.Memory = duck.MinMemory
	p := open(t, cfg)
	settled(t, p, 3)
	before := p.Losses()
	joins(t, p, 200)
	t.Log(p.Losses()-before, "replaced")
	require.Greater(t, p.Losses(), before)
}
