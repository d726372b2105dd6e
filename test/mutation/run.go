package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hang bounds one run of tests under a mutant. Whatever runs longer is caught,
// and told as such.
const hang = 60 * time.Second

// startup is what a run of tests costs beside the test.
const startup = 50 * time.Millisecond

// parallel is how many tests run at once.
const parallel = 2

// test is one test of a package, with what it takes and which checks decide in it without mutants.
type test struct {
	name  string
	took  time.Duration
	fired map[int]bool

	runs, caught int // of mutants, so far
}

// outcome says how a mutant ended.
type outcome int

const (
	survived    outcome = iota
	unfired             // its check decides nothing in any test
	caught              // by the first test that was tried
	caughtLater         // by another
	hung                // by the bound of time
)

func (o outcome) String() string {
	return []string{"survived", "decides in no test", "caught", "caught later", "hung"}[o]
}

// each calls do for the numbers below n, several at once, and joins the errors.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var group sync.WaitGroup
	for range parallel {
		group.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}

// runner runs the compiled tests of one package.
type runner struct {
	binary, folder, dir string
	all                 []test
	lock                sync.Mutex
}

// tests runs tests with a setting of the environment; failed is how a test says no.
func (r *runner) tests(setting string, names ...string) (failed, late bool, out []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.binary, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Dir, cmd.Env = r.folder, append(os.Environ(), setting)
	out, err = cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return true, true, out, nil
	case errors.As(err, &exit):
		return true, false, out, nil
	}
	return false, false, out, err
}

// measure runs each test alone, without a mutant. All must pass.
func (r *runner) measure() error {
	cmd := exec.Command(r.binary, "-test.list", "^(Test|Fuzz)")
	cmd.Dir = r.folder
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", r.folder, err)
	}
	var tests []test
	for name := range strings.FieldsSeq(string(out)) {
		if name != "TestMain" {
			tests = append(tests, test{name: name, fired: map[int]bool{}})
		}
	}
	err = each(len(tests), func(i int) error {
		t := &tests[i]
		file := filepath.Join(r.dir, t.name+".fired")
		start := time.Now()
		failed, _, out, err := r.tests("MUTANT_FIRED="+file, t.name)
		if t.took = time.Since(start); err != nil {
			return err
		}
		if failed {
			return fmt.Errorf("%s of %s fails without a mutant:\n%s", t.name, r.folder, out)
		}
		raw, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for line := range strings.FieldsSeq(string(raw)) {
			n, err := strconv.Atoi(line)
			if err != nil {
				return err
			}
			t.fired[n] = true
		}
		return nil
	})
	r.all = tests
	return err
}

// try runs the tests that reach a mutant one by one until one fails, those first
// that have caught most mutants for their time.
func (r *runner) try(n int) (outcome, error) {
	left := r.firing(n)
	if len(left) == 0 {
		return unfired, nil
	}
	for first := true; len(left) > 0; first = false {
		t := r.best(left)
		left = slices.DeleteFunc(left, func(other *test) bool { return other == t })
		failed, late, _, err := r.tests("MUTANT="+strconv.Itoa(n), t.name)
		if err != nil {
			return survived, err
		}
		r.note(t, failed)
		switch {
		case late:
			return hung, nil
		case failed && first:
			return caught, nil
		case failed:
			return caughtLater, nil
		}
	}
	return survived, nil
}

func (r *runner) firing(n int) []*test {
	var out []*test
	for i := range r.all {
		if r.all[i].fired[n] {
			out = append(out, &r.all[i])
		}
	}
	return out
}

func (r *runner) best(left []*test) *test {
	r.lock.Lock()
	defer r.lock.Unlock()
	worth := func(t *test) float64 {
		return float64(t.caught+1) / float64(t.runs+2) / (t.took + startup).Seconds()
	}
	return slices.MaxFunc(left, func(a, b *test) int { return cmp.Compare(worth(a), worth(b)) })
}

func (r *runner) note(t *test, failed bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	t.runs++
	if failed {
		t.caught++
	}
}
