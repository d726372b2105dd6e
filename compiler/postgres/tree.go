package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"plumbline/semantic/diag"
)

// node is one node of PostgreSQL's tree: a pointer to one of the structs below,
// or nil for an empty object.
type node struct{ v any }

// kinds makes the struct of each kind of node that is read. Whatever is not here,
// and every field that its struct lacks, is refused.
var kinds = map[string]func() any{
	"A_ArrayExpr":      func() any { return new(arrayExpr) },
	"A_Const":          func() any { return new(constant) },
	"A_Expr":           func() any { return new(operatorExpr) },
	"A_Indices":        func() any { return new(indices) },
	"A_Indirection":    func() any { return new(indirection) },
	"A_Star":           func() any { return new(star) },
	"BoolExpr":         func() any { return new(boolExpr) },
	"BooleanTest":      func() any { return new(booleanTest) },
	"CaseExpr":         func() any { return new(caseExpr) },
	"CaseWhen":         func() any { return new(caseWhen) },
	"CoalesceExpr":     func() any { return new(coalesceExpr) },
	"CollateClause":    func() any { return new(collateClause) },
	"ColumnRef":        func() any { return new(columnRef) },
	"CommonTableExpr":  func() any { return new(commonTable) },
	"FuncCall":         func() any { return new(funcCall) },
	"GroupingFunc":     func() any { return new(groupingFunc) },
	"GroupingSet":      func() any { return new(groupingSet) },
	"JoinExpr":         func() any { return new(joinExpr) },
	"List":             func() any { return new(list) },
	"LockingClause":    func() any { return new(lockingClause) },
	"MinMaxExpr":       func() any { return new(minMaxExpr) },
	"NullTest":         func() any { return new(nullTest) },
	"RangeFunction":    func() any { return new(rangeFunction) },
	"RangeSubselect":   func() any { return new(rangeSubselect) },
	"RangeVar":         func() any { return new(rangeVar) },
	"ResTarget":        func() any { return new(target) },
	"RowExpr":          func() any { return new(rowExpr) },
	"SelectStmt":       func() any { return new(selectStmt) },
	"SetToDefault":     func() any { return new(setToDefault) },
	"SortBy":           func() any { return new(sortBy) },
	"SQLValueFunction": func() any { return new(valueFunction) },
	"String":           func() any { return new(stringNode) },
	"SubLink":          func() any { return new(subLink) },
	"TypeCast":         func() any { return new(typeCast) },
	"WindowDef":        func() any { return new(windowDef) },
	"ParamRef":         func() any { return new(paramRef) },
}

