# METADATA
# title: Everything, for everyone
package plumbline.access

visible.all if true

columns.all[field.name] := field.class if some field in input.entity.fields

all_rows.all if true
