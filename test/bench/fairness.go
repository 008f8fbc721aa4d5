package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/vm"
	tidelock "github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// fairness measures what a quiet tenant notices of a busy one: how long its
// short script takes, and how late a run of it is stopped.
func fairness() {
	const busy = 32
	fmt.Printf("fairness: a quiet tenant beside %d scripts of another that never end, GOMAXPROCS %d (goal: stop lag p99 under 10ms)\n",
		busy, runtime.GOMAXPROCS(0))
	engine := newEngine(nil, nil)
	observe("alone", engine)
	ctx, stop := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	for range busy {
		runs.Go(func() {
			engine.Run(ctx, script("busy", `local t = {} while true do t = {t[1], 1} end`, time.Hour))
		})
	}
	observe("beside the others", engine)
	stop()
	runs.Wait()
}

func script(id tenant.ID, source string, timeout time.Duration) tidelock.Invocation {
	return tidelock.Invocation{Tenant: id, Script: "fairness.lua", Source: source, Log: discard{}, Limits: tenant.Limits{Timeout: timeout}}
}

// observe prints what the runs of a quiet tenant take.
func observe(name string, engine *tidelock.Engine) {
	const rounds, timeout = 200, 5 * time.Millisecond
	short := script("quiet", `local s = 0 for i = 1, 50000 do s = s + i end return s`, time.Hour)
	endless := script("quiet", `while true do end`, timeout)
	var took, lag []time.Duration
	hands := vm.NewHands(vm.SystemClock())
	run := func(inv tidelock.Invocation) time.Duration {
		began := hands.Fast()
		engine.Run(context.Background(), inv)
		return hands.Fast() - began
	}
	for range rounds {
		took = append(took, run(short))
		lag = append(lag, run(endless)-timeout)
	}
	slices.Sort(took)
	slices.Sort(lag)
	fmt.Printf("  %-18s short script p50 %v, p99 %v; stop lag p50 %v, p99 %v, max %v\n", name,
		took[rounds/2], took[rounds*99/100], lag[rounds/2], lag[rounds*99/100], lag[rounds-1])
}
