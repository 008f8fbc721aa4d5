package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	engines "github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/tenant"
)

// fairness measures how a busy tenant affects a quiet one: how long a short
// script of the quiet tenant takes, and how late its runs are interrupted.
func fairness(b *bench) error {
	const busy = 32
	engine := newEngine(nil, nil, nil)
	rows := [][]string{measureQuietTenant("alone", engine)}
	ctx, stop := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	for range busy {
		runs.Go(func() {
			engine.Run(ctx, invocation("busy", `local t = {} while true do t = {t[1], 1} end`, time.Hour))
		})
	}
	beside := measureQuietTenant(fmt.Sprintf("beside %d scripts that never end", busy), engine)
	stop()
	runs.Wait()
	beside[4] += " (goal: under 10ms)"
	b.table([]string{"a quiet tenant", "short script p50", "p99", "stop lag p50", "p99", "max"}, append(rows, beside))
	return nil
}

func invocation(id tenant.ID, source string, timeout time.Duration) engines.Invocation {
	return engines.Invocation{Tenant: id, Script: "fairness.lua", Source: source, Log: discard{}, Limits: tenant.Limits{Timeout: timeout}}
}

// measureQuietTenant measures runs of a quiet tenant.
func measureQuietTenant(name string, engine *engines.Engine) (row []string) {
	const rounds, timeout = 200, 5 * time.Millisecond
	brief := invocation("quiet", `local s = 0 for i = 1, 50000 do s = s + i end return s`, time.Hour)
	endless := invocation("quiet", `while true do end`, timeout)
	var took, lag []time.Duration
	clk := clock.NewDual(clock.System())
	run := func(inv engines.Invocation) time.Duration {
		began := clk.ElapsedMax()
		engine.Run(context.Background(), inv)
		return clk.ElapsedMax() - began
	}
	for range rounds {
		took = append(took, run(brief))
		lag = append(lag, run(endless)-timeout)
	}
	slices.Sort(took)
	slices.Sort(lag)
	return []string{name, formatDuration(percentile(took, 50)), formatDuration(percentile(took, 99)),
		formatDuration(percentile(lag, 50)), formatDuration(percentile(lag, 99)), formatDuration(percentile(lag, 100))}
}
