package opa

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/util"

	"plumbline/semantic/diag"
)

// maxData bounds one data file: it is held in memory and copied into partial results.
const maxData = 8 << 20

// isData reports that a file of the bundle holds data for the rules, as OPA's own
// bundles name them.
func isData(rel string) bool {
	base := path.Base(rel)
	return base == "data.json" || base == "data.yaml"
}

// addData puts a data file under the names of its folders: sales/data.yaml is
// data.sales. It shares no name with another file, nor with the policies.
func (b *bundle) addData(name, rel string, text []byte) error {
	at := diag.Pos{File: name, Line: 1}
	if len(text) > maxData {
		return diag.New(diag.ConfigRego, "a data file beside the policies has at most %d MiB", maxData>>20).At(at)
	}
	var value map[string]any
	if strings.HasSuffix(rel, ".json") {
		if err := decodeJSON(name, text, &value); err != nil {
			return err
		}
	} else if err := util.Unmarshal(text, &value); err != nil {
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			at.Line, _ = strconv.Atoi(m[1])
		}
		return diag.Wrap(err, diag.ConfigRego, "the file is YAML with names at its top, and this is not").At(at)
	}
	if dir := path.Dir(rel); dir != "." {
		folders := strings.Split(dir, "/")
		for i := len(folders) - 1; i >= 0; i-- {
			value = map[string]any{folders[i]: value}
		}
	}
	if _, taken := value["plumbline"]; taken {
		return diag.New(diag.ConfigRego, "data.plumbline is the policies' own; data beside them has other names").At(at)
	}
	if twice := merge(b.data, value); twice != "" {
		return diag.New(diag.ConfigRego, "data has one value for each name; %q stands in two files", twice).At(at)
	}
	return nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// merge adds what is not there yet; it gives the name that stands in both.
func merge(into, from map[string]any) string {
	for _, name := range sortedKeys(from) {
		old, taken := into[name]
		if !taken {
			into[name] = from[name]
			continue
		}
		a, left := old.(map[string]any)
		b, right := from[name].(map[string]any)
		if !left || !right {
			return name
		}
		if twice := merge(a, b); twice != "" {
			return name + "." + twice
		}
	}
	return ""
}
