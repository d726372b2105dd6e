# METADATA
# title: Every text
package plumbline.verify

allow.all if true
