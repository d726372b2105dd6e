package duck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"plumbline/semantic"
)

const (
	viewsFile  = semantic.StorageCatalog + ".duckdb"
	twinsFile  = "twins/" + semantic.StorageCatalog + ".duckdb"
	twinMemory = 256 << 20
)

// instance is one open database with the connection that our own statements use.
type instance struct {
	db        mapping.Database
	conn      mapping.Connection
	serialize mapping.PreparedStatement
	plan      mapping.PreparedStatement
}

// engineMemory is the part of a worker's memory that DuckDB may plan with. It
// goes over that by some 30 to 60 MB of allocations that it does not count.
func engineMemory(s *setup) int64 { return s.Memory*3/4 - 32<<20 }

// openViews opens the views, read-only and locked.
func openViews(s *setup) (*instance, error) {
	in, err := openDatabase(filepath.Join(s.Dir, viewsFile), "READ_ONLY", engineMemory(s), s.Threads)
	if err != nil {
		return nil, err
	}
	if err := in.lock(s, s.Files); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// openTwins opens the empty copies, read-only and locked, and prepares the two
// statements that read a caller's text as a bound value.
func openTwins(s *setup) (*instance, error) {
	in, err := openDatabase(filepath.Join(s.Dir, twinsFile), "READ_ONLY", twinMemory, 1)
	if err != nil {
		return nil, err
	}
	err = in.lock(s, nil)
	for _, p := range []struct {
		stmt *mapping.PreparedStatement
		text string
	}{
		{&in.serialize, "SELECT json_serialize_sql(?::VARCHAR, skip_null := false, skip_empty := false)::VARCHAR"},
		{&in.plan, "SELECT json_serialize_plan(?::VARCHAR, skip_null := false, skip_empty := false, optimize := false)::VARCHAR"},
	} {
		if err == nil && mapping.Prepare(in.conn, p.text, p.stmt) == mapping.StateError {
			err = errors.New(mapping.PrepareError(*p.stmt))
		}
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func openDatabase(path, mode string, memory int64, threads int) (*instance, error) {
	var config mapping.Config
	if mapping.CreateConfig(&config) == mapping.StateError {
		return nil, errors.New("create config")
	}
	defer mapping.DestroyConfig(&config)
	for _, o := range [][2]string{
		{"access_mode", mode},
		{"threads", fmt.Sprint(threads)},
		{"memory_limit", fmt.Sprintf("%dB", memory)},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_persistent_secrets", "false"},
	} {
		if mapping.SetConfig(config, o[0], o[1]) == mapping.StateError {
			return nil, fmt.Errorf("set %s", o[0])
		}
	}
	var in instance
	var msg string
	if mapping.OpenExt(path, &in.db, config, &msg) == mapping.StateError {
		mapping.Close(&in.db)
		return nil, errors.New(msg)
	}
	if mapping.Connect(in.db, &in.conn) == mapping.StateError {
		mapping.Close(&in.db)
		return nil, errors.New("connect")
	}
	return &in, nil
}

// lock makes the settings and shuts every door behind them. The order matters:
// the allowed paths count only when set before external access is closed, and
// nothing can be set after the last statement. preserve_insertion_order=false
// keeps a fence's end from being a barrier to parallel work. Statistics are not
// propagated, since DuckDB computes functions on the smallest and the largest value
// of a whole column when it plans, and fails where a function fails on them.
func (in *instance) lock(s *setup, files []string) error {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = semantic.QuoteText(f)
	}
	return in.exec(
		"SET preserve_insertion_order = false",
		"SET disabled_optimizers = 'statistics_propagation'",
		"SET storage_compatibility_version = 'latest'",
		"SET TimeZone = 'UTC'",
		"SET Calendar = 'gregorian'",
		"SET temp_directory = "+semantic.QuoteText(s.Temp),
		fmt.Sprintf("SET max_temp_directory_size = '%dB'", s.TempBytes),
		"SET allowed_paths = ["+strings.Join(paths, ", ")+"]",
		"SET enable_external_access = false",
		"SET lock_configuration = true",
	)
}

func (in *instance) exec(stmts ...string) error {
	for _, text := range stmts {
		var res mapping.Result
		state := mapping.Query(in.conn, text, &res)
		msg := mapping.ResultError(&res)
		mapping.DestroyResult(&res)
		if state == mapping.StateError {
			return errors.New(msg)
		}
	}
	return nil
}

func (in *instance) close() {
	mapping.DestroyPrepare(&in.serialize)
	mapping.DestroyPrepare(&in.plan)
	mapping.Disconnect(&in.conn)
	mapping.Close(&in.db)
}

// interruptEvery is how often an interrupt is repeated: DuckDB clears it when
// the next phase of a query begins.
const interruptEvery = 10 * time.Millisecond

// interruptOn interrupts conn once ctx is done, and again until the returned
// function is called, which waits for it.
func interruptOn(ctx context.Context, conn mapping.Connection) (stop func()) {
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		for {
			mapping.Interrupt(conn)
			select {
			case <-ended:
				return
			case <-time.After(interruptEvery):
			}
		}
	}()
	return func() { close(ended); <-gone }
}
