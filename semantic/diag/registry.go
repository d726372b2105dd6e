package diag

import (
	"slices"
	"strings"
)

// Code names one kind of refusal or failure: family, dot, name.
type Code string

// The closed list. A code is never renamed and never reused; the page of each
// in docs/errors is made from registry below.
const (
	RequestMalformed  Code = "request.malformed"
	RequestUnknownArg Code = "request.unknown_argument"
	RequestTooLarge   Code = "request.too_large"
	RequestSubject    Code = "request.unauthenticated"
	RequestCancelled  Code = "request.cancelled"
	RequestBusy       Code = "request.busy"

	ParseSyntax     Code = "parse.syntax"
	ParseStatements Code = "parse.one_statement"
	ParseReadOnly   Code = "parse.read_only"
	ParseEmpty      Code = "parse.empty"
	ParseParameter  Code = "parse.parameter"

	ResolveUnknown   Code = "resolve.unknown"
	ResolveAmbiguous Code = "resolve.ambiguous"
	ResolveFunction  Code = "resolve.function"
	ResolveUse       Code = "resolve.use"
	ResolveShape     Code = "resolve.shape"
	ResolveDuplicate Code = "resolve.duplicate"

	MetricUnknown   Code = "metric.unknown"
	MetricDimension Code = "metric.unreachable_dimension"
	MetricFanOut    Code = "metric.fan_out"
	MetricAmbiguous Code = "metric.ambiguous_path"
	MetricGrain     Code = "metric.grain"
	MetricFilter    Code = "metric.filter"
	MetricOrder     Code = "metric.order"
	MetricEmpty     Code = "metric.empty"

	PolicyDenied   Code = "policy.denied"
	PolicyColumn   Code = "policy.column"
	PolicyRequired Code = "policy.required_filter"
	PolicyUnsay    Code = "policy.unsayable"
	PolicyVerify   Code = "policy.verify"
	PolicyGroup    Code = "policy.group"

	SourceMissing     Code = "source.missing"
	SourceCorrupt     Code = "source.corrupt"
	SourceUnavailable Code = "source.unavailable"

	ExecuteFailed  Code = "execute.failed"
	ExecuteCrashed Code = "execute.worker_lost"

	LimitTime   Code = "limit.time"
	LimitMemory Code = "limit.memory"
	LimitText   Code = "limit.text"
	LimitTree   Code = "limit.tree"
	LimitRows   Code = "limit.rows"
	LimitBytes  Code = "limit.bytes"

	LimitCalls      Code = "limit.calls"
	LimitFilterSets Code = "limit.filter_sets"

	ModelSyntax    Code = "model.syntax"
	ModelInvalid   Code = "model.invalid"
	ModelUnknown   Code = "model.unknown_reference"
	ModelDuplicate Code = "model.duplicate"
	ModelCycle     Code = "model.cycle"
	ModelSQL       Code = "model.sql"
	ModelData      Code = "model.data"

	ConfigInvalid   Code = "config.invalid"
	ConfigRego      Code = "config.policy"
	ConfigSelfTest  Code = "config.self_test"
	ConfigSandbox   Code = "config.sandbox"
	ConfigFolder    Code = "config.folder"
	ConfigRevision  Code = "config.revision"
	ConfigChanged   Code = "config.changed"
	AuditFailed     Code = "execute.audit_failed"
	UnsupportedNode Code = "unsupported.node"
	UnsupportedText Code = "unsupported.text"
	UnsupportedAsk  Code = "unsupported.question"

	UnsupportedPostgres Code = "unsupported.postgres"

	BugInternal Code = "bug.internal"
	BugSplice   Code = "bug.splice"
	BugProve    Code = "bug.prove"
	BugRecord   Code = "bug.record"
)

// Info describes a code for people: its page in docs/errors is made of it.
type Info struct {
	Code   Code
	Rule   string // the rule that was broken, as a sentence
	Means  string // what happened, when it is seen
	WayOut string // what the asker can do
}

