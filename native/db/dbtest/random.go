package dbtest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/outcome"
	"github.com/tidelock-lua/tidelock/native/value"
)

// Compare runs the same random operations on two empty stores, and requires the
// same results. Both use clock, which must be a stopped one.
func Compare(t *testing.T, clock *Clock, a, b db.Store) {
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++ // each in partitions of its own
		twins := [2]*twin{newTwin(t, a, clock, round), newTwin(t, b, clock, round)}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			step := steps[rapid.SampledFrom(stepNames).Draw(r, "step")](r)
			got, want := step(twins[0]), step(twins[1])
			if got != want {
				r.Fatalf("the stores differ:\n%s\n%s", got, want)
			}
		}
	})
}

// twin is one of the two stores, with the revisions seen in it: they differ
// between the stores, so they are named by their order.
type twin struct {
	*Fixture
	revs []string
}

func newTwin(t *testing.T, store db.Store, clock *Clock, round int) *twin {
	f := NewFixture(t, store, clock)
	f.Users = f.Partition("acme", fmt.Sprint("random-", round))
	return &twin{Fixture: f}
}

// rev names a revision by the order in which it was seen.
func (w *twin) rev(rev string) string {
	for i, known := range w.revs {
		if known == rev {
			return fmt.Sprint("#", i)
		}
	}
	if rev == "" {
		return "none"
	}
	w.revs = append(w.revs, rev)
	return fmt.Sprint("#", len(w.revs)-1)
}

func (w *twin) row(row *db.Row) string {
	if row == nil {
		return "nothing"
	}
	return fmt.Sprintf("%#v %s expires %d", row.Value, w.rev(row.Rev), row.Expires)
}

// condition is the n-th condition: none, new, or one of the revisions.
func (w *twin) condition(n int) db.Condition {
	switch {
	case n == 0 || n-2 >= len(w.revs):
		return db.Condition{}
	case n == 1:
		return db.Condition{New: true}
	default:
		return db.Condition{Rev: w.revs[len(w.revs)-1-(n-2)]}
	}
}

func errorText(err error) string {
	var e *outcome.Error
	if errors.As(err, &e) {
		return e.Error() + " applied " + e.Applied
	}
	return fmt.Sprint(err)
}

var (
	randomKey       = rapid.SampledFrom([]string{"a", "a\x00", "a/", "a/1", "a/2", "b", "é", "\U0010FFFE"})
	randomCondition = rapid.SampledFrom([]int{0, 0, 1, 2, 2, 3, 4})
	randomTTL       = rapid.SampledFrom([]time.Duration{0, 0, time.Second, 1500 * time.Millisecond, time.Minute})
	randomNumber    = rapid.OneOf(
		rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 5, -3, 1 << 53, 1e-130, 1e125}),
		rapid.Map(rapid.Int32(), func(n int32) float64 { return float64(n) }))
	randomScalar = rapid.OneOf(
		rapid.Just[any](value.Null{}), rapid.Just[any](true), rapid.Just[any](false),
		rapid.Map(randomNumber, func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) any { return string(b) }))
)

// randomValue draws a value. Each store gets a clone, because it keeps the value.
func randomValue(r *rapid.T) any { return drawValue(r, 3) }

func drawValue(r *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 5).Draw(r, "kind"); {
	case depth == 0 || kind > 1:
		return randomScalar.Draw(r, "scalar")
	case kind == 0:
		list := value.List{}
		for range rapid.IntRange(0, 3).Draw(r, "elements") {
			list = append(list, drawValue(r, depth-1))
		}
		return list
	default:
		m := value.Map{}
		for range rapid.IntRange(0, 3).Draw(r, "fields") {
			m[rapid.StringN(1, 5, -1).Draw(r, "field")] = drawValue(r, depth-1)
		}
		return m
	}
}

func clone(v any) any {
	switch v := v.(type) {
	case value.List:
		list := make(value.List, len(v))
		for i := range v {
			list[i] = clone(v[i])
		}
		return list
	case value.Map:
		m := value.Map{}
		for key := range v {
			m[key] = clone(v[key])
		}
		return m
	default:
		return v
	}
}

