package vm

import (
	"testing"
	"testing/synctest"

	lua "github.com/yuin/gopher-lua"
)

func TestChargeRefusesAValueOverTheLimit(t *testing.T) {
	const limit = 1 << 20
	m := start(t, Config{Limits: Limits{MemoryBytes: limit}})
	m.Globals().RawSetString("charge", NewFunction(func(L *lua.LState) int { m.Charge(int64(L.CheckNumber(1))); return 0 }))
	m.expect("true", `return (pcall(charge, 2^19))`)
	if _, err := m.do(`charge(2^20 + 1)`); err == nil || m.interrupt == nil || m.interrupt.Cause != Memory {
		t.Errorf("got %v and the interrupt %v, want the end of the run", err, m.interrupt)
	}
}

func TestMemoryIsMeasuredOnlyWhenItMayBeOverTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 10 << 20
		g := newWatched(1) // so the heap is always read
		m := g.run(t, "8e6", Limits{MemoryBytes: limit})
		for _, step := range []struct {
			name                string
			allocated, occupied int64
			measured            bool
		}{
			{"a small heap", 0, limit, false},
			{"a large heap of others", 0, 100 * limit, false},
			{"it may have grown", 2 * limit, 100 * limit, true},
			{"not since", 2 * limit, 100 * limit, false},
			{"it has made garbage, which is gone", 20 * limit, limit, false},
			{"garbage that is still there", 40 * limit, 100 * limit, true},
		} {
			m.memory.walkedAt = -1
			g.now.allocated, g.now.occupied = step.allocated, step.occupied
			if ended := g.ended(m); ended != "" {
				t.Fatalf("%s: ended by %s", step.name, ended)
			}
			if got := m.memory.walkedAt >= 0; got != step.measured {
				t.Errorf("%s: got measured %t, want %t", step.name, got, step.measured)
			}
		}
	})
}

func TestMemoryOverTheLimitEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newWatched(0)
		m := g.run(t, "8e6", Limits{MemoryBytes: 8e6})
		g.now.allocated, g.now.occupied = 1e9, 1e9
		if got := g.ended(m); got != Memory || m.interrupt.Value != 8e6 {
			t.Errorf("got %q of %v, want memory of 8000000", got, m.interrupt)
		}
	})
}

func TestChargeMeasuresWhenChargesSumUp(t *testing.T) {
	const limit = 10 << 20
	charge := func(hold string) *Interrupt {
		m := start(t, Config{Limits: Limits{MemoryBytes: limit}})
		m.expect("nil", `all = ("x"):rep(`+hold+`)`)
		_ = m.protected(func() {
			for range 100 {
				m.Charge(1 << 20)
			}
		})
		return m.interrupt
	}
	synctest.Test(t, func(t *testing.T) {
		if interrupt := charge("1e6"); interrupt != nil {
			t.Errorf("a run that keeps nothing of it: got %v, want it to go on", interrupt)
		}
		if interrupt := charge("11e6"); interrupt == nil || interrupt.Cause != Memory {
			t.Errorf("a run that holds more than its limit: got %v, want it ended", interrupt)
		}
	})
}

func TestMemoryEstimateIsRenewedAfterEnoughWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, Config{})
		before := m.Memory()
		m.expect("nil", `all = ("x"):rep(1e6)`)
		if got := m.Memory(); got != before {
			t.Errorf("got %d right after a measure of %d, want the same", got, before)
		}
		m.expect("nil", `for i = 1, 10000 do end`)
		if got := m.Memory() - before; got < 1e6 || got > 1.1e6 {
			t.Errorf("got %d bytes more, want about a million", got)
		}
	})
}
