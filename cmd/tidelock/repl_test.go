package main

import (
	"testing"
)

func TestInterruptKeyEndsTheEvaluationAndElseTheSession(t *testing.T) {
	k := newInterruptKey(t.Context())
	defer k.stop()
	for range 2 {
		ctx, done := k.Evaluating()
		if ctx.Err() != nil {
			t.Fatal("an evaluation begins interrupted")
		}
		k.press()
		if ctx.Err() == nil || k.session.Err() != nil {
			t.Errorf("the evaluation: %v, the session: %v", ctx.Err(), k.session.Err())
		}
		done()
	}
	if k.press(); k.session.Err() == nil {
		t.Error("the session goes on")
	}
}
