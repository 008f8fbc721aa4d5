package tenant

import "sync/atomic"

// Budget counts how much of a limit a run has used.
type Budget struct {
	// Name is the limit's name in the configuration.
	Name string
	// Limit is how much may be used.
	Limit int64
	used  atomic.Int64
}

// Spend takes n from the budget. If less than n is left, it takes nothing and
// returns false.
func (b *Budget) Spend(n int64) bool {
	if b.used.Add(n) > b.Limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// Used returns how much has been spent.
func (b *Budget) Used() int64 { return b.used.Load() }
