package prove_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/prove"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// TestTamperedTexts edits every proved text of the corpora, at places all over it and
// by every kind of edit. Of each edit it must hold that
//
//   - it is refused, or
//   - DuckDB reads the same tree, or
//   - it reads no more: in DuckDB's own tree, each place that reads storage is asked
//     for by the rule of its entity first and ends where a rule or a mask needs an end,
//     and takes only columns that the subject has and masks as they are decided (see
//     readsMore, which knows nothing of prove's reader); and when it runs, it answers
//     alike on both twins, or under minimum groups of more rows than there are, nothing.
//
// Anything else is a leak. A text of the corpora that is refused untouched is an
// over-block.
func TestTamperedTexts(t *testing.T) {
	planner := openShop(t)
	a, b := twins(t)
	few := fewRows(t)
	alike := func(text string) bool {
		x, y := answer(a, text), answer(b, text)
		return x == nil || y == nil || slices.Equal(x, y)
	}
	none := func(text string) bool {
		return !slices.ContainsFunc([]string{`"orders"`, `"order_items"`, `"customers"`}, func(e string) bool { return strings.Contains(text, e) }) ||
			len(slices.DeleteFunc(answer(few, text), func(row string) bool { return row == "failed" })) == 0
	}
	w := &tampering{t: t, db: planner, memo: &prove.Memo{}, functions: reviewed(), aggregates: reviewed(resolve.Aggregate)}
	for _, c := range acceptedTexts(t) {
		w.edit(c, false, alike)
	}
	for _, c := range groupedTexts(t) {
		w.edit(c.accepted, c.model, none)
	}
	t.Logf("%d texts, %d edits: %d refused, of them %d that read more; %d of the same tree, %d that read no more", w.texts, w.cases, w.refused, w.dangerous, w.same, w.less)
	t.Logf("security: tampering cases=%d leaks=%d overblocks=%d", w.cases, len(w.leaks), len(w.blocked))
	require.Empty(t, w.leaks)
	require.Empty(t, w.blocked)
	require.Greater(t, w.dangerous, 100, "the criterion finds what prove refuses")
	require.Greater(t, w.less, 100)
}

// groupedTexts gives the proved texts of testdata/groups.txt, and whether the model wrote them.
func groupedTexts(t *testing.T) []groupedText {
	raw, err := os.ReadFile("testdata/groups.txt")
	require.NoError(t, err)
	var out []groupedText
	for block := range strings.SplitSeq(string(raw), "\n\n") {
		_, block, found := strings.Cut("\n"+block, "\nproved")
		if text, _, ok := strings.Cut(block, "\n----"); found && ok {
			head, text, _ := strings.Cut(text, "\n")
			out = append(out, groupedText{accepted{limited(fenced(text, groupRules())), groupRules()}, head == " model"})
		}
	}
	require.Greater(t, len(out), 8)
	return out
}

type groupedText struct {
	accepted
	model bool
}

// fewRows holds fewer visible rows of each entity with a minimum group than a group has.
func fewRows(t *testing.T) *ducktest.DB {
	db := fourOrders(t)
	for i := range 4 {
		db.Exec(t, fmt.Sprintf(`INSERT INTO plumbline.base.customers (id, name, region, tenant) VALUES (%d, 'n', 'eu', 'acme')`, i))
		db.Exec(t, fmt.Sprintf(`INSERT INTO plumbline.base.order_items VALUES (%d, 1, 1, 7, 700, 'acme')`, i))
	}
	return db
}

// tampering counts what edits come to.
type tampering struct {
	t                     *testing.T
	db                    *ducktest.DB // plans; it holds no rows
	memo                  *prove.Memo
	functions, aggregates map[string]bool
	texts, cases          int
	refused, dangerous    int // edits, and of them those that DuckDB binds and that read more
	same, less            int
	leaks, blocked        []string
}

// planned is DuckDB, which has read one text already.
type planned struct {
	*ducktest.DB
	text string
	got  prove.Checked
}

func (p planned) Check(ctx context.Context, texts []string) ([]prove.Checked, error) {
	if len(texts) == 1 && texts[0] == p.text {
		return []prove.Checked{p.got}, nil
	}
	return p.DB.Check(ctx, texts)
}

// accepts proves a text, whatever names its result has. It says also whether DuckDB
// binds the text at all.
func (w *tampering) accepts(c accepted, model bool) (ok, binds bool) {
	got, err := w.db.Check(w.t.Context(), []string{c.text})
	require.NoError(w.t, err)
	in := prove.Input{Text: c.text, Catalog: semantictest.Shop(), Decision: c.rules, Functions: w.functions, Aggregates: w.aggregates, RowCap: 1000, Memo: w.memo}
	for _, column := range got[0].Columns {
		in.Names = append(in.Names, column.Name)
	}
	if model {
		in.Model, in.Private = []resolve.Span{{End: len(c.text)}}, map[string][]semantic.Name{"customers": {"risk_score"}}
	}
	_, _, err = prove.Check(w.t.Context(), planned{w.db, c.text, got[0]}, in)
	return err == nil, got[0].OK
}