var registry = []Info{
	{RequestMalformed, "A request is well-formed JSON of the tool's shape.", "An argument has the wrong type, is missing, or appears twice.", "Compare the arguments with the tool's input schema; the message names the argument."},
	{RequestUnknownArg, "A request carries only arguments that the tool knows.", "An unknown or misplaced argument was sent; nothing was run, since running without it could answer another question.", "Move or remove the argument; the hint names the right place."},
	{RequestTooLarge, "A request stays under the size limit.", "The body is larger than the server accepts.", "Send less text."},
	{RequestSubject, "Every request has a subject given by the transport.", "There is no configured subject for this connection or token.", "Use a token listed in the server's configuration."},
	{RequestCancelled, "A cancelled call stops.", "The caller cancelled or closed the connection before the answer was ready.", "Ask again."},
	{RequestBusy, "The number of questions running at once is bounded.", "No worker became free within the deadline.", "Ask again later or ask for less."},

	{ParseSyntax, "SQL is one DuckDB SELECT statement.", "The text does not parse.", "Correct the text at the given line and column."},
	{ParseStatements, "One call holds exactly one statement.", "The text holds none or several.", "Send each statement as its own call."},
	{ParseReadOnly, "Only SELECT statements run.", "The text holds a statement that is not a plain SELECT.", "Write a SELECT; list_metrics, search_tables and describe_table answer questions about the catalog."},
	{ParseEmpty, "A query is not empty.", "The text is empty or holds comments only.", "Send a SELECT statement."},
	{ParseParameter, "Values are written as literals.", "The text holds a parameter such as ? or $1, and nothing binds it.", "Write the value into the text."},

	{ResolveUnknown, "Every name is an entity, field or dimension of the catalog that the subject may see.", "A name is not known. A name that exists but may not be seen is answered the same way.", "Use a suggested name, or search_tables and describe_table."},
	{ResolveAmbiguous, "Every name means one thing.", "A column name belongs to more than one relation in scope.", "Qualify the column with its relation's name or alias."},
	{ResolveFunction, "Only reviewed functions run.", "A function is not on the allow-list, or its arguments are not of the reviewed form.", "Use another function; docs/functions.md lists the allowed ones."},
	{ResolveUse, "A field is used only as its visibility allows.", "A field of class filter, join or private stands in a clause where its class forbids it.", "describe_table shows how each column may be used."},
	{ResolveShape, "Only SQL whose meaning can be traced to its columns runs.", "The query uses a form whose columns cannot be traced, or whose parts do not fit.", "Use the form given in the hint."},
	{ResolveDuplicate, "Names in one scope differ.", "Two relations or CTEs of one scope share a name.", "Give one of them an alias."},

	{MetricUnknown, "A question names metrics, dimensions and fields of the catalog.", "A name is not known to this subject.", "Use a suggested name, or list_metrics."},
	{MetricDimension, "A dimension is reachable from the measure's entity over many-to-one relationships.", "The dimension cannot be placed beside the measure.", "Use one of the reachable dimensions that the hint lists."},
	{MetricFanOut, "A measure is never repeated by a join.", "The dimension is only reachable over a to-many relationship, so each row of the measure would count several times.", "Ask for the measure by a reachable dimension, or use a measure of the other entity."},
	{MetricAmbiguous, "There is one path from a measure to a dimension, or the question names it.", "Several relationship paths lead to the dimension.", "Name the dimension with its path, as the hint shows."},
	{MetricGrain, "A time dimension is asked at a grain it has.", "The grain is unknown, or not offered by the dimension.", "Use one of the listed grains."},
	{MetricFilter, "A filter compares a known field with values of its type.", "The field, the operator or a value does not fit; nothing was run.", "Correct the filter as the hint shows."},
	{MetricOrder, "An answer is ordered by what it contains.", "An order term is not one of the asked metrics or dimensions.", "Order by a selected name."},
	{MetricEmpty, "A question asks for at least one metric.", "No metric was named.", "Name one; list_metrics lists them."},

	{PolicyDenied, "Policy decides what a subject may ask.", "The policy denied the question.", "The reasons say which rule denied and what would be allowed."},
	{PolicyColumn, "Policy decides how a subject may use a column.", "The subject may not use a column in this clause.", "describe_table shows what this subject may use."},
	{PolicyRequired, "An entity with a required filter is asked with that filter.", "The filter is missing from that scan, or is not a plain comparison with literals.", "Add the filter that the hint shows, as a top-level AND condition beside that entity."},
	{PolicyUnsay, "Every row rule can be said in SQL.", "A row rule could not be turned into a condition, so the entity is closed.", "The policy's author must restate the rule; the audit record has the detail."},
	{PolicyGroup, "What has a minimum group is shown in groups of that size.", "The question shows rows or values of an entity one by one, or in a form in which small groups could be worked out. Policy gives the entity a minimum group for this subject.", "Ask for one plain aggregate per group: count, sum or avg of columns in one SELECT, or a plain metric by dimensions."},
	{PolicyVerify, "The final text passes the policy's verify rules.", "The verify package refused the text that would have run.", "The reasons say what was refused."},

	{SourceMissing, "The files behind an entity exist.", "A declared file or folder is missing.", "The server's operator must restore the source."},
	{SourceCorrupt, "The files behind an entity can be read as declared.", "A file could not be read; no partial answer is given.", "The server's operator must repair the source."},
	{SourceUnavailable, "A source answers.", "A source did not answer.", "Ask again later."},

	{ExecuteFailed, "A query that runs gives rows.", "The engine failed on the data, for example on a cast. The engine's own text is never passed on, since it may quote values.", "Guard the expression, for example with TRY_CAST or NULLIF."},
	{ExecuteCrashed, "A query does not take its worker down.", "The worker process ended during the query and was replaced.", "Ask for less; if it repeats, report the query id."},
	{AuditFailed, "No record, no answer.", "The audit record could not be written, so the answer is withheld.", "The server's operator must make the audit file writable."},

	{LimitTime, "A query ends within its time limit.", "The time limit passed and the query was stopped.", "Ask for less: a shorter period, fewer groups, a metric instead of rows."},
	{LimitMemory, "A query stays within its memory limit.", "The query needed more memory than it may use and was stopped.", "Ask for less, or aggregate earlier."},
	{LimitText, "Query text stays under 64 KiB.", "The text is longer.", "Shorten it; join with a declared entity in place of long literal lists."},
	{LimitTree, "A query stays within the size and depth limits of its tree.", "There are too many nodes, levels, list items, or joins.", "Split the question or shorten lists."},
	{LimitRows, "An answer stays within the row limit.", "More rows were asked for than may be returned.", "Ask for fewer rows, or aggregate."},
	{LimitBytes, "An answer stays within the byte limit.", "One row or the first rows of the answer are larger than may be returned.", "Select fewer or shorter columns."},

	{LimitCalls, "A subject calls so many times in a minute.", "There were more calls than the workspace or the policy allows; this one was not answered and does not count.", "Wait as long as the hint says."},
	{LimitFilterSets, "What has a minimum group is asked by so many different sets of filters and groups in an hour.", "The question picks rows or groups by a set that was not asked in the last hour, and as many others were.", "Ask by a set of filters and groups that was asked before, or wait as long as the hint says."},

	{ModelSyntax, "Models are valid CUE.", "A model file does not parse or does not evaluate.", "Correct the file at the given place."},
	{ModelInvalid, "Models follow the schema.", "A model has an unknown field, a wrong value, or lacks a required one.", "Correct the file at the given place; cue vet shows the same."},
	{ModelUnknown, "A model refers only to what it declares.", "A reference names an entity, field, dimension or measure that does not exist.", "Use the suggested name."},
	{ModelDuplicate, "Names are unique without regard to case.", "Two things of one scope share a name, or an entity is declared in two files.", "Rename one."},
	{ModelCycle, "Relationships form no unnamed cycle, and no metric is made from itself.", "Entities reach themselves over relationships that no role name tells apart, or metrics are made from each other.", "Name the role of each relationship on the cycle, or make one of the metrics from measures."},
	{ModelSQL, "SQL in a model is an expression over the entity's own fields.", "An expression does not parse, or names something it may not.", "Correct the expression at the given place."},

	{ModelData, "The data keep what the models promise.", "A key repeats, a relationship declared complete has rows without a partner, versions overlap, two rows stand at one time of an as-of join, or a calendar misses days. As a warning: rows without a partner, weights that do not add up to 1, levels of a hierarchy that do not nest, and fields that drifted.", "Correct the data or what the model says of them; plumbline check --data counts again."},

	{ConfigInvalid, "plumbline.cue is valid.", "The workspace configuration has a mistake.", "Correct it at the given place."},
	{ConfigRego, "The policy bundle compiles and says rows in SQL for every sample subject.", "A policy does not compile, or a row rule cannot be said.", "Correct the policy at the given place."},
	{ConfigSelfTest, "The server starts only when a write and an outside read are refused.", "The self-test got through where it must not.", "Do not serve; report it."},
	{ConfigSandbox, "With require_os_sandbox the operating system must confine the workers.", "The system offers no landlock.", "Use a kernel with landlock, or set require_os_sandbox to false and read docs/security.md."},

	{ConfigFolder, "A command writes only into an empty folder, or into one it made itself.", "The folder holds files that the command did not write, or it cannot be written.", "Name another folder, or empty this one."},

	{ConfigChanged, "What is loaded is one state of the files.", "Files of the workspace changed while they were loaded again. The old models and policies stay.", "Wait: the server loads again when the files rest. After SIGHUP, send it again."},

	{ConfigRevision, "A revision of the models is a folder with a workspace, or one that git can read.", "The name is neither, git is not installed, the workspace is in no repository, or it was elsewhere at that revision.", "Name a folder, or a revision that git rev-parse knows."},

	{UnsupportedNode, "Only reviewed SQL forms run.", "The SQL uses a form that is not on the allow-list.", "Use the form given in the hint."},
	{UnsupportedText, "The engine can describe the query as a tree.", "DuckDB parses the text but cannot serialise it, for example a PIVOT without an IN list.", "Write the form given in the hint."},
	{UnsupportedPostgres, "PostgreSQL text runs where its answer is PostgreSQL's.", "The text asks for something whose answer here is not sure to be the one that PostgreSQL gives: a function, an operator on these types, a form of a literal.", "Use the form given in the hint, or leave the dialect out and write the query in DuckDB's."},
	{UnsupportedAsk, "A question stays within what the compiler supports.", "The question is understood but not supported.", "Use the form given in the hint."},

	{BugInternal, "This does not happen.", "Something failed that no rule foresees. Nothing was answered.", "Report it with the query id."},
	{BugSplice, "The rewritten text parses to the intended tree.", "It did not, so nothing was run.", "Report it with the query id."},
	{BugProve, "The final text proves that every rule holds.", "It did not, so nothing was run.", "Report it with the query id."},
	{BugRecord, "Every request leaves a complete record.", "The record could not be built.", "Report it with the query id."},
}

// Registry gives every code with its page, sorted by code.
func Registry() []Info {
	out := slices.Clone(registry)
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(string(a.Code), string(b.Code)) })
	return out
}

var known = func() map[Code]bool {
	m := make(map[Code]bool, len(registry))
	for _, i := range registry {
		m[i.Code] = true
	}
	return m
}()

func mustBeRegistered(c Code) {
	if !known[c] {
		panic("diag: code " + string(c) + " is not in the registry")
	}
}
