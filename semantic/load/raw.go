package load

// The raw structs mirror semantic/schema field by field; unknown fields are errors.

type rawModel struct {
	Entities map[string]rawEntity `json:"entities"`
	Metrics  map[string]rawMetric `json:"metrics"`
	Time     rawTime              `json:"time"`
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
	Tags        []string `json:"tags"`
	Synonyms    []string `json:"synonyms"`
	Samples     []string `json:"samples"`
}

type rawDimension struct {
	Description string   `json:"description"`
	Field       string   `json:"field"`
	Expr        string   `json:"expr"`
	Type        string   `json:"type"`
	Kind        string   `json:"kind"`
	Grains      []string `json:"grains"`
	Visibility  string   `json:"visibility"`
	Tags        []string `json:"tags"`
	Synonyms    []string `json:"synonyms"`
}

type rawMeasure struct {
	Description string   `json:"description"`
	Agg         string   `json:"agg"`
	Field       string   `json:"field"`
	Expr        string   `json:"expr"`
	Filter      string   `json:"filter"`
	Fill        *int     `json:"fill"`
	Unit        string   `json:"unit"`
	Format      string   `json:"format"`
	Tags        []string `json:"tags"`
	Synonyms    []string `json:"synonyms"`
}

type rawRelationship struct {
	To       string    `json:"to"`
	Kind     string    `json:"kind"`
	On       []rawPair `json:"on"`
	Complete bool      `json:"complete"`
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
	Description string   `json:"description"`
	Entity      string   `json:"entity"`
	Measure     string   `json:"measure"`
	Filter      string   `json:"filter"`
	Numerator   string   `json:"numerator"`
	Denominator string   `json:"denominator"`
	Unit        string   `json:"unit"`
	Format      string   `json:"format"`
	Tags        []string `json:"tags"`
	Synonyms    []string `json:"synonyms"`
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
