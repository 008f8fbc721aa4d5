package tenant

import "time"

// Limits bound one run of a tenant's script. The zero value of each field
// stands for the default that its comment names.
type Limits struct {
	// Timeout is the longest wall time of a run. Default 30 s.
	Timeout time.Duration
	// Instructions is how many instructions of Lua a run may execute, library
	// steps included. Default 0, which means no limit.
	Instructions int64
	// MemoryBytes is how many bytes a run may hold at once. Default 128 MiB.
	MemoryBytes int64
	// Coroutines is how many coroutines may be alive at once. Default 1000.
	Coroutines int
	// DataOps is how many requests to native.db's table a run may make, attempts
	// to acquire db locks included. Default 100,000.
	DataOps int64
	// LogBytes is how many bytes a run may log. Default 1 MiB.
	LogBytes int64
	// ResultBytes is the largest size of a result in bytes of JSON. Default
	// 6 MiB, the most that AWS Lambda returns.
	ResultBytes int64
}

// WithDefaults returns l with every zero field set to its default.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.Timeout, 30*time.Second)
	setDefault(&l.MemoryBytes, 128<<20)
	setDefault(&l.Coroutines, 1000)
	setDefault(&l.DataOps, 100_000)
	setDefault(&l.LogBytes, 1<<20)
	setDefault(&l.ResultBytes, 6<<20)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
