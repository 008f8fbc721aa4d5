package lambda

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/runtime/runlog"
	"github.com/tidelock-lua/tidelock/tenant"
)

// page returns docs/lambda.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/lambda.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// killedAfter is the time from SIGTERM to the platform's kill.
const killedAfter = 500 * time.Millisecond

var words = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// mib returns a size as the page has it.
func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// Sentences of the page that hold a number, made of the code's own numbers: a
// change of either side fails.
func TestDocumentationHasTheNumbersOfTheCode(t *testing.T) {
	text := strings.Join(strings.Fields(page(t)), " ")
	second := newTimeBudget(0, time.Second, 0)
	percent := 100 * second.margin / time.Second
	fifth := int(second.margin / (second.deadline - second.hostDeadline()))
	half := newTimeBudget(0, time.Second, time.Hour).margin * 2
	if half != time.Second {
		t.Errorf("at most %v of a second is kept, want half", half/2)
	}
	if ended := stopTime + 2*responseTime; ended >= killedAfter {
		t.Errorf("the process ends %v after SIGTERM", ended)
	}
	b := newTimeBudget(0, time.Minute, time.Second)
	if b.exhausted(b.deadline-2*b.margin) || !b.exhausted(b.deadline-2*b.margin+1) {
		t.Error("a message needs more or less than two margins")
	}
	for _, want := range []string{
		fmt.Sprintf("what is kept of the function's timeout, in addition to %d %% of it, to end in order | %v |", percent, defaultMargin),
		fmt.Sprintf("%d ms and %d %% of the function's timeout, at most half of the timeout", defaultMargin.Milliseconds(), percent),
		fmt.Sprintf("`limits.timeout` (%d s by default)", int(tenant.Limits{}.WithDefaults().Timeout.Seconds())),
		fmt.Sprintf("abandoned a %s of the margin before the end", map[int]string{4: "quarter", 5: "fifth", 10: "tenth"}[fifth]),
		"less than two margins are left",
		fmt.Sprintf("Up to %s messages run at once", words[defaultConcurrency]),
		fmt.Sprintf("grants %d ms", killedAfter.Milliseconds()),
		fmt.Sprintf("more than %d s between two invocations", int(defaultThawAfter.Seconds())),
		fmt.Sprintf("| event | %s |", mib(runtime.EventBytesMax)),
		fmt.Sprintf("| answer, as JSON with its headers, and base64 | %s, or `limits.result_bytes` |", mib(ResponseBytesMax)),
		fmt.Sprintf("| answer to a load balancer, in the same way | %s, or", mib(LoadBalancerBytesMax)),
		fmt.Sprintf("| text of an error | %d KiB; its code in an HTTP answer %d bytes |", messageMax>>10, codeMax),
		fmt.Sprintf("| Lua stack of an error | %d frames |", framesMax),
		fmt.Sprintf("| `match` of a route | %d bytes |", MatchMax),
		fmt.Sprintf("cut at %d bytes and stacks at %s frames", runlog.MessageMax, words[runlog.FramesMax]),
		fmt.Sprintf("that takes %d ms at most", flushMax.Milliseconds()),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page doesn't say: %s", want)
		}
	}
}

// The page's table of statuses is that of the code, and complete.
func TestDocumentationHasTheStatusOfEachError(t *testing.T) {
	_, table, _ := strings.Cut(page(t), "| status | type |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[runtime.ErrorType]int{}
	name := regexp.MustCompile("`([A-Z][A-Za-z]+\\.[A-Za-z]+)`")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		statuses := strings.Split(strings.TrimSpace(cells[1]), ", ")
		if strings.HasPrefix(statuses[0], "-") {
			continue
		}
		// Groups of types are separated by semicolons, one for each status; or else
		// there is one type for each status, or one status for all.
		groups := strings.Split(cells[2], ";")
		if len(groups) != len(statuses) && len(statuses) > 1 {
			groups = strings.Split(cells[2], ",")
		}
		if len(groups) != len(statuses) {
			t.Fatalf("%d statuses for %d groups of types: %s", len(statuses), len(groups), line)
		}
		for i, group := range groups {
			status, err := strconv.Atoi(statuses[i])
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(group, -1) {
				documented[runtime.ErrorType(m[1])] = status
			}
		}
	}
	for _, kind := range []runtime.ErrorType{
		runtime.SyntaxError, runtime.RuntimeError, runtime.Raised, runtime.Timeout, runtime.LimitExceeded, runtime.EventInvalid,
		runtime.EventTooLarge, runtime.NotSerializable, runtime.ResultTooLarge, runtime.TenantUnknown, runtime.TenantMismatch,
		runtime.ScriptNotFound, runtime.HostShutdown, runtime.HostInternal,
	} {
		if documented[kind] != kind.HTTPStatus() {
			t.Errorf("%s: the page says %d, the code %d", kind, documented[kind], kind.HTTPStatus())
		}
		delete(documented, kind)
	}
	if len(documented) > 0 {
		t.Errorf("the page has types that don't occur: %v", documented)
	}
}
