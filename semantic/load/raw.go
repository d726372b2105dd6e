package load

import "encoding/json"

// The raw structs mirror semantic/schema field by field; unknown fields are errors.

type rawModel struct {
	Entities   map[string]rawEntity    `json:"entities"`
	Metrics    map[string]rawMetric    `json:"metrics"`
	Time       rawTime                 `json:"time"`
	Calendars  map[string]rawCalendar  `json:"calendars"`
	Parameters map[string]rawParameter `json:"parameters"`
	Views      map[string]rawView      `json:"views"`
	Tests      map[string]rawTest      `json:"tests"`
}

type rawTime struct {
	Zone        string `json:"zone"`
	WeekStart   string `json:"week_start"`
	FiscalStart int    `json:"fiscal_start"`
}

type rawEntity struct {
	Description   string                     `json:"description"`
	Grain         string                     `json:"grain"`
	Source        rawSourceRef               `json:"source"`
	PrimaryKey    []string                   `json:"primary_key"`
	TimeDimension string                     `json:"time_dimension"`
	Fields        map[string]rawField        `json:"fields"`
	Dimensions    map[string]rawDimension    `json:"dimensions"`
	Measures      map[string]rawMeasure      `json:"measures"`
	Relationships map[string]rawRelationship `json:"relationships"`
	Filters       map[string]rawFilter       `json:"filters"`
	Segments      map[string]rawSegment      `json:"segments"`
	Hierarchies   map[string]rawHierarchy    `json:"hierarchies"`
	Tags          []string                   `json:"tags"`
	Synonyms      []string                   `json:"synonyms"`
}

type rawSourceRef struct {
	Source string `json:"source"`
	Path   string `json:"path"`
	Format string `json:"format"`
	Hive   bool   `json:"hive"`
}

type rawField struct {
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Column      string   `json:"column"`
	Visibility  string   `json:"visibility"`
	JoinDomain  string   `json:"join_domain"`
	Zone        string   `json:"zone"`
	Mask        *rawMask `json:"mask"`
	Tags        []string `json:"tags"`
	Synonyms    []string `json:"synonyms"`
	Samples     []string `json:"samples"`
}

type rawMask struct {
	Kind       string          `json:"kind"`
	N          int             `json:"n"`
	Width      json.RawMessage `json:"width"` // a number or a text
	Expr       string          `json:"expr"`
	Purpose    string          `json:"purpose"`
	Scope      string          `json:"scope"`
	Filterable bool            `json:"filterable"`
}

type rawDimension struct {
	Description string        `json:"description"`
	Field       string        `json:"field"`
	Expr        string        `json:"expr"`
	Measure     *rawMeasureOf `json:"measure"`
	Type        string        `json:"type"`
	Kind        string        `json:"kind"`
	Grains      []string      `json:"grains"`
	Bins        *rawBins      `json:"bins"`
	Collation   string        `json:"collation"`
	Visibility  string        `json:"visibility"`
	Tags        []string      `json:"tags"`
	Synonyms    []string      `json:"synonyms"`
}

type rawMeasureOf struct {
	Entity  string `json:"entity"`
	Measure string `json:"measure"`
	Role    string `json:"role"`
}

type rawBins struct {
	Width json.Number   `json:"width"`
	Edges []json.Number `json:"edges"`
}

type rawMeasure struct {
	Description string           `json:"description"`
	Agg         string           `json:"agg"`
	Field       string           `json:"field"`
	Expr        string           `json:"expr"`
	Filter      string           `json:"filter"`
	Quantile    json.Number      `json:"quantile"`
	Discrete    bool             `json:"discrete"`
	By          string           `json:"by"`
	Order       []rawOrder       `json:"order"`
	Separator   string           `json:"separator"`
	Semi        *rawSemiAdditive `json:"semi_additive"`
	Fill        *int             `json:"fill"`
	Unit        string           `json:"unit"`
	Format      string           `json:"format"`
	Tags        []string         `json:"tags"`
	Synonyms    []string         `json:"synonyms"`
}

type rawOrder struct {
	By   string `json:"by"`
	Desc bool   `json:"desc"`
}

type rawSemiAdditive struct {
	Over string   `json:"over"`
	Pick string   `json:"pick"`
	Per  []string `json:"per"`
}

type rawRelationship struct {
	To       string       `json:"to"`
	Kind     string       `json:"kind"`
	On       []rawPair    `json:"on"`
	Complete bool         `json:"complete"`
	Valid    *rawValidity `json:"valid"`
	AsOf     *rawAsOf     `json:"as_of"`
	Through  *rawBridge   `json:"through"`
}

type rawValidity struct {
	At   string `json:"at"`
	From string `json:"from"`
	To   string `json:"to"`
}

type rawAsOf struct {
	At   string `json:"at"`
	Time string `json:"time"`
}

type rawBridge struct {
	Entity   string `json:"entity"`
	Near     string `json:"near"`
	Far      string `json:"far"`
	Allocate string `json:"allocate"`
	Weight   string `json:"weight"`
}