// The structs follow PostgreSQL's names; a place is a byte of the text, -1 for none.
type (
	parseTree struct {
		Version int    `json:"version"`
		Stmts   []stmt `json:"stmts"`
	}
	failure struct {
		Error    bool   `json:"error"`
		Message  string `json:"message"`
		Position int    `json:"position"`
	}
	stmt struct {
		Stmt     node `json:"stmt"`
		Location int  `json:"stmt_location"`
		Len      int  `json:"stmt_len"`
	}
	selectStmt struct {
		Distinct      []node      `json:"distinctClause"`
		Targets       []node      `json:"targetList"`
		From          []node      `json:"fromClause"`
		Where         node        `json:"whereClause"`
		Group         []node      `json:"groupClause"`
		GroupDistinct bool        `json:"groupDistinct"`
		Having        node        `json:"havingClause"`
		Windows       []node      `json:"windowClause"`
		Values        []node      `json:"valuesLists"`
		Sort          []node      `json:"sortClause"`
		Offset        node        `json:"limitOffset"`
		Count         node        `json:"limitCount"`
		LimitOption   string      `json:"limitOption"`
		Locking       []node      `json:"lockingClause"`
		With          *withClause `json:"withClause"`
		Op            string      `json:"op"`
		All           bool        `json:"all"`
		Left          *selectStmt `json:"larg"`
		Right         *selectStmt `json:"rarg"`
	}
	withClause struct {
		CTEs      []node `json:"ctes"`
		Recursive bool   `json:"recursive"`
		Location  int    `json:"location"`
	}
	commonTable struct {
		Name         string `json:"ctename"`
		Columns      []node `json:"aliascolnames"`
		Materialized string `json:"ctematerialized"`
		Query        node   `json:"ctequery"`
		Location     int    `json:"location"`
	}
	target struct {
		Name     string `json:"name"`
		Val      node   `json:"val"`
		Location int    `json:"location"`
	}
	alias struct {
		Name    string `json:"aliasname"`
		Columns []node `json:"colnames"`
	}
	rangeVar struct {
		Schema      string `json:"schemaname"`
		Name        string `json:"relname"`
		Inherit     bool   `json:"inh"`
		Persistence string `json:"relpersistence"`
		Alias       *alias `json:"alias"`
		Location    int    `json:"location"`
	}
	rangeSubselect struct {
		Lateral bool   `json:"lateral"`
		Query   node   `json:"subquery"`
		Alias   *alias `json:"alias"`
	}
	rangeFunction struct {
		Lateral   bool   `json:"lateral"`
		Functions []node `json:"functions"`
		Alias     *alias `json:"alias"`
	}
	joinExpr struct {
		Type    string `json:"jointype"`
		Natural bool   `json:"isNatural"`
		Left    node   `json:"larg"`
		Right   node   `json:"rarg"`
		Using   []node `json:"usingClause"`
		On      node   `json:"quals"`
		Alias   *alias `json:"alias"`
	}
	sortBy struct {
		Node     node   `json:"node"`
		Dir      string `json:"sortby_dir"`
		Nulls    string `json:"sortby_nulls"`
		Location int    `json:"location"`
	}
	groupingSet struct {
		Kind     string `json:"kind"`
		Content  []node `json:"content"`
		Location int    `json:"location"`
	}
	windowDef struct {
		Name      string `json:"name"`
		Ref       string `json:"refname"`
		Partition []node `json:"partitionClause"`
		Order     []node `json:"orderClause"`
		Frame     int    `json:"frameOptions"`
		Start     node   `json:"startOffset"`
		End       node   `json:"endOffset"`
		Location  int    `json:"location"`
	}
	lockingClause struct {
		Strength string `json:"strength"`
		Wait     string `json:"waitPolicy"`
		Rels     []node `json:"lockedRels"`
	}
	columnRef struct {
		Fields   []node `json:"fields"`
		Location int    `json:"location"`
	}
	star       struct{}
	stringNode struct {
		Val string `json:"sval"`
	}
	list struct {
		Items []node `json:"items"`
	}
	constant struct {
		Int *struct {
			V int64 `json:"ival"`
		} `json:"ival"`
		Float *struct {
			V string `json:"fval"`
		} `json:"fval"`
		Bool *struct {
			V bool `json:"boolval"`
		} `json:"boolval"`
		Text *struct {
			V string `json:"sval"`
		} `json:"sval"`
		IsNull   bool `json:"isnull"`
		Location int  `json:"location"`
	}
	operatorExpr struct {
		Kind     string `json:"kind"`
		Name     []node `json:"name"`
		Left     node   `json:"lexpr"`
		Right    node   `json:"rexpr"`
		Location int    `json:"location"`
	}
	boolExpr struct {
		Op       string `json:"boolop"`
		Args     []node `json:"args"`
		Location int    `json:"location"`
	}
	nullTest struct {
		Arg      node   `json:"arg"`
		Type     string `json:"nulltesttype"`
		Location int    `json:"location"`
	}
	booleanTest struct {
		Arg      node   `json:"arg"`
		Type     string `json:"booltesttype"`
		Location int    `json:"location"`
	}
	caseExpr struct {
		Arg      node   `json:"arg"`
		Whens    []node `json:"args"`
		Else     node   `json:"defresult"`
		Location int    `json:"location"`
	}
	caseWhen struct {
		When     node `json:"expr"`
		Then     node `json:"result"`
		Location int  `json:"location"`
	}
	coalesceExpr struct {
		Args     []node `json:"args"`
		Location int    `json:"location"`
	}
	minMaxExpr struct {
		Op       string `json:"op"`
		Args     []node `json:"args"`
		Location int    `json:"location"`
	}
	collateClause struct {
		Arg      node   `json:"arg"`
		Name     []node `json:"collname"`
		Location int    `json:"location"`
	}
	rowExpr struct {
		Args     []node `json:"args"`
		Format   string `json:"row_format"`
		Location int    `json:"location"`
	}
	arrayExpr struct {
		Elements []node `json:"elements"`
		Location int    `json:"location"`
	}
	indirection struct {
		Arg  node   `json:"arg"`
		Path []node `json:"indirection"`
	}
	indices struct {
		Slice bool `json:"is_slice"`
		Lower node `json:"lidx"`
		Upper node `json:"uidx"`
	}
	subLink struct {
		Type     string `json:"subLinkType"`
		Test     node   `json:"testexpr"`
		Op       []node `json:"operName"`
		Query    node   `json:"subselect"`
		Location int    `json:"location"`
	}
	typeName struct {
		Names    []node `json:"names"`
		Mods     []node `json:"typmods"`
		Mod      int    `json:"typemod"`
		Bounds   []node `json:"arrayBounds"`
		Location int    `json:"location"`
	}
	typeCast struct {
		Arg      node      `json:"arg"`
		Type     *typeName `json:"typeName"`
		Location int       `json:"location"`
	}
	funcCall struct {
		Name     []node     `json:"funcname"`
		Args     []node     `json:"args"`
		Order    []node     `json:"agg_order"`
		Filter   node       `json:"agg_filter"`
		Over     *windowDef `json:"over"`
		Within   bool       `json:"agg_within_group"`
		Star     bool       `json:"agg_star"`
		Distinct bool       `json:"agg_distinct"`
		Format   string     `json:"funcformat"`
		Location int        `json:"location"`
	}
	groupingFunc struct {
		Args     []node `json:"args"`
		Location int    `json:"location"`
	}
	valueFunction struct {
		Op       string `json:"op"`
		Mod      int    `json:"typmod"`
		Location int    `json:"location"`
	}
	setToDefault struct {
		Location int `json:"location"`
	}
	paramRef struct {
		Number   int `json:"number"`
		Location int `json:"location"`
	}
)

