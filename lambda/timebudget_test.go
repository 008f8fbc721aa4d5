package lambda_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/tidelock-lua/tidelock/lambda"
)

func TestTimeBudgetEndsScriptsBeforeTheFunction(t *testing.T) {
	inFakeTime(t, all("spin"), func(t *testing.T, f *function) {
		for _, test := range []struct {
			timeout, took time.Duration
			message       string
		}{
			{3 * time.Second, 2690 * time.Millisecond, "the run took longer than the 2.69s that the function's timeout left it: of 3s at the start of the invocation a margin of 310ms is kept"},
			{10 * time.Second, 9550 * time.Millisecond, "the run took longer than the 9.55s"},
			{400 * time.Millisecond, 200 * time.Millisecond, "the run took longer than the 200ms"}, // at most half is kept
			{time.Minute, 30 * time.Second, "the run took longer than its timeout of 30s"},
			{0, 0, "the run took longer than the 0s"},
		} {
			began := time.Now()
			c := call{timeout: test.timeout}
			if test.timeout == 0 {
				c.timeout = -time.Second
			}
			f.want("", c, "", "Script.Timeout: "+test.message)
			if took := time.Since(began); took < test.took || took > test.took+100*time.Millisecond {
				t.Errorf("a function with %v took %v, want %v", test.timeout, took, test.took)
			}
		}
	})
}

func TestTimeBudgetMarginIsConfigured(t *testing.T) {
	inFakeTime(t, func(c *lambda.Config) { all("left")(c); c.Margin = time.Second }, func(t *testing.T, f *function) {
		if got, _ := f.invoke("", call{timeout: 10 * time.Second}); !strings.HasPrefix(got, "8799") && got != "8800" {
			t.Errorf("the script has %s ms, want 10 s less 1 s and 2 %%", got)
		}
	})
}

func TestTimeBudgetRunThatDoesNotReturnIsAbandoned(t *testing.T) {
	inFakeTime(t, all("stuck"), func(t *testing.T, f *function) {
		defer close(f.stuck)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := f.Invoke(ctx, nil)
		e, ok := err.(messages.InvokeResponse_Error)
		if !ok || e.Type != "Script.Timeout" || !e.ShouldExit {
			t.Errorf("got %#v, want a timeout after which the process ends", err)
		}
		if took, want := time.Since(began), 3*time.Second-62*time.Millisecond; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		if got, _ := f.invoke(gatewayEvent, call{}); !strings.HasPrefix(got, `{"statusCode":504,`) {
			t.Errorf("got %s, want status 504", got)
		}
	})
}

func TestThawedIsCalledAfterAPause(t *testing.T) {
	dropped := 0
	inFakeTime(t, func(c *lambda.Config) { all("nothing")(c); c.Thawed = func() { dropped++ } }, func(t *testing.T, f *function) {
		for _, step := range []struct {
			pause time.Duration
			want  int
		}{{time.Hour, 0}, {0, 0}, {5 * time.Second, 0}, {5001 * time.Millisecond, 1}, {time.Second, 1}, {time.Hour, 2}} {
			time.Sleep(step.pause)
			f.want("", call{}, "null", "")
			if dropped != step.want {
				t.Errorf("after %v: dropped %d times, want %d", step.pause, dropped, step.want)
			}
		}
	})
}

func TestFlushIsCalledBeforeTheResponse(t *testing.T) {
	flushed := ""
	flush := func(ctx context.Context) {
		began := time.Now()
		<-ctx.Done()
		flushed += fmt.Sprint(time.Since(began), " ")
	}
	inFakeTime(t, func(c *lambda.Config) { all("nothing")(c); c.Flush = flush }, func(t *testing.T, f *function) {
		f.want("", call{}, "null", "")
		f.want("", call{timeout: 100 * time.Millisecond}, "null", "") // of which a fifth of its half is kept
		if want := "200ms 90ms "; flushed != want {
			t.Errorf("flushes took %q, want %q", flushed, want)
		}
	})
}
