package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

// What processes may hold at their highest, in bytes. A worker's cap is the memory
// of the workspace; the operating system lets it map 192 MiB more, which a fresh
// worker has reserved and not touched, and 64 MiB are for the pages of the moment
// between two looks. The server has no cap of its own: it holds texts, trees and
// answers, which are bounded one by one.
const (
	workerMemory = 512<<20 + 192<<20 + 64<<20
	serverMemory = 512 << 20
)

// watchMemory looks at the memory of the server and its workers until the result is
// called, which tells which of them held too much.
func watchMemory(pids func() []int) func() []string {
	stop, done := make(chan struct{}), make(chan struct{})
	most := map[int]int64{}
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, pid := range append(pids(), os.Getpid()) {
				most[pid] = max(most[pid], held(pid))
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() []string {
		close(stop)
		<-done
		var out []string
		if len(most) < 3 {
			out = append(out, fmt.Sprintf("only %d processes were seen", len(most)))
		}
		for pid, n := range most {
			name, allowed := "a worker", int64(workerMemory)
			if pid == os.Getpid() {
				name, allowed = "the server", serverMemory
			}
			if n > allowed {
				out = append(out, fmt.Sprintf("%s held %d MiB", name, n>>20))
			}
		}
		return out
	}
}

var ownMemory = regexp.MustCompile(`(?m)^Rss(Anon|Shmem):\s+(\d+) kB$`)

// held is the memory of a process that is no page of a file; 0 when it is gone.
func held(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	sum := int64(0)
	for _, m := range ownMemory.FindAllStringSubmatch(string(raw), -1) {
		n, _ := strconv.ParseInt(m[2], 10, 64) // digits
		sum += n << 10
	}
	return sum
}
