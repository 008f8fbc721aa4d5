package schedule

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
	"github.com/tidelock-lua/tidelock/task/runner/runnertest"
)

// newDocument is the cursor's document of a schedule that is due each minute.
func newDocument(t *testing.T, s *site) cursorDocument {
	t.Helper()
	c, _ := s.config(runnertest.Work(0), Schedule{Name: "tick", Tenant: "a", Script: "job", Cron: "* * * * *"})
	scheduler, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return onlyLoop(t, scheduler).document
}

// Versions before and after this one share the document.
func TestCursorKeepsItsPlaceAndForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		if _, ok, err := newDocument(t, s).write(t.Context(), cursor{last: time.UnixMilli(60_000), run: "r1", busy: time.UnixMilli(90_000)}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		got := s.store.Get(t.Context(), db.Key{Partition: "a/!schedules", Key: "tick/30340a283e45083e"}, false)
		if got.Row == nil {
			t.Fatal("there is no document")
		}
		if diff := cmp.Diff(any(value.Map{"last": 60_000.0, "run": "r1", "busy": 90_000.0}), got.Row.Value); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if left := got.Row.Expires - time.Now().Unix(); left < 731*24*3600 || left > 733*24*3600 {
			t.Errorf("expires in %d s, want two years", left)
		}
	})
}

func TestCursorWriteOfALostAnswer(t *testing.T) {
	for _, test := range []struct {
		name string
		run  string // of the document that another process has written since
		want bool
	}{{"IsRecognisedByItsRun", "mine", true}, {"IsRefusedIfAnotherRunHasBegun", "other", false}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				d := newDocument(t, s)
				attempts := 0
				s.fault = func(op string) outcome.Outcome {
					switch attempts++; attempts {
					case 1:
						return outcome.Unknown
					case 2: // another process has dropped a due time, or has begun its own
						changed := cursor{last: time.UnixMilli(120_000), run: test.run}
						w := db.Write{Kind: db.Put, Key: db.Key{Partition: "a/!schedules", Key: d.key}, Value: changed.value(), Rev: "another's"}
						s.store.Write(t.Context(), w, time.Now().Unix())
					}
					return outcome.Applied
				}
				written, ok, err := d.write(t.Context(), cursor{last: time.UnixMilli(60_000), run: "mine"})
				if ok != test.want || err != nil {
					t.Fatalf("got %v, %v, want %v", ok, err, test.want)
				}
				if !written.last.Equal(time.UnixMilli(120_000)) || written.rev != "another's" {
					t.Errorf("got %+v, want the document as it is", written)
				}
			})
		})
	}
}
