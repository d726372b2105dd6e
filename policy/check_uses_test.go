package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// people has a second entity in customers' join domain, beside one in another.
func people() *semantic.Catalog {
	shop := semantictest.Shop()
	field := func(name semantic.Name, v semantic.Visibility, domain string) *semantic.Field {
		return &semantic.Field{Name: name, Type: "varchar", Visibility: v, JoinDomain: domain}
	}
	employees := &semantic.Entity{Name: "employees", Fields: []*semantic.Field{
		field("ssn", semantic.JoinOnly, "person"), field("number", semantic.Output, "person"),
		field("badge", semantic.JoinOnly, "badge"), field("own", semantic.JoinOnly, ""), field("name", semantic.Output, "")}}
	customers := shop.Entity("customers")
	customers.Dimensions = append(customers.Dimensions,
		&semantic.Dimension{Name: "risky", Expr: "risk_score > 1", Reads: []semantic.Name{"risk_score"}, Visibility: semantic.Output},
		&semantic.Dimension{Name: "mail_host", Expr: "split_part(email, '@', 2)", Reads: []semantic.Name{"email"}, Visibility: semantic.Output})
	return semantic.NewCatalog(semantic.Catalog{Revision: "test", Entities: []*semantic.Entity{customers, employees}})
}

// asModelled gives every field of every entity the model's class.
func asModelled(c *semantic.Catalog) map[string]EntityAccess {
	out := map[string]EntityAccess{}
	for _, e := range c.Entities {
		a := EntityAccess{Visible: true, Columns: map[string]ColumnAccess{}}
		for _, f := range e.Fields {
			a.Columns[f.Name.Key()] = ColumnAccess{Class: f.Visibility}
		}
		out[e.Name.Key()] = a
	}
	return out
}

// statement builds what resolve would give: references c (customers), c2 and e (employees).
func statement(c *semantic.Catalog, uses ...resolve.Use) *resolve.Bound {
	customers, employees := c.Entity("customers"), c.Entity("employees")
	return &resolve.Bound{Statement: &sqlast.Statement{Text: "SELECT\n  x FROM y"},
		Refs: []resolve.Ref{{Entity: customers}, {Entity: customers}, {Entity: employees}}, Uses: uses}
}

func use(column semantic.Name, clause resolve.Clause) resolve.Use {
	return resolve.Use{Column: column, Clause: clause, Bare: true, At: 9}
}

// equality gives both sides of ON a = b.
func equality(joinType string, ref int, column semantic.Name, otherRef int, other semantic.Name) []resolve.Use {
	entity := []semantic.Name{"customers", "customers", "employees"}
	side := func(r int, n semantic.Name, or int, on semantic.Name) resolve.Use {
		return resolve.Use{Ref: r, Column: n, Clause: resolve.InJoin, Bare: true, JoinType: joinType, OtherRef: or,
			Other: &resolve.ColumnID{Entity: entity[or], Column: on}, At: 9}
	}
	return []resolve.Use{side(ref, column, otherRef, other), side(otherRef, other, ref, column)}
}

var clauses = []resolve.Clause{resolve.InOutput, resolve.InFilter, resolve.InJoin, resolve.InGroup, resolve.InOrder, resolve.InWindow,
	resolve.InAggregate, resolve.InUsing, resolve.InPivot, resolve.InSetOp, "a clause of tomorrow"}

// TestClassByClause walks every class through every clause.
func TestClassByClause(t *testing.T) {
	c := people()
	allowed := map[semantic.Name]string{
		"name":  "output filter join group order window aggregate using pivot setop a clause of tomorrow",
		"phone": "filter order join",
		"ssn":   "", "risk_score": "", "risky": "",
	}
	for column, clausesAllowed := range allowed {
		for _, clause := range clauses {
			err := CheckUses(statement(c, use(column, clause)), asModelled(c))
			if strings.Contains(clausesAllowed, string(clause)) {
				require.NoError(t, err, "%s in %s", column, clause)
				continue
			}
			require.Equal(t, diag.ResolveUse, diag.CodeOf(err), "%s in %s", column, clause)
			require.True(t, strings.HasPrefix(err.Error(), "2:3: "), err.Error())
			require.NotEmpty(t, diag.All(err)[0].Hint)

			model := use(column, clause)
			model.Origin = resolve.Model
			require.NoError(t, CheckUses(statement(c, model), asModelled(c)), "the model may use %s in %s", column, clause)
		}
	}
}

