package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"

	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/schema"
)

// model loads the catalog from the CUE files of dir. w may be nil when the
// configuration is broken; sources are then not checked.
func model(root, dir string, w *semantic.Workspace) (*semantic.Catalog, diag.List) {
	texts, errs := folder(root, dir)
	if len(errs) > 0 {
		return nil, errs
	}
	strict := evaluate(root, dir, ".", texts, shapes())
	r := &reader{
		places: newPlaces(root, strict.instance.Files), definitions: definitions(),
		invalid: diag.ModelInvalid, syntax: diag.ModelSyntax,
	}
	raw, errs := r.model(strict, func() evaluation { return evaluate(root, dir, ".", texts, open()) })
	if raw == nil {
		return nil, errs
	}
	b := &builder{places: r.places, workspace: w, errs: errs}
	b.build(raw)
	revision, err := revision(strict.instance, texts)
	if err != nil {
		b.errs = append(b.errs, diag.Wrap(err, diag.ModelSyntax, "a model file changed while it was read"))
	}
	if len(b.errs) > 0 {
		return nil, unique(b.errs)
	}
	return b.catalog(revision), nil
}

// folder reads the model files, once, so that what is checked is what is hashed.
// It refuses what would otherwise be left out in silence: a folder that is not
// there or outside the workspace, and files in folders below it.
func folder(root, dir string) (map[string][]byte, diag.List) {
	rel, err := filepath.Rel(root, dir)
	at := diag.Pos{File: ConfigFile}
	if err != nil || !filepath.IsLocal(rel) {
		return nil, diag.List{diag.New(diag.ConfigInvalid, "the models must stand below the workspace").At(at)}
	}
	rel = filepath.ToSlash(rel)
	texts, errs := map[string][]byte{}, diag.List{}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || filepath.Ext(file) != ".cue":
			return nil
		case filepath.Dir(file) == dir:
			texts[file], err = os.ReadFile(file)
			return err
		}
		errs = append(errs, diag.New(diag.ModelInvalid, "all models stand in one folder").
			At(diag.Pos{File: relative(root, file)}).WithHint("move the file up to %s", rel))
		return nil
	})
	switch {
	case err != nil && os.IsNotExist(err):
		errs = append(errs, diag.Wrap(err, diag.ConfigInvalid, "there is no folder %q for the models", rel).At(at))
	case err != nil:
		errs = append(errs, diag.Wrap(err, diag.ConfigInvalid, "the folder %q of the models cannot be read", rel).At(at))
	case len(texts) == 0 && len(errs) == 0:
		errs = append(errs, diag.New(diag.ModelInvalid, "there is no model in the folder %q", rel).
			WithHint("a model is a .cue file; plumbline init writes samples"))
	}
	return texts, errs
}

// model gives the raw model with everything that CUE and the syntax trees say
// against it; nil when there is nothing to look at further.
func (r *reader) model(strict evaluation, again func() evaluation) (*rawModel, diag.List) {
	if strict.instance.Err != nil {
		return nil, unique(r.refusals(strict.instance.Err))
	}
	errs := r.lint(strict.instance.Files, "model", "#Model")
	value := strict.value.LookupPath(cue.ParsePath("model"))
	err := value.Validate(cue.Concrete(true))
	if err == nil {
		err = strict.value.Err()
	}
	raw := new(rawModel)
	if err == nil {
		if err := decode(value, raw); err != nil {
			return nil, append(errs, diag.Wrap(err, diag.BugInternal, "the schema and the loader disagree"))
		}
		return raw, errs
	}
	errs = append(errs, r.refusals(err)...)
	open := again()
	if open.err != nil {
		return nil, unique(errs)
	}
	value = open.value.LookupPath(cue.ParsePath("model"))
	text, err := value.MarshalJSON()
	if err != nil {
		return nil, unique(errs) // the user's own CUE is wrong, and reported
	}
	errs = append(errs, r.absent(text)...)
	_ = json.Unmarshal(text, raw) // what has the wrong type is reported already, and left out
	return raw, errs
}

func decode(value cue.Value, into any) error {
	text, err := value.MarshalJSON()
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber() // claims stay exact
	return d.Decode(into)
}

// absent finds every missing field: CUE speaks of them only when nothing else is wrong.
func (r *reader) absent(text []byte) diag.List {
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil
	}
	var out diag.List
	var walk func(path []string, node any)
	walk = func(path []string, node any) {
		switch n := node.(type) {
		case map[string]any:
			if s, ok := shapeOf(path); ok {
				for _, name := range r.definitions[s.definition].required {
					if _, ok := n[name]; !ok {
						out = append(out, r.missing(append(slices.Clip(path), name)))
					}
				}
			}
			for name, child := range n {
				walk(append(slices.Clip(path), name), child)
			}
		case []any:
			for i, child := range n {
				walk(append(slices.Clip(path), strconv.Itoa(i)), child)
			}
		}
	}
	walk([]string{"model"}, tree)
	return out
}

// unique drops errors that two checks found alike.
func unique(list diag.List) diag.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(e *diag.Error) bool {
		k := e.Error()
		defer func() { seen[k] = true }()
		return seen[k]
	})
}

// revision hashes the text of every file that the model is made of: the user's
// own, those of packages they import, and the schema. read are the texts already read.
func revision(instance *build.Instance, read map[string][]byte) (string, error) {
	texts := map[string][]byte{}
	for name, text := range shapes() {
		texts[name] = []byte(text)
	}
	var collect func(*build.Instance) error
	collect = func(i *build.Instance) error {
		if i.ImportPath == schema.ImportPath || i.ImportPath == schema.ImportPath+":plumbline" {
			return nil
		}
		for _, file := range i.Files {
			text, ok := read[file.Filename]
			if !ok {
				var err error
				if text, err = os.ReadFile(file.Filename); err != nil {
					return err
				}
			}
			texts[relative(instance.Root, file.Filename)] = text
		}
		for _, imported := range i.Imports {
			if err := collect(imported); err != nil {
				return err
			}
		}
		return nil
	}
	if err := collect(instance); err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(texts[name]))
		h.Write(texts[name])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// relative gives a path below root with slashes, or the path itself.
func relative(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}
