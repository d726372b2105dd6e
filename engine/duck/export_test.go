package duck

// WithoutDataLimit leaves the watchdog as the only bound of memory.
func (c Config) WithoutDataLimit() Config {
	c.noDataLimit = true
	return c
}

// Dir gives the pool's private folder.
func (p *Pool) Dir() string { return p.dir }