// edit tries every edit of one text.
func (w *tampering) edit(c accepted, model bool, fine func(text string) bool) {
	if ok, _ := w.accepts(c, model); !ok {
		w.blocked = append(w.blocked, c.text)
		return
	}
	was := treeOf(w.t, w.db, c.text)
	w.texts++
	for i, edited := range tamperings(c.text) {
		if (i+w.texts)%4 != 0 { // another fourth of each text; all would take a minute
			continue
		}
		w.cases++
		ok, binds := w.accepts(accepted{edited, c.rules}, model)
		if !ok {
			w.refused++
			if binds && readsMore(w.t, w.db, treeOf(w.t, w.db, edited), c.rules, model) != "" {
				w.dangerous++
			}
			continue
		}
		now := treeOf(w.t, w.db, edited)
		if now == was {
			w.same++
			continue
		}
		if more := readsMore(w.t, w.db, now, c.rules, model); more != "" {
			w.leaks = append(w.leaks, more+": "+edited)
		} else if !fine(edited) {
			w.leaks = append(w.leaks, "answers by what is hidden: "+edited)
		} else {
			w.less++
		}
	}
}

// tamperings gives the edits of a text, each once: at each place the token deleted, doubled,
// swapped with the next one and replaced by another one of the text, numbers and
// quoted names changed, and clauses moved to every other end of a query.
func tamperings(text string) []string {
	out, tokens := map[string]bool{}, sqlast.Tokens(text)
	for i, tok := range tokens {
		for _, op := range []uint16{0, 1, 4} {
			out[tamper(text, op, uint16(i), 0)] = true
		}
		out[tamper(text, 2, uint16(i), uint16(2*(i*7+3)+1))] = true
		for _, other := range others(text[tok.Start:tok.End], tok.Kind, i) {
			out[text[:tok.Start]+other+text[tok.End:]] = true
		}
	}
	for _, moved := range movedClauses(text, tokens) {
		out[moved] = true
	}
	delete(out, text)
	return slices.Sorted(maps.Keys(out))
}

// others gives what a number or a quoted name is changed into at place i.
func others(token string, kind sqlast.Kind, i int) []string {
	switch kind {
	case sqlast.Number:
		n, _ := strconv.Atoi(token)
		return []string{strconv.Itoa(n + 1), strconv.Itoa(n - 1), "1e9"}
	case sqlast.QuotedName:
		names := []string{`"tenant"`, `"email"`, `"risk_score"`, `"ssn"`, `"phone"`, `"customers"`, `"id"`}
		return []string{names[i%len(names)], names[(i+3)%len(names)], strings.ToUpper(token)}
	}
	return nil
}

var clauseWords = strings.Fields("from where group having qualify order limit offset union on")

// movedClauses takes each clause, up to the next one of its query, to the end of each
// parenthesis and of the text.
func movedClauses(text string, tokens []sqlast.Token) []string {
	var out []string
	word := func(t sqlast.Token) string { return strings.ToLower(text[t.Start:t.End]) }
	for i, tok := range tokens {
		if tok.Kind != sqlast.Word || !slices.Contains(clauseWords, word(tok)) {
			continue
		}
		end, depth := len(text), 0
		for _, next := range tokens[i+1:] {
			switch w := word(next); {
			case w == "(":
				depth++
			case w == ")":
				depth--
			}
			if depth < 0 || depth == 0 && next.Kind == sqlast.Word && slices.Contains(clauseWords, word(next)) {
				end = next.Start
				break
			}
		}
		clause := " " + text[tok.Start:end] + " "
		for _, at := range append(tokens, sqlast.Token{Start: len(text)}) {
			switch {
			case at.Start != len(text) && word(at) != ")":
			case at.Start < tok.Start:
				out = append(out, text[:at.Start]+clause+text[at.Start:tok.Start]+text[end:])
			case at.Start > end:
				out = append(out, text[:tok.Start]+text[end:at.Start]+clause+text[at.Start:])
			}
		}
	}
	return out
}

// node is one node of DuckDB's tree as JSON.
type node = map[string]any

// treeOf is DuckDB's tree of a text without places, as JSON.
func treeOf(t testing.TB, db *ducktest.DB, text string) string {
	raw, err := db.Serialize(t.Context(), text)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(raw, &tree))
	visit(tree, func(n node) bool { delete(n, "query_location"); return true })
	return written(tree)
}

func written(v any) string {
	raw, _ := json.Marshal(v) // it was read as JSON
	return string(raw)
}

// visit calls f on each object of a tree, and below those where it says so.
func visit(v any, f func(node) bool) {
	switch v := v.(type) {
	case node:
		if !f(v) {
			return
		}
		for _, item := range v {
			visit(item, f)
		}
	case []any:
		for _, item := range v {
			visit(item, f)
		}
	}
}

