package duck

import "time"

// WithoutDataLimit leaves the watchdog as the only bound of memory.
func (c Config) WithoutDataLimit() Config {
	c.noDataLimit = true
	return c
}

// Wasteful lets the workers' allocators keep what they have mapped.
func (c Config) Wasteful() Config {
	c.wasteful = true
	return c
}

// Reading bounds parse and check calls.
func (c Config) Reading(d time.Duration) Config {
	c.reading = d
	return c
}

// Dir gives the pool's private folder.
func (p *Pool) Dir() string { return p.dir }

// Losses counts the workers that were killed or ended since the pool began.
func (p *Pool) Losses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.seq - len(p.alive)
	for w := range p.alive {
		if w.killed.Load() {
			n++
		}
	}
	return n
}
