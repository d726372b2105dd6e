package plumbline.access

min_group.grouped := {"size": 5} if "grouped" in input.subject.roles