// unknownError is a kind of node, or a field of one, that is not read.
type unknownError struct{ what string }

const unknownPrefix = "unknown in PostgreSQL's tree: "

func (e unknownError) Error() string { return unknownPrefix + e.what }

// filler fills the structs of this file from generic JSON, in one pass, and
// refuses what they do not have a place for.
type filler struct{ depth int }

var nodeType = reflect.TypeFor[node]()

func (f *filler) fill(from any, into reflect.Value) error {
	if f.depth++; f.depth > maxLevel {
		return errDeep
	}
	defer func() { f.depth-- }()
	if into.Type() == nodeType {
		return f.node(from, into.Addr().Interface().(*node))
	}
	switch from := from.(type) {
	case map[string]any:
		if into.Kind() == reflect.Pointer {
			into.Set(reflect.New(into.Type().Elem()))
			into = into.Elem()
		}
		if into.Kind() == reflect.Struct {
			return f.object(from, into)
		}
	case []any:
		if into.Kind() == reflect.Slice {
			into.Set(reflect.MakeSlice(into.Type(), len(from), len(from)))
			for i, item := range from {
				if err := f.fill(item, into.Index(i)); err != nil {
					return err
				}
			}
			return nil
		}
	case string:
		if into.Kind() == reflect.String {
			into.SetString(from)
			return nil
		}
	case bool:
		if into.Kind() == reflect.Bool {
			into.SetBool(from)
			return nil
		}
	case float64:
		if into.CanInt() && from == math.Trunc(from) && math.Abs(from) < 1<<53 {
			into.SetInt(int64(from))
			return nil
		}
	}
	return unknownError{"a value of another type"}
}