// readsMore says what a tree reads beyond what the rules give; "" for nothing.
func readsMore(t testing.TB, db *ducktest.DB, tree string, rules policy.Decision, model bool) (more string) {
	var root any
	require.NoError(t, json.Unmarshal([]byte(tree), &root))
	named := map[string]bool{} // by WITH
	visit(root, func(n node) bool {
		if key, ok := n["key"].(string); ok {
			named[key] = true
		}
		if name, ok := n["cte_name"].(string); ok {
			named[name] = true
		}
		return true
	})
	visit(root, func(n node) bool {
		if from, ok := n["from_table"].(node); ok && from["type"] == "BASE_TABLE" && from["schema_name"] != "" {
			f := fenceOf(t, db, from, rules, model)
			if problem := f.check(n); problem != "" {
				more = fmt.Sprintf("%v: %s", from["table_name"], problem)
			}
			return false // the rule may read other storage, and nothing else may: see check
		}
		if n["type"] == "BASE_TABLE" && !(n["schema_name"] == "" && named[n["table_name"].(string)]) {
			more = fmt.Sprintf("%v is read outside a fence", n["table_name"])
		}
		return true
	})
	return more
}

// wantedFence is what a place that reads an entity's storage must look like.
type wantedFence struct {
	plain node // the least query over the storage
	rule  []any
	end   bool
	ends  string // OFFSET 0 as JSON
	masks map[string]bool
	may   map[string]bool // columns
}

var fenceCache = map[string]*wantedFence{}

func fenceOf(t testing.TB, db *ducktest.DB, from node, rules policy.Decision, model bool) *wantedFence {
	name, _ := from["table_name"].(string)
	key := fmt.Sprintf("%s %v %v", name, rules.Entities[name], model)
	if fenceCache[key] == nil {
		fenceCache[key] = wanted(t, db, name, rules.Entities[name], model)
	}
	return fenceCache[key]
}

func wanted(t testing.TB, db *ducktest.DB, name string, access policy.EntityAccess, model bool) *wantedFence {
	f := &wantedFence{masks: map[string]bool{}, may: map[string]bool{}, end: access.Rows.Truth != policy.Always}
	where := map[policy.Truth]string{policy.When: " WHERE (" + access.Rows.SQL + ")", policy.Never: " WHERE false"}[access.Rows.Truth]
	read := func(item string) node {
		var tree node
		require.NoError(t, json.Unmarshal([]byte(treeOf(t, db, "SELECT "+item+" AS x FROM "+semantic.StorageName(semantic.Name(name))+where+" OFFSET 0")), &tree))
		return tree["statements"].([]any)[0].(node)["node"].(node)
	}
	f.plain = read("1")
	f.rule, f.ends = conjunctsOf(f.plain["where_clause"]), written(f.plain["modifiers"])
	for field, column := range access.Columns {
		switch {
		case column.Mask != nil:
			for _, form := range []string{column.Mask.SQL, "COALESCE(" + column.Mask.SQL + ", NULL)"} { // the latter in a fence with an end
				item := read(form)["select_list"].([]any)[0].(node)
				delete(item, "alias")
				f.masks[written(item)] = true
			}
		case column.Class != semantic.Private || model:
			f.may[field] = true
		}
	}
	return f
}

// check says in what a query over the storage differs from the fence; "" in nothing.
func (f *wantedFence) check(n node) string {
	got := maps.Clone(n)
	for _, part := range []string{"select_list", "where_clause", "modifiers"} {
		got[part] = f.plain[part]
	}
	if written(got) != written(f.plain) {
		return "the query does more than select"
	}
	where := conjunctsOf(n["where_clause"])
	if len(where) < len(f.rule) || written(where[:len(f.rule)]) != written(f.rule) {
		return "the rule does not come first"
	}
	if problem := f.columns(where[len(f.rule):]); problem != "" {
		return "a condition " + problem
	}
	masked := false
	for _, item := range n["select_list"].([]any) {
		item := maps.Clone(item.(node))
		delete(item, "alias")
		if f.masks[written(item)] {
			masked = true
		} else if problem := f.columns(item); problem != "" {
			return "an item " + problem
		}
	}
	if end := written(n["modifiers"]); end != f.ends && (end != "[]" || f.end || masked) {
		return "the end is another"
	}
	return ""
}

// columns says which column an expression may not read, or that it asks a query.
func (f *wantedFence) columns(expr any) (problem string) {
	visit(expr, func(n node) bool {
		if names, ok := n["column_names"].([]any); ok && (len(names) != 1 || !f.may[strings.ToLower(fmt.Sprint(names[0]))]) {
			problem = fmt.Sprintf("reads %v", names)
		}
		if n["class"] == "SUBQUERY" {
			problem = "asks a query"
		}
		return true
	})
	return problem
}

// conjunctsOf takes the ANDs of a condition apart.
func conjunctsOf(expr any) []any {
	n, ok := expr.(node)
	if !ok {
		return nil
	}
	if n["type"] != "CONJUNCTION_AND" {
		return []any{expr}
	}
	var out []any
	for _, child := range n["children"].([]any) {
		out = append(out, conjunctsOf(child)...)
	}
	return out
}
