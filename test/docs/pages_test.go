package docs

// statements are those of each page that is held. A page is added with all of its
// numbers at once.
var statements = map[string][]statement{
	"docs/http.md": {
		{"404 and 500 are not errors", "native/http TestScripts"},
		{"at most {native/module/httpmodule.headersMax}, {native/module/httpmodule.headerMax|KiB} together", ""},
		{"at most {native/module/httpmodule.queryMax} values", ""},
		{"until its body begins: 1 to {native/http.TimeoutMax|ms} | {native/http.DefaultTimeout|ms} |", ""},
		{"how many redirects are followed, 0 to {native/http.RedirectsMax}; with 0 a redirect is the response | {native/http.RedirectsMax} |", ""},
		{"A URL has at most {native/http.urlMax|KiB}", ""},
		{"with `https` at port 443 and `http` at 80", "native/http TestScripts"},
		{"Status 307 and 308 repeat", "native/http TestScripts"},
		{"Status 301, 302 and 303 continue", "native/http TestScripts"},
		{"connecting longer than {native/http.dialTime|s} |", ""},
		{"the body has more than {native/http.defaultBodyBytes|MiB}, or the header more than {native/http.headerBytes|KiB} |", ""},
		{"the tenant has {native/http.defaultInFlight} requests under way", ""},
		{"switches to another protocol (101)", "native/http TestResponseThatSwitchesProtocolsIsAnError"},
		{"Idle connections are kept for {native/http.idleTime|seconds}, {native/http.idlePerHost} for each host and {native/http.idleInAll} in total", ""},
		{"the 504 of a gateway", "- it is an example"},
		{"HTTP/2, proxies", "- it is a name"},
		{"in chunks or compressed raises `net_failed` if a part of it is missing", "native/http TestResponseThatIsNotWholeIsAnError"},
		{"An error names the status and the content type", "native/http TestErrorsOfJSONDescribeTheResponse"},
	},
	"docs/sql.md": {
		{"may have open at once | {native/sql.defaultMaxOpen} |", ""},
		{"one statement of at most {native/sql.StatementMax|MiB}", ""},
		{"has at most {native/sql.defaultResultBytes|MiB} (`sql_too_large`)", ""},
		{"a string of digits beyond {native/sql.exactMax|2^}", ""},
		{"declared so; 1 and 0 with MySQL", "native/sql TestScripts"},
		{"by a fourth loop on the same connection name (fewer if `max_open` is under {native/sql.defaultMaxOpen})", ""},
		{"Texts about a user, an address, the database or files of the server are replaced by a fixed one", "native/sql TestTextsOfStatementsHaveNoNamesOfTheConnection"},
		{"happens while a connection is opened", "native/sql TestTextsOfConnectingHaveNoValues"},
		{"no error shows whether a guess was right", "native/sql TestTextsDoNotDependOnThePassword"},
		{"Success is judged as strictly as failure", "native/sql TestNoFaultOfAnAnswerIsTakenForSuccess"},
		{"The call of a procedure that commits or rolls back raises `sql_unknown`", "native/sql TestProcedureThatEndsTheTransactionIsNoticed"},
		{"within 50 ms, whatever the server does", "native/sql TestCallEndsWithItsDeadlineAndTheServerStops"},
		{"{native/sql.defaultCancelGrace|msec} later the connection is closed", ""},
		{"within those {native/sql.defaultCancelGrace|msec}", ""},
		{"no connection became free within {native/sql.defaultWaitMax|s}", ""},
	},
	"docs/stream.md": {
		{"the next `n` bytes, 1 to {native/stream.TextMax|2^}", ""},
		{"the next bytes as they come, 1 to {native/stream.bufferBytes};", ""},
		{"(default {native/stream.DefaultTextMax}, at most {native/stream.TextMax|2^})", ""},
		{"bytes of a line: 1 to {native/stream.LineMax}, by default {native/stream.DefaultLineMax}.", ""},
		{"bytes of a record, 1 to {native/stream.LineMax} | {native/stream.DefaultLineMax} |", ""},
		{"the run has {native/stream.openMax} streams and outputs open", ""},
		{"written in pieces of {native/stream.blockBytes|KiB}", ""},
		{"each open stream counts as {native/stream.bufferBytes|KiB}", ""},
	},
	"docs/lock.md": {
		{"`false` means that `fn` didn't run, and that nothing has failed: when the wait was over another caller held the lock,", "native/lock TestRefusalSendsNoDelete"},
		{"or was queued for it before this one;", "native/lock TestQueueIsNotPassedByACallThatDoesNotWait"},
		{"or the lock was acquired so late that nothing of the lease was left.", "native/lock TestAttemptAfterTheLeaseIsDeleted"},
		{"counted from the call of `with` | {native/module/lockmodule.defaultLease|ms} | 1 to `lock.max_lease` ({native/lock.DefaultMaxLease|h})", ""},
		{"| 0: try once | 0 or more, finite |", "native/lock TestAcquireRefusesABadRequestAtOnce"},
		{"valid UTF-8, 1 to {native/lock.NameMax} bytes", ""},
		{"a growing pause of up to {native/lock.pauseMax|s}, or {native/lock.pauseOwnerChanged|s} while the lock changes owners | 1 to {native/lock.DefaultMaxLease|ms} |", ""},
		{"for {native/lock.keptMax|s} or longer", ""},
		{"at most 1 s. ", "native/lock TestCooldownLetsOtherProcessesAcquire"},
		{"one put, one delete | 1 |", "native/lock TestAcquireCostsOnePutAndOneDelete"},
		{"one more delete | 0 |", "native/lock TestProbePrecedesThePutUntilTheTimeIsKnown"},
		{"the second after {native/lock.pauseFirst|msec} at most", ""},
		{"at least each second | 1 each |", "native/lock TestBackoff"},
		{"| while it is held | none | 0 |", "native/lock TestAcquireCostsOnePutAndOneDelete"},
		{"held or waited for | none | 0 |", "native/lock TestAcquireWithoutATableIsForLocalLocks"},
		{"(`lock.guard_ms`: {native/lock.DefaultGuard|s} unless configured, never under {native/lock.MinGuard|s})", ""},
		{"at most 4 s later", "native/lock TestCrashedHoldersLockIsFreeOnceItsRowHasRunOut"},
	},
	"docs/deadline.md": {
		{"a number from 1 to {native/module/deadlinemodule.longest|ms} ({native/module/deadlinemodule.longest|h})", ""},
	},
	"docs/native.md": {
		{"a number from 0 to {native/module/coremodule.sleepMax|ms} ({native/module/coremodule.sleepMax|h})", ""},
		{"seconds since 1970", "native/module/coremodule TestDocsAreTrue"},
	},
	"docs/log.md": {
		{"at most {native/module/logmodule.depthMax} deep", ""},
		{"A record is cut at {cmd/internal/wire.recordBytesMax|KiB}", ""},
		{"A run may log {tenant.LogBytes|MiB} (`log_bytes`), where each record counts {native/module/logmodule.recordBytes} bytes", ""},
	},
}

// errorCodes are the packages whose constants Code... are the codes in the tables
// of a page.
var errorCodes = map[string]struct{ folder, prefix string }{
	"docs/http.md":   {"native/http", "net_"},
	"docs/sql.md":    {"native/sql", "sql_"},
	"docs/stream.md": {"native/stream", "stream_"},
}