func TestJoinColumns(t *testing.T) {
	c := people()
	for name, want := range map[string]struct {
		uses []resolve.Use
		ok   bool
	}{
		"inner":         {equality("INNER", 0, "ssn", 2, "ssn"), true},
		"left":          {equality("LEFT", 0, "ssn", 2, "ssn"), true},
		"right":         {equality("RIGHT", 0, "ssn", 2, "ssn"), true},
		"full":          {equality("OUTER", 0, "ssn", 2, "ssn"), true},
		"self join":     {equality("INNER", 0, "ssn", 1, "ssn"), true},
		"output side":   {equality("INNER", 0, "ssn", 2, "number"), true},
		"own domain":    {equality("INNER", 2, "own", 2, "own"), false}, // a null test
		"anti":          {equality("ANTI", 0, "ssn", 2, "ssn"), false},
		"semi":          {equality("SEMI", 0, "ssn", 2, "ssn"), false},
		"mark":          {equality("MARK", 0, "ssn", 2, "ssn"), false},
		"no type":       {equality("", 0, "ssn", 2, "ssn"), false},
		"other domain":  {equality("INNER", 0, "ssn", 2, "badge"), false},
		"no domain":     {equality("INNER", 0, "ssn", 2, "name"), false},
		"null test":     {equality("INNER", 0, "ssn", 0, "ssn"), false},
		"second":        {append(equality("INNER", 0, "ssn", 2, "ssn"), equality("INNER", 1, "ssn", 2, "number")...), false},
		"and a filter":  {append(equality("INNER", 0, "ssn", 2, "ssn"), use("ssn", resolve.InFilter)), false},
		"and an output": {append(equality("INNER", 0, "ssn", 2, "ssn"), use("ssn", resolve.InOutput)), false},
	} {
		err := CheckUses(statement(c, want.uses...), asModelled(c))
		if want.ok {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, diag.ResolveUse, diag.CodeOf(err), name)
	}
	computed := equality("INNER", 0, "ssn", 2, "ssn")
	computed[0].Bare = false
	require.Error(t, CheckUses(statement(c, computed...), asModelled(c)), "an expression is not a bare column")
	literal := equality("INNER", 0, "ssn", 2, "ssn")
	literal[0].Literal = true
	require.Error(t, CheckUses(statement(c, literal...), asModelled(c)))
	alone := use("ssn", resolve.InJoin)
	alone.JoinType = "INNER"
	require.Error(t, CheckUses(statement(c, alone), asModelled(c)), "the other side must be a column")
	alone.OtherRef = 2
	require.Error(t, CheckUses(statement(c, alone), asModelled(c)), "the other side must be a column")
	filter := equality("INNER", 0, "ssn", 2, "ssn")
	filter[0].Clause = resolve.InFilter
	require.Error(t, CheckUses(statement(c, filter...), asModelled(c)), "a condition of WHERE is no join")
	for _, ref := range []int{-1, 3} {
		nowhere := equality("INNER", 0, "ssn", 2, "ssn")
		nowhere[0].OtherRef = ref
		require.Error(t, CheckUses(statement(c, nowhere[0]), asModelled(c)), "the other side must be an entity's")
	}
}

// TestPolicyNarrows: what the model allows and the subject's policy does not is
// policy.column; all offences come at once.
func TestPolicyNarrows(t *testing.T) {
	c := people()
	access := asModelled(c)
	access["customers"].Columns["name"] = ColumnAccess{Class: semantic.FilterOnly}
	access["customers"].Columns["region"] = ColumnAccess{Class: semantic.Output, Mask: &Mask{Kind: "redact"}}
	access["customers"].Columns["plan"] = ColumnAccess{Class: semantic.Output, Mask: &Mask{Kind: "hash", Filterable: true}}
	access["customers"].Columns["email"] = ColumnAccess{Class: semantic.Output, Mask: &Mask{Kind: "last"}}
	access["customers"].Columns["risk_score"] = ColumnAccess{Class: semantic.Output} // wider than the model: does not count

	err := CheckUses(statement(c, use("name", resolve.InOutput), use("risk_score", resolve.InOutput)), access)
	require.Len(t, diag.All(err), 2)
	require.Equal(t, diag.PolicyColumn, diag.CodeOf(err))
	require.NoError(t, CheckUses(statement(c, use("name", resolve.InFilter)), access))

	for _, column := range []semantic.Name{"region", "big_region", "mail_host"} {
		require.NoError(t, CheckUses(statement(c, use(column, resolve.InOutput)), access), column)
		for _, clause := range clauses[1:] {
			require.Equal(t, diag.PolicyColumn, diag.CodeOf(CheckUses(statement(c, use(column, clause)), access)), "%s in %s", column, clause)
		}
	}
	for _, clause := range clauses {
		err := CheckUses(statement(c, use("plan", clause)), access)
		if clause == resolve.InJoin || clause == resolve.InUsing {
			require.ErrorContains(t, err, "masked values match nothing but themselves", clause)
			continue
		}
		require.NoError(t, err, clause)
	}
	require.NoError(t, CheckUses(statement(c, equality("INNER", 0, "plan", 1, "plan")...), access), "a hash of a column equals itself")
	require.Error(t, CheckUses(statement(c, equality("INNER", 0, "plan", 1, "name")...), access))
	access["customers"].Columns["name"] = ColumnAccess{Class: semantic.Output, Mask: &Mask{Kind: "hash", Filterable: true}}
	require.Error(t, CheckUses(statement(c, equality("INNER", 0, "name", 2, "name")...), access), "a column of the same name is another one")
}