func (f *filler) object(from map[string]any, into reflect.Value) error {
	used := 0
	for i := range into.NumField() {
		value, ok := from[into.Type().Field(i).Tag.Get("json")]
		if !ok {
			continue
		}
		used++
		if err := f.fill(value, into.Field(i)); err != nil {
			return err
		}
	}
	if used == len(from) {
		return nil
	}
	for i := range into.NumField() {
		delete(from, into.Type().Field(i).Tag.Get("json"))
	}
	return unknownError{slices.Sorted(maps.Keys(from))[0]}
}

// node reads {"Kind": {...}}; a whole number that stands for "not given" is no node.
func (f *filler) node(from any, into *node) error {
	one, ok := from.(map[string]any)
	if !ok || len(one) > 1 {
		return unknownError{"a node of another form"}
	}
	for kind, body := range one {
		if kind == "Integer" {
			return nil
		}
		fresh := kinds[kind]
		if fresh == nil {
			return unknownError{kind}
		}
		into.v = fresh()
		return f.fill(body, reflect.ValueOf(into.v).Elem())
	}
	return nil
}

// The caps of the JSON of one tree.
const (
	maxTree  = 8 << 20 // bytes
	maxLevel = 600     // values within each other; four or five make one level of SQL
)

var errDeep = errors.New("nested too deeply")

// readTree reads the one SELECT of a text.
func readTree(text string, raw []byte) (*selectStmt, error) {
	if len(raw) > maxTree {
		return nil, diag.New(diag.LimitTree, "the query's tree is too large")
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, diag.Wrap(err, diag.LimitTree, "the query is nested too deeply")
	}
	f := &filler{}
	if doc["error"] == true {
		var report failure
		if err := f.fill(doc, reflect.ValueOf(&report).Elem()); err != nil {
			return nil, diag.Wrap(err, diag.BugInternal, "the parser's report cannot be read")
		}
		return nil, syntaxError(text, report.Message, report.Position)
	}
	var tree parseTree
	if err := f.fill(doc, reflect.ValueOf(&tree).Elem()); err != nil {
		return nil, unread(err)
	}
	switch len(tree.Stmts) {
	case 0:
		return nil, diag.New(diag.ParseEmpty, "the query is empty").WithHint("send a SELECT statement")
	case 1:
	default:
		return nil, diag.New(diag.ParseStatements, "one call holds one statement, this text holds %d", len(tree.Stmts)).
			At(diag.PosAt("", text, tree.Stmts[1].Location))
	}
	s, ok := tree.Stmts[0].Stmt.v.(*selectStmt)
	if !ok {
		return nil, diag.New(diag.ParseReadOnly, "only SELECT statements run")
	}
	return s, nil
}

// unread refuses a tree with a form that is not read. Statements that change data
// or settings are such forms, too.
func unread(err error) error {
	if errors.Is(err, errDeep) {
		return diag.Wrap(err, diag.LimitTree, "the query is nested too deeply")
	}
	what := strings.TrimPrefix(err.Error(), unknownPrefix)
	if strings.HasSuffix(what, "Stmt") {
		return diag.Wrap(err, diag.ParseReadOnly, "only SELECT statements run, not %s", strings.TrimSuffix(what, "Stmt"))
	}
	return diag.Wrap(err, diag.UnsupportedPostgres, "a form of this PostgreSQL text is not supported (%s)", what).
		WithHint("docs/postgres.md lists what is read")
}

// syntaxError makes our own text of the parser's report, which may quote the text
// at any length.
func syntaxError(text, message string, position int) error {
	e := diag.Wrap(fmt.Errorf("postgres: %s", message), diag.ParseSyntax, "the text is not valid SQL of PostgreSQL's dialect")
	chars := position - 1
	for at := range text {
		if chars == 0 {
			return e.At(diag.PosAt("", text, at))
		}
		chars--
	}
	if position > 0 {
		return e.At(diag.PosAt("", text, len(text)))
	}
	return e
}