type rawSegment struct {
	Description string   `json:"description"`
	Expr        string   `json:"expr"`
	Synonyms    []string `json:"synonyms"`
}

type rawHierarchy struct {
	Description string   `json:"description"`
	Levels      []string `json:"levels"`
}

type rawPair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type rawFilter struct {
	Description string   `json:"description"`
	Kind        string   `json:"kind"`
	Field       string   `json:"field"`
	Expr        string   `json:"expr"`
	Unless      []string `json:"unless"`
}

type rawMetric struct {
	Description string         `json:"description"`
	Entity      string         `json:"entity"`
	Measure     string         `json:"measure"`
	Filter      string         `json:"filter"`
	Numerator   string         `json:"numerator"`
	Denominator string         `json:"denominator"`
	Expr        string         `json:"expr"`
	Cumulative  *rawCumulative `json:"cumulative"`
	Compare     *rawCompare    `json:"compare"`
	Share       *rawShare      `json:"share"`
	Rank        *rawRank       `json:"rank"`
	Conversion  *rawConversion `json:"conversion"`
	Where       []rawWhere     `json:"where"`
	Unit        string         `json:"unit"`
	Format      string         `json:"format"`
	Owner       string         `json:"owner"`
	Tags        []string       `json:"tags"`
	Synonyms    []string       `json:"synonyms"`
}

type rawWhere struct {
	Field  string `json:"field"`
	Op     string `json:"op"`
	Values []any  `json:"values"`
	Grain  string `json:"grain"`
}

type rawCumulative struct {
	Of             string `json:"of"`
	Window         string `json:"window"`
	IncludeCurrent *bool  `json:"include_current"`
	ToDate         string `json:"to_date"`
	Grain          string `json:"grain"`
	Coarser        string `json:"coarser"`
}

type rawCompare struct {
	Of     string `json:"of"`
	Offset string `json:"offset"`
	Give   string `json:"give"`
	ToDate bool   `json:"to_date"`
}

type rawShare struct {
	Of     string   `json:"of"`
	Scope  string   `json:"scope"`
	Within []string `json:"within"`
}

type rawRank struct {
	Of     string   `json:"of"`
	Asc    bool     `json:"asc"`
	Within []string `json:"within"`
	Ties   string   `json:"ties"`
}

type rawConversion struct {
	Base      string    `json:"base"`
	Converted string    `json:"converted"`
	On        []rawPair `json:"on"`
	Window    string    `json:"window"`
	Give      string    `json:"give"`
}

type rawCalendar struct {
	Description string            `json:"description"`
	Entity      string            `json:"entity"`
	Date        string            `json:"date"`
	Grains      map[string]string `json:"grains"`
}

type rawParameter struct {
	Description string `json:"description"`
	Type        string `json:"type"`
	Default     any    `json:"default"`
	Allowed     []any  `json:"allowed"`
}

type rawView struct {
	Description string            `json:"description"`
	Entity      string            `json:"entity"`
	Columns     map[string]string `json:"columns"`
	Measures    []string          `json:"measures"`
}

type rawTest struct {
	Description string                      `json:"description"`
	Rows        map[string][]map[string]any `json:"rows"`
	Question    json.RawMessage             `json:"question"`
	SQL         string                      `json:"sql"`
	As          string                      `json:"as"`
	Now         string                      `json:"now"`
	Columns     []string                    `json:"columns"`
	Expect      [][]any                     `json:"expect"`
	Ordered     bool                        `json:"ordered"`
	Refused     string                      `json:"refused"`
}

type rawWorkspace struct {
	Name     string                `json:"name"`
	Models   string                `json:"models"`
	Policies string                `json:"policies"`
	Sources  map[string]rawSource  `json:"sources"`
	Limits   rawLimits             `json:"limits"`
	Server   rawServer             `json:"server"`
	Audit    rawAudit              `json:"audit"`
	Subjects map[string]rawSubject `json:"subjects"`
}

type rawSource struct {
	Kind string `json:"kind"`
	Root string `json:"root"`
}

type rawLimits struct {
	Time    string `json:"time"`
	Rows    int    `json:"rows"`
	Bytes   string `json:"bytes"`
	Calls   int    `json:"calls_per_minute"`
	Memory  string `json:"memory"`
	Temp    string `json:"temp"`
	Workers int    `json:"workers"`
	Threads int    `json:"threads"`
}

type rawServer struct {
	Listen           string    `json:"listen"`
	Origins          []string  `json:"origins"`
	StdioSubject     string    `json:"stdio_subject"`
	RequireOSSandbox bool      `json:"require_os_sandbox"`
	MaskKey          rawSecret `json:"mask_key"`
}

type rawAudit struct {
	Path     string `json:"path"`
	MaxBytes string `json:"max_bytes"`
	Keep     int    `json:"keep"`
}

type rawSubject struct {
	Roles  []string       `json:"roles"`
	Claims map[string]any `json:"claims"`
	Token  rawSecret      `json:"token"`
}

type rawSecret struct {
	Env  string `json:"env"`
	File string `json:"file"`
}
