package config

import (
	"time"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/tenant"
)

// DefaultDBFile is the embedded database if nothing else is configured.
const DefaultDBFile = "tidelock.db"

// placeDefault is the place of values that nothing sets.
const placeDefault = "default"

// defaults is the layer that all others lie upon.
func defaults() map[string]any {
	l := tenant.Limits{}.WithDefaults()
	return map[string]any{
		"db": map[string]any{"file": DefaultDBFile},
		"lock": map[string]any{
			"guard_ms": lock.DefaultGuard.Milliseconds(), "max_lease": lock.DefaultMaxLease.String(),
			"max_skew_ms": lock.DefaultMaxSkew.Milliseconds(),
		},
		"limits": map[string]any{
			"timeout": l.Timeout.String(), "instructions": l.Instructions, "memory": l.MemoryBytes, "coroutines": l.Coroutines,
			"max_data_ops": l.DataOps, "log_bytes": l.LogBytes, "result_bytes": l.ResultBytes,
		},
		"task": map[string]any{
			"listen": "127.0.0.1:8080", "internal_listen": "127.0.0.1:9090", "stop_timeout": (30 * time.Second).String(),
			"lame_duck":       "0s",
			"protect_after":   (10 * time.Second).String(),
			"max_concurrency": 256, "tenant_max_concurrency": 64, "script_max_concurrency": 64, "queue": 1000,
		},
		"lambda": map[string]any{"margin": (250 * time.Millisecond).String()},
		"log":    map[string]any{"level": "debug", "format": "auto"},
	}
}
