// Package audit keeps one record per request, whatever happened: a JSON line,
// fsynced before the answer leaves. It is the last stage of the engine; no
// record, no answer.
//
// A record holds raw texts (the question, the final SQL, the engine's own error)
// that no answer may carry, so the file is readable by its owner only. One that would
// be longer than 1 MiB, or a quarter of the file, has its long fields cut.
package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Record is what happened to one request. Every field is always written, so
// that a reader never has to guess what an absent one means.
type Record struct {
	ID         string             `json:"id"`
	Time       time.Time          `json:"time"`
	Subject    policy.Subject     `json:"subject"`
	Tool       string             `json:"tool"`
	Replays    string             `json:"replays"`    // the record whose question an operator asked again; "" for a caller's question
	Question   json.RawMessage    `json:"question"`   // the arguments as asked
	Normalised string             `json:"normalised"` // the SQL before rules were applied; "" when there was none
	Hash       string             `json:"hash"`       // SHA-256 of the whole of Normalised, hex
	Entities   []EntityUse        `json:"entities"`
	Functions  []string           `json:"functions"`
	Verdict    string             `json:"verdict"` // allow or deny; "" when no decision was reached
	Reasons    []policy.Reason    `json:"reasons"` // of the decision, or of the rules on the final text
	Rules      []policy.RuleRef   `json:"rules"`   // rules applied; those of rows and columns also where no decision was reached
	Logged     []policy.Logged    `json:"logged"`  // rules in log-only mode that would have spoken
	Policy     string             `json:"policy_revision"`
	Model      string             `json:"model_revision"`
	FinalSQL   string             `json:"final_sql"`  // "" when nothing was proved
	BesideSQL  []string           `json:"beside_sql"` // what ran beside it for the same answer: how far the data come
	Sources    []string           `json:"sources"`
	Rows       int                `json:"rows"`
	Bytes      int                `json:"bytes"`
	Truncated  bool               `json:"truncated"`
	Cached     bool               `json:"cached"`    // the proof of an earlier equal question was used
	StageMS    map[string]float64 `json:"stage_ms"`  // by stage name
	Outcome    string             `json:"outcome"`   // "answered" or the first error code
	Errors     []string           `json:"errors"`    // as the caller saw them
	RawError   string             `json:"raw_error"` // the engine's own words; never in an answer
}

// RowRule is the clause of an entity that a row rule of another one read, through
// a relationship: the subject may not see it, and no column of it is named.
const RowRule = "row_rule"

// EntityUse is one use of one column; the column is "" where none is named.
type EntityUse struct {
	Entity string `json:"entity"`
	Column string `json:"column"`
	Class  string `json:"class"`
	Clause string `json:"clause"`
	Mask   string `json:"mask"` // its kind; "" where the value was used as it is
}

// Log writes records to a file. It may be used by any number of goroutines;
// writes that arrive while the disk is busy share one fsync.
type Log struct {
	spec semantic.AuditSpec
	in   chan write
	quit chan struct{}
	done chan struct{}
	once sync.Once

	file *os.File // owned by the writer goroutine
	size int64
}

type write struct {
	line  []byte
	reply chan error
}

// Open opens or creates the file and starts the writer. Close ends it.
func Open(spec semantic.AuditSpec) (*Log, error) {
	l := &Log{spec: spec, in: make(chan write, 256), quit: make(chan struct{}), done: make(chan struct{})}
	if err := os.MkdirAll(filepath.Dir(spec.Path), 0o700); err != nil {
		return nil, diag.Wrap(err, diag.AuditFailed, "the folder of the audit file cannot be made").WithHint("check audit.path in plumbline.cue")
	}
	if err := l.open(); err != nil {
		return nil, diag.Wrap(err, diag.AuditFailed, "the audit file cannot be opened").WithHint("check audit.path in plumbline.cue")
	}
	go l.run()
	return l, nil
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.spec.Path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, st.Size()
	return nil
}

