package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// page is docs/interrupts.md.
type page struct {
	table      []measurement
	rounds     int
	processors int // of the machine
	repeated   int // measurements that were repeated
	disturbed  int // measurements that count although the machine stalled
	load       []loadResult
}

const intro = `# Interrupts

This page shows what the end of a lease or a deadline interrupts, and how late. ` + "`make interrupts`" + ` writes it.
A test fails when a function that scripts can call, or a context in which it can be called, is missing here.

Each call is made across a deadline of 20 ms, in each of these call contexts:

| call context | what runs under the deadline |
| --- | --- |
| directly | one call, which begins right before the deadline, or earlier by less than the call takes |
| in a loop | the call, forever |
| gsub, sort | the call from the function passed to them, and the called function itself passed to them, forever |
| xpcall | the same as error handler |
| old coroutine | a coroutine that was suspended before the deadline began and makes the call forever |
| new coroutine | coroutines created under the deadline, one after the other |
| metamethod | the same as ` + "`__index` and `__concat`" + ` |

Every time, ` + "`pcall(native.deadline.with, ...)`" + ` returned exactly ` + "`false, \"deadline exceeded\"`" + `. The function did not
run on, no native call and no request began after the deadline, and the script went on afterwards. The test
checks the same in fake time, where it does not depend on how fast the machine is.

The table, the servers and the streams behind the native modules are fakes. They answer at once, in part, bit
by bit or not at all, and stop when a call is canceled, unless a row says otherwise.

The figures are milliseconds from the deadline to the first action of the code that caught its error. Each is
the worst of %d, on one processor (GOMAXPROCS=1), beside a script of another tenant that never ends and creates
tables all the time. %d measurements were repeated, because the machine stalled for more than 0.5 ms in total,
as shared machines do. %d count although it stalled, because it did so too often. A quiet machine has none of
these. %s on %s, %d processors.

`

// text returns the page.
func (p *page) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, p.rounds, p.repeated, p.disturbed, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH, p.processors)
	p.writeSummary(&b)
	p.writeLoad(&b)
	b.WriteString("## The table\n\n")
	b.WriteString(header() + "\n| --- | --- |" + strings.Repeat(" ---: |", len(callContexts)) + "\n")
	for _, l := range p.table {
		b.WriteString(l.prefix())
		for _, w := range callContexts {
			b.WriteString(" " + millis(slices.Max(l.lags[w.name])) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func header() string {
	columns := "| function | call |"
	for _, w := range callContexts {
		columns += " " + w.name + " |"
	}
	return columns
}

// prefix returns the beginning of a row of the table, before its figures.
func (r row) prefix() string { return "| " + code(r.name) + " | " + r.callCell() + " |" }

// callCell returns the call as a cell of the table.
func (r row) callCell() string {
	if r.display != "" {
		return cell(r.display)
	}
	return code(r.call)
}

func code(s string) string { return "`" + cell(s) + "`" }

// cell returns s without what would end a cell.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }

func (p *page) writeSummary(b *strings.Builder) {
	b.WriteString("## In short\n\n| milliseconds | functions | operations without a function | goal |\n| --- | ---: | ---: | ---: |\n")
	var functions, language []time.Duration
	calls := 0
	for _, l := range p.table {
		all := &functions
		if slices.ContainsFunc(languageRows, func(r row) bool { return r.name == l.name }) {
			all = &language
		} else {
			calls++
		}
		for _, w := range callContexts {
			*all = append(*all, l.lags[w.name]...)
		}
	}
	fmt.Fprintf(b, "| calls, each in %d call contexts | %d | %d | |\n", len(callContexts), calls, len(p.table)-calls)
	for _, q := range []struct {
		name string
		part float64
		goal string
	}{{"half of all are below", 0.5, ""}, {"99 % of all are below", 0.99, "2"}, {"the worst", 1, "50"}} {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", q.name, millis(quantile(functions, q.part)), millis(quantile(language, q.part)), q.goal)
	}
	b.WriteString("\nCalls that may be later than 50 ms:\n\n")
	for _, l := range p.table {
		if l.lateReason != "" {
			fmt.Fprintf(b, "- %s, %s: %s\n", code(l.name), l.callCell(), l.lateReason)
		}
	}
	b.WriteString(otherCauses)
}

// otherCauses explains the lags that tidelock cannot shorten.
const otherCauses = `
The other lags of more than 2 ms are not caused by tidelock's own code:

- Some are one instruction of gopher-lua: ` + "`#t`" + ` reads each of a million removed elements, ` + "`==` and `<`" + ` read each
  byte, and a stack overflow writes its traceback.
- Some are gopher-lua's code generator for a long source. Go preempts it after 10 ms.
- Some are memory. Go clears an array of a million elements, 16 MB, in one step, which takes longer the more of
  its 4,000 pages the system has to provide first. A script that has produced much garbage assists the collector
  when it allocates more (GODEBUG=gctrace=1 shows the assist time).

`

func (p *page) writeLoad(b *strings.Builder) {
	fmt.Fprintf(b, `## Many at once

This table has two measurements. The first is the stop lag of %d scripts of as many tenants that run at once,
each into one deadline of 20 ms after another (goal: p99 under 10 ms on two processors). The second is how long
a short script of a quiet tenant takes, 20,000 iterations of a loop: alone, beside %[1]d busy scripts of one
tenant, and beside the %[1]d tenants.

| processors | stop lag p50, p99, worst | short script alone p50, p99 | beside one tenant | beside %[1]d tenants |
| ---: | ---: | ---: | ---: | ---: |
`, loadScripts)
	for _, c := range p.load {
		pair := func(times []time.Duration) string {
			if len(times) == 0 {
				return "-"
			}
			return millis(quantile(times, 0.5)) + ", " + millis(quantile(times, 0.99))
		}
		fmt.Fprintf(b, "| %d | %s, %s | %s | %s | %s |\n", c.processors,
			pair(c.lags), millis(quantile(c.lags, 1)), pair(c.alone), pair(c.one), pair(c.many))
	}
	b.WriteString(`
A run that waits for a processor waits for one time slice of each tenant, not of each script. A time slice is
200 µs, or one instruction or library call that takes longer. After 10 ms without a poll the scheduler gives
the slot to the next run anyway. So on n processors beside t tenants a script gets at least n/(t+n) of the
processor time that it would get alone, and its first instruction runs within t/n time slices.

`)
}
