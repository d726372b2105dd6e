package main

// auditCmd is what those who answer for the policies ask. It is run where the
// workspace lies, by someone who may read policies and records.
type auditCmd struct {
	Matrix matrixCmd `cmd:"" help:"Who may see which entity and column, under which rule, with row conditions spelled out. Example: plumbline audit matrix -C shop --as ana"`
	Log    logCmd    `cmd:"" help:"What was asked and decided, oldest first. With --json a line holds the whole record. Example: plumbline audit log -C shop --since 1h --outcome deny"`
	Replay replayCmd `cmd:"" help:"Which recorded questions would change their decision or their rows under other policies. Example: plumbline audit replay -C shop --policy new-rego --since 7d"`
}
