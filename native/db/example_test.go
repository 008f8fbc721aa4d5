package db_test

import (
	"context"
	"fmt"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/db"
	"github.com/tidelock-lua/tidelock/native/db/dbtest"
	"github.com/tidelock-lua/tidelock/native/db/memory"
	"github.com/tidelock-lua/tidelock/native/value"
)

// A write under a revision is refused once another write has changed the row.
func Example() {
	clk := clock.NewDual(clock.System())
	users, err := db.New(memory.New(clk), clk, nil).Open("acme", "users")
	if err != nil {
		panic(err)
	}
	ctx, run := context.Background(), &dbtest.RunScope{Left: 100}
	first, _, _ := users.Put(ctx, run, "42", value.Map{"name": "Ada"}, db.PutOptions{})
	users.Put(ctx, run, "42", value.Map{"name": "Grace"}, db.PutOptions{})

	rev, current, err := users.Put(ctx, run, "42", value.Map{"name": "Alan"}, db.PutOptions{If: db.Condition{Rev: first}})
	fmt.Printf("revision %q, there is %v, error %v\n", rev, current.Value, err)
	// Output: revision "", there is map[name:Grace], error <nil>
}
