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
	table      []line
	rounds     int
	processors int // of the machine
	again      int // measurements that were made again
	spoilt     int // measurements that count though the machine had stopped
	crowd      []crowding
}

const intro = `# Interrupts

What a lease or a deadline stops, and how late. This page is written by ` + "`make interrupts`" + `; a test fails
when a function that scripts can call, or a way of calling it, is missing here.

Each call is made across a deadline of 20 ms, in each of these ways:

| way | what runs under the deadline |
| --- | --- |
| directly | one call, which begins right before the end, or before it by less than it takes |
| in a loop | the call, for ever |
| gsub, sort | the call from the function given to them, and the called function itself given to them, for ever |
| xpcall | the same as error handler |
| old coroutine | a coroutine that was made and suspended before the deadline began, and makes the call for ever |
| new coroutine | coroutines made under the deadline, one after the other |
| metamethod | the same as ` + "`__index` and `__concat`" + ` |

Every time, ` + "`pcall(native.deadline.with, ...)`" + ` gave exactly ` + "`false, \"deadline exceeded\"`" + `, the function didn't run on, no
native call and no request began after the end, and the script went on afterwards. That is what the test
holds, in fake time, without a look at how long it took.

The table, the servers and the streams behind the native modules are the test's own. They answer at once, in
part, bit by bit or not at all, and stop when they are asked to, unless a row says otherwise.

The figures are milliseconds from the deadline to the first act of the code that has caught its error: the
worst of %d each, on one processor (GOMAXPROCS=1), where a script of another tenant never ends and makes
tables all the time. %d measurements were made again, because the machine had stopped for more than 0.5 ms
in all, as shared machines do, and %d count all the same, because it did so too often: a quiet machine has
none of these. %s on %s, %d processors.

`

// text is the page.
func (p *page) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, p.rounds, p.again, p.spoilt, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH, p.processors)
	p.writeSummary(&b)
	p.writeCrowd(&b)
	b.WriteString("## The table\n\n")
	b.WriteString(header() + "\n| --- | --- |" + strings.Repeat(" ---: |", len(ways)) + "\n")
	for _, l := range p.table {
		b.WriteString(l.prefix())
		for _, w := range ways {
			b.WriteString(" " + millis(slices.Max(l.lags[w.name])) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func header() string {
	columns := "| function | call |"
	for _, w := range ways {
		columns += " " + w.name + " |"
	}
	return columns
}

// prefix is a line of the table without its figures.
func (r row) prefix() string { return "| " + code(r.name) + " | " + r.described() + " |" }

// described is the call as a cell of the table.
func (r row) described() string {
	if r.shown != "" {
		return cell(r.shown)
	}
	return code(r.call)
}

func code(s string) string { return "`" + cell(s) + "`" }

// cell is s without what ends a cell.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }

func (p *page) writeSummary(b *strings.Builder) {
	b.WriteString("## In short\n\n| milliseconds | functions | what needs no function | goal |\n| --- | ---: | ---: | ---: |\n")
	var functions, language []time.Duration
	calls := 0
	for _, l := range p.table {
		all := &functions
		if slices.ContainsFunc(languageRows, func(r row) bool { return r.name == l.name }) {
			all = &language
		} else {
			calls++
		}
		for _, w := range ways {
			*all = append(*all, l.lags[w.name]...)
		}
	}
	fmt.Fprintf(b, "| calls, each in %d ways | %d | %d | |\n", len(ways), calls, len(p.table)-calls)
	for _, q := range []struct {
		name string
		part float64
		goal string
	}{{"half of all are below", 0.5, ""}, {"99 % of all are below", 0.99, "2"}, {"the worst", 1, "50"}} {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", q.name, millis(quantile(functions, q.part)), millis(quantile(language, q.part)), q.goal)
	}
	b.WriteString("\nCalls that may be later than 50 ms:\n\n")
	for _, l := range p.table {
		if l.late != "" {
			fmt.Fprintf(b, "- %s, %s: %s\n", code(l.name), l.described(), l.late)
		}
	}
	b.WriteString(beyond)
}

// beyond is what the project has no means against.
const beyond = `
What else takes more than 2 ms is not the project's own work. Some is one instruction of gopher-lua: ` + "`#t`" + ` looks at
each of a million removed elements, ` + "`==` and `<`" + ` at each byte, and a stack overflow writes its traceback.
Some is gopher-lua's code generator for a long source, from which Go takes the processor after 10 ms. And some
is memory: Go clears an array of a million elements, 16 MB, in one step, which takes the longer the more of
its 4,000 pages the system has to bring first; and a script that has made much garbage helps the collector
(GODEBUG=gctrace=1 shows it as assist time) when it makes more.

`

func (p *page) writeCrowd(b *strings.Builder) {
	fmt.Fprintf(b, `## Many at once

How late %d scripts of as many tenants are stopped that all run at once, each into one deadline of 20 ms
after the other (goal: p99 under 10 ms on two processors); and how long a short script of a quiet tenant
takes, 20,000 turns of a loop: alone, beside %[1]d busy scripts of one tenant, and beside those %[1]d tenants.

| processors | stop lag p50, p99, worst | short script alone p50, p99 | beside one tenant | beside %[1]d tenants |
| ---: | ---: | ---: | ---: | ---: |
`, crowd)
	for _, c := range p.crowd {
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
Whoever waits for a processor waits for one turn of each tenant, not of each script. A turn is 200 µs, or
one instruction or library call that takes longer; after 10 ms without a look at the clock the processor is given to
the next all the same. So on n processors beside t tenants a script gets at least n/(t+n) of what it would
get alone, and its first instruction within t/n turns.

`)
}