// Write stores one record and returns when it is on disk. It does not give up
// when ctx ends: a cancelled request is recorded too, so ctx only carries values.
func (l *Log) Write(_ context.Context, r Record) error {
	line, err := line(r, l.bound())
	if err != nil {
		return diag.Wrap(err, diag.BugRecord, "the audit record could not be built")
	}
	w := write{line: line, reply: make(chan error, 1)}
	select {
	case l.in <- w:
	case <-l.quit:
		return closed()
	}
	select {
	case err = <-w.reply:
	case <-l.done:
		select {
		case err = <-w.reply:
		default:
			return closed()
		}
	}
	if err != nil {
		return diag.Wrap(err, diag.AuditFailed, "the audit record could not be written, so the answer is withheld").
			WithHint("the server's operator must make room for the audit file")
	}
	return nil
}

func closed() error {
	return diag.New(diag.AuditFailed, "the audit log is closed, so the answer is withheld")
}

// Close writes what is queued and closes the file. Safe to call twice.
func (l *Log) Close() error {
	l.once.Do(func() { close(l.quit) })
	<-l.done
	return nil
}

func (l *Log) run() {
	defer close(l.done)
	for {
		select {
		case w := <-l.in:
			l.commit(l.gather(w))
		case <-l.quit:
			for {
				select {
				case w := <-l.in:
					l.commit(l.gather(w))
				default:
					if l.file != nil {
						_ = l.file.Close() // every record was synced when it was written
					}
					return
				}
			}
		}
	}
}

// gather takes what has queued up behind first, without waiting for more.
func (l *Log) gather(first write) []write {
	group := []write{first}
	for len(group) < cap(l.in) {
		select {
		case w := <-l.in:
			group = append(group, w)
		default:
			return group
		}
	}
	return group
}

func (l *Log) commit(group []write) {
	err := l.store(group)
	for _, w := range group {
		w.reply <- err
	}
}

func (l *Log) store(group []write) error {
	var buf bytes.Buffer
	for _, w := range group {
		buf.Write(w.line)
	}
	if err := l.rotate(int64(buf.Len())); err != nil {
		return err
	}
	n, err := l.file.Write(buf.Bytes())
	if err == nil {
		err = l.file.Sync()
		if errors.Is(err, syscall.EINVAL) { // a device or pipe that has no fsync
			err = nil
		}
	}
	if err != nil {
		// A half line would spoil the next record: take the group back.
		if n > 0 {
			err = errors.Join(err, l.file.Truncate(l.size))
		}
		return err
	}
	l.size += int64(n)
	return nil
}

// rotate renames path to path.1, path.1 to path.2 and so on, when the group
// would pass MaxBytes. A lost file (moved by someone) is opened again.
func (l *Log) rotate(add int64) error {
	if l.file == nil {
		return l.open()
	}
	if l.spec.MaxBytes <= 0 || l.size == 0 || l.size+add <= l.spec.MaxBytes {
		return nil
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	l.file = nil
	name := func(i int) string { return fmt.Sprintf("%s.%d", l.spec.Path, i) }
	if l.spec.Keep < 1 {
		if err := os.Remove(l.spec.Path); err != nil {
			return err
		}
		return l.open()
	}
	for i := l.spec.Keep - 1; i >= 1; i-- {
		if err := os.Rename(name(i), name(i+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(l.spec.Path, name(1)); err != nil {
		return err
	}
	return l.open()
}

// Tail reads the last n records of a file, oldest first. A line that does not
// decode is an error, never skipped.
func Tail(path string, n int) ([]Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if len(data) == 0 {
		return nil, nil
	}
	lines = lines[max(0, len(lines)-n):]
	out := make([]Record, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &out[i]); err != nil {
			return nil, fmt.Errorf("read audit record: %w", err)
		}
	}
	return out, nil
}