// steps draw an operation, and return a function that runs it on one of the stores
// and returns everything that can be seen of the result.
var steps = map[string]func(*rapid.T) func(*twin) string{
	"put": func(r *rapid.T) func(*twin) string {
		key, v := randomKey.Draw(r, "key"), randomValue(r)
		condition, ttl := randomCondition.Draw(r, "condition"), randomTTL.Draw(r, "ttl")
		return func(w *twin) string {
			o := db.PutOptions{If: w.condition(condition), TTL: ttl}
			rev, current, err := w.Users.Put(w.Context(), w.Scope, key, clone(v), o)
			return fmt.Sprintln("put", w.rev(rev), w.row(current), errorText(err))
		}
	},
	"get": func(r *rapid.T) func(*twin) string {
		key := randomKey.Draw(r, "key")
		return func(w *twin) string {
			row, err := w.Users.Get(w.Context(), w.Scope, key, false)
			return fmt.Sprintln("get", w.row(row), errorText(err))
		}
	},
	"delete": func(r *rapid.T) func(*twin) string {
		key, condition := randomKey.Draw(r, "key"), randomCondition.Draw(r, "condition")
		return func(w *twin) string {
			ok, current, err := w.Users.Delete(w.Context(), w.Scope, key, w.condition(condition))
			return fmt.Sprintln("delete", ok, w.row(current), errorText(err))
		}
	},
	"add": func(r *rapid.T) func(*twin) string {
		key, ttl := randomKey.Draw(r, "key"), randomTTL.Draw(r, "ttl")
		delta := float64(rapid.IntRange(-5, 5).Draw(r, "delta"))
		least, most := float64(rapid.IntRange(-9, 0).Draw(r, "min")), float64(rapid.IntRange(0, 9).Draw(r, "max"))
		return func(w *twin) string {
			o := db.AddOptions{TTL: ttl, Min: &least, Max: &most}
			result, err := w.Users.Add(w.Context(), w.Scope, key, delta, o)
			return fmt.Sprintln("add", result.Sum, result.Applied, w.row(result.Current), errorText(err))
		}
	},
	"list": func(r *rapid.T) func(*twin) string {
		bound := rapid.OneOf(rapid.Just(""), randomKey)
		o := db.ListOptions{
			Prefix:  rapid.SampledFrom([]string{"", "", "a", "a/", "zz"}).Draw(r, "prefix"),
			After:   bound.Draw(r, "after"),
			Before:  bound.Draw(r, "before"),
			Reverse: rapid.Bool().Draw(r, "reverse"),
			Limit:   rapid.IntRange(0, 4).Draw(r, "limit"),
			Keys:    rapid.Bool().Draw(r, "keys"),
		}
		return func(w *twin) string {
			page, err := w.Users.List(w.Context(), w.Scope, o)
			text := fmt.Sprintf("list after %q %s:", page.After, errorText(err))
			for _, item := range page.Items {
				text += fmt.Sprintf(" %q %s", item.Key, w.row(&item.Row))
			}
			return text
		}
	},
	"atomic": func(r *rapid.T) func(*twin) string {
		keys := rapid.SliceOfNDistinct(randomKey, 1, 4, rapid.ID).Draw(r, "keys")
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"put", "add", "delete", "check"}), 4, 4).Draw(r, "kinds")
		conditions := rapid.SliceOfN(randomCondition, 4, 4).Draw(r, "conditions")
		return func(w *twin) string { return w.atomic(keys, kinds, conditions) }
	},
	"wait": func(r *rapid.T) func(*twin) string {
		d := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(r, "wait")
		waits := false
		return func(w *twin) string {
			if waits = !waits; waits { // the clock is that of both
				w.Clock.Advance(d)
			}
			return "wait"
		}
	},
}

var stepNames = []string{"put", "put", "get", "delete", "add", "list", "atomic", "wait"}

func (w *twin) atomic(keys, kinds []string, conditions []int) string {
	var entries []db.Entry
	var refused []string
	for i, key := range keys {
		var e db.Entry
		var err error
		switch condition := w.condition(conditions[i]); kinds[i] {
		case "put":
			e, err = w.Users.ToPut(key, float64(i), db.PutOptions{If: condition})
		case "add":
			e, err = w.Users.ToAdd(key, float64(i), db.AddOptions{})
		case "delete":
			e, err = w.Users.ToDelete(key, condition)
		case "check":
			e, err = w.Users.ToCheck(key, condition)
		}
		if err != nil {
			refused = append(refused, errorText(err))
			continue
		}
		entries = append(entries, e)
	}
	revs, failed, err := w.DB.Atomic(w.Context(), w.Scope, "acme", entries)
	text := fmt.Sprint("atomic ", strings.Join(refused, ", "), " ", errorText(err))
	for _, rev := range revs {
		text += " " + w.rev(rev)
	}
	for _, f := range failed {
		text += fmt.Sprintf(" %d %q %s", f.Index, f.Key, w.row(f.Current))
	}
	return text
}