// TestTokensMatchInJoinsOnly: tokens of one space are equal where values are, in an
// equality of two bare columns of entities and nowhere else.
func TestTokensMatchInJoinsOnly(t *testing.T) {
	c := people()
	access := asModelled(c)
	token := &Mask{Kind: "token", Filterable: true, Space: "mail"}
	access["customers"].Columns["name"] = ColumnAccess{Class: semantic.Output, Mask: token}
	access["employees"].Columns["name"] = ColumnAccess{Class: semantic.Output, Mask: token}
	require.NoError(t, CheckUses(statement(c, equality("INNER", 0, "name", 2, "name")...), access))
	for what, edit := range map[string]func(*resolve.Use){
		"USING":         func(u *resolve.Use) { u.Clause = resolve.InUsing },
		"an expression": func(u *resolve.Use) { u.Bare = false },
		"no column":     func(u *resolve.Use) { u.Other = nil },
		"before all":    func(u *resolve.Use) { u.OtherRef = -1 },
		"behind all":    func(u *resolve.Use) { u.OtherRef = 3 },
	} {
		uses := equality("INNER", 0, "name", 2, "name")
		edit(&uses[0])
		require.Error(t, CheckUses(statement(c, uses[0]), access), what)
	}
}

// TestNothingIsLeft: a column that may be filtered but not selected, and whose mask
// may be selected but not filtered, gets one refusal in every clause that is true.
func TestNothingIsLeft(t *testing.T) {
	c := people()
	access := asModelled(c)
	for _, class := range []semantic.Visibility{semantic.FilterOnly, semantic.JoinOnly} {
		access["customers"].Columns["phone"] = ColumnAccess{Class: class, Mask: &Mask{Kind: "last"}}
		for _, clause := range clauses {
			err := CheckUses(statement(c, use("phone", clause)), access)
			require.Equal(t, diag.PolicyColumn, diag.CodeOf(err), clause)
			require.ErrorContains(t, err, `"phone" is masked for you and may not be filtered, and its class does not allow output`, clause)
			require.ErrorContains(t, err, `leave "phone" out`, clause)
		}
	}
}

// TestHiddenIsABug: resolve answers what is hidden as if it did not exist, so a
// hidden column that arrives here is our mistake, whoever wrote it, and unnamed.
func TestHiddenIsABug(t *testing.T) {
	c := people()
	access := asModelled(c)
	delete(access["customers"].Columns, "email")
	for _, column := range []semantic.Name{"email", "mail_host", "no_such"} {
		for _, origin := range []resolve.Origin{resolve.Caller, resolve.Model} {
			u := use(column, resolve.InOutput)
			u.Origin = origin
			err := CheckUses(statement(c, u), access)
			require.Equal(t, diag.BugInternal, diag.CodeOf(err))
			require.NotContains(t, err.Error(), string(column))
			require.Error(t, CheckUses(statement(c, u), nil))
		}
	}
	invisible := asModelled(c)
	a := invisible["customers"]
	a.Visible = false
	invisible["customers"] = a
	require.Error(t, CheckUses(statement(c, use("name", resolve.InOutput)), invisible))
}

// TestTokensAreJoined: tokens of one space may be compared in ON, bare, and in no other way.
func TestTokensAreJoined(t *testing.T) {
	c := people()
	access := asModelled(c)
	token := func(space string) ColumnAccess {
		return ColumnAccess{Class: semantic.Output, Mask: &Mask{Kind: "token", Filterable: true, Space: space}}
	}
	access["customers"].Columns["name"], access["employees"].Columns["name"] = token("one"), token("one")
	access["customers"].Columns["region"] = token("other")
	access["customers"].Columns["plan"] = ColumnAccess{Class: semantic.Output, Mask: &Mask{Kind: "hash", Filterable: true}}
	for _, join := range []string{"INNER", "LEFT", "SEMI"} {
		require.NoError(t, CheckUses(statement(c, equality(join, 0, "name", 2, "name")...), access))
	}
	for name, uses := range map[string][]resolve.Use{
		"another space": equality("INNER", 0, "region", 2, "name"),
		"a hash":        equality("INNER", 0, "plan", 2, "name"),
		"a value":       equality("INNER", 0, "email", 2, "name"),
		"using":         {use("name", resolve.InUsing)},
	} {
		require.Equal(t, diag.PolicyColumn, diag.CodeOf(CheckUses(statement(c, uses...), access)), name)
	}
	inside := equality("INNER", 0, "name", 2, "name")
	inside[0].Bare = false
	require.Error(t, CheckUses(statement(c, inside...), access))
}
