package lualib

import (
	"crypto/rand"
	random "math/rand/v2"
	"time"

	"github.com/tidelock-lua/tidelock/native/vm"
)

// state is what the library keeps for one run.
type state struct {
	started    time.Duration // by ElapsedMax
	identities identities
	matchers   matchers
	random     *random.Rand // nil until it is used
}

// stateKey is where a run keeps its state.
type stateKey struct{}

func newState(run *vm.Run) *state {
	return &state{started: run.Clock().ElapsedMax(), matchers: matchers{run: run}}
}

func stateOf(run *vm.Run) *state { return run.Value(stateKey{}).(*state) }

// generator returns the run's random generator. Its seed comes from the
// operating system, because copies of a process that was stopped and cloned
// would share any other.
func (s *state) generator() *random.Rand {
	if s.random == nil {
		var seed [32]byte
		_, _ = rand.Read(seed[:]) // never fails
		s.random = random.New(random.NewChaCha8(seed))
	}
	return s.random
}
