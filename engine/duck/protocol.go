package duck

import "plumbline/policy/prove"

// The verbs of the protocol. A worker answers build or serve first, then one
// request at a time, each with a frame that says it is taken and then the reply,
// so that the server knows which requests never began; cancel has no reply of its own.
const (
	verbBuild   = "build"
	verbServe   = "serve"
	verbParse   = "parse"
	verbForeign = "postgres"
	verbCheck   = "check"
	verbRun     = "run"
	verbProbe   = "probe"
	verbCancel  = "cancel"
)

// request is a frame's header from the server; its payload holds the texts.
type request struct {
	ID    uint64 `json:"id"`
	Verb  string `json:"verb"`
	Lens  []int  `json:"lens,omitempty"`
	Rows  int    `json:"rows,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Probe int    `json:"probe,omitempty"`
	Setup *setup `json:"setup,omitempty"`
}

// setup is all that a worker is told; it gets no environment and no arguments.
type setup struct {
	Dir       string     `json:"dir"`       // of the databases: plumbline.duckdb and twins/
	Temp      string     `json:"temp"`      // the worker's own folder, the only one it may write
	Files     []string   `json:"files"`     // the data files it may read
	ReadDirs  []string   `json:"read_dirs"` // their folders, for the operating system's sandbox
	Memory    int64      `json:"memory"`
	TempBytes int64      `json:"temp_bytes"`
	Threads   int        `json:"threads"`
	Tables    bool       `json:"tables,omitempty"` // tables in place of views
	DataLimit bool       `json:"data_limit"`       // RLIMIT_DATA; only a test of the watchdog leaves it out
	Relations []relation `json:"relations,omitempty"`
}

// relation is what the builder makes a view and a twin of.
type relation struct {
	Entity  string   `json:"entity"`
	From    string   `json:"from"`
	Columns []column `json:"columns"`
}

type column struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Type   string `json:"type"` // SQL
}

// reply is a frame's header from a worker. Fail is nil when all went well.
type reply struct {
	ID        uint64         `json:"id"`
	Taken     bool           `json:"taken,omitempty"` // the request is in hand; the reply follows
	Lens      []int          `json:"lens,omitempty"`
	Items     []checkedItem  `json:"items,omitempty"`
	Columns   []prove.Column `json:"columns,omitempty"`
	Rows      int            `json:"rows,omitempty"`
	Truncated bool           `json:"truncated,omitempty"`
	Sandbox   string         `json:"sandbox,omitempty"`
	Fail      *failure       `json:"fail,omitempty"`
	Broken    []failure      `json:"broken,omitempty"` // build: one for each relation that cannot be read
}

// checkedItem is a prove.Checked whose tree and plan stand in the payload.
type checkedItem struct {
	OK      bool           `json:"ok"`
	Columns []prove.Column `json:"columns,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// failure is why a worker could not do as asked. Raw is the engine's own text:
// it may quote values and goes to the audit record only.
type failure struct {
	Kind   string `json:"kind"`
	Entity string `json:"entity,omitempty"`
	Column string `json:"column,omitempty"` // as the model names it
	Have   string `json:"have,omitempty"`   // the type that a file has
	Raw    string `json:"raw,omitempty"`
}

// The kinds of failure. Whatever else a worker says is our bug.
const (
	failQuery     = "query"     // the engine failed on the data
	failMemory    = "memory"    // memory or temp space
	failStopped   = "stopped"   // interrupted
	failStatement = "statement" // not exactly one SELECT
	failBytes     = "bytes"     // the first row is larger than the answer may be
	failSetup     = "setup"     // the worker could not be made ready
	failRefused   = "refused"   // a probe of the self-test was refused, as it must be
	failCorrupt   = "corrupt"   // build: a file is missing or cannot be read
	failColumn    = "column"    // build: the files lack a declared column
	failType      = "type"      // build: a column's type does not fit the declared one
)

// probes are the attempts of the self-test, by number. {data} is a data folder,
// {tmp} the system's temp folder; both paths end in a name that nobody else uses.
// Those without SQL are done by the worker's own Go code and must be refused by
// the operating system.
var probes = []struct{ label, sql string }{
	{"write a file into a data folder", `COPY (SELECT 1 AS x) TO '{data}'`},
	{"write a file into the temp folder", `COPY (SELECT 1 AS x) TO '{tmp}'`},
	{"create a table", `CREATE TABLE plumbline_self_test (x INTEGER)`},
	{"create a table in the storage schema", `CREATE TABLE base.plumbline_self_test (x INTEGER)`},
	{"attach a file", `ATTACH '{tmp}' AS self_test`},
	{"attach memory", `ATTACH ':memory:' AS self_test`},
	{"install an extension", `INSTALL httpfs`},
	{"load an extension", `LOAD httpfs`},
	{"read a file outside the data", `SELECT * FROM read_text('/etc/hostname')`},
	{"read a file outside the data as csv", `SELECT * FROM read_csv('/etc/passwd')`},
	{"list a folder outside the data", `SELECT * FROM glob('/etc/*')`},
	{"list a data folder", `SELECT * FROM glob('{data}*')`},
	{"change a setting", `SET memory_limit = '100GB'`},
	{"allow external access", `SET enable_external_access = true`},
	{"unlock the settings", `SET lock_configuration = false`},
	{"export the database", `EXPORT DATABASE '{tmp}'`},
	{"write a file into a data folder, without the engine", ""},
	{"write a file into the temp folder, without the engine", ""},
	{"read a file outside the data, without the engine", ""},
	{"open a network connection, without the engine", ""},
}

// The probes without SQL, counted from the end of the list.
const (
	probeWriteData = iota + 16
	probeWriteTemp
	probeReadOutside
	probeConnect
)
