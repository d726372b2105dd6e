# METADATA
# title: Bounds lower than the workspace's
# schemas:
#   - input: schema.question.input
package plumbline.limits

import data.plumbline.lib

# Support looks things up and does not export.
lower["support"] := {"rows": 500} if lib.role("support")
