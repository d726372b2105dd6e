# METADATA
# title: Every question
package plumbline.question

allow.all if true
