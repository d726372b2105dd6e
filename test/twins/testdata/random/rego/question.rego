package plumbline.question

allow.tester if "tester" in input.subject.roles
