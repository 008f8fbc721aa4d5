package wire_test

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/cmd/internal/wire"
)

func TestFlagsCountMoreThanTheEnvironment(t *testing.T) {
	for _, test := range []struct {
		name string
		args string
		env  map[string]string
		want wire.DB
		err  string
	}{
		{"nothing", "", nil, wire.DB{File: "tidelock.db"}, ""},
		{"a file", "--db a.db", nil, wire.DB{File: "a.db"}, ""},
		{"a table", "--db-table t --db-region r --db-endpoint e", nil, wire.DB{Table: "t", Region: "r", Endpoint: "e"}, ""},
		{"a file from outside", "", map[string]string{"FILE": "a.db"}, wire.DB{File: "a.db"}, ""},
		{"a table from outside", "", map[string]string{"TABLE": "t", "REGION": "r", "ENDPOINT": "e"}, wire.DB{Table: "t", Region: "r", Endpoint: "e"}, ""},
		{"a file against a table outside", "--db a.db", map[string]string{"TABLE": "t", "REGION": "r"}, wire.DB{File: "a.db"}, ""},
		{"a table against a file outside", "--db-table t", map[string]string{"FILE": "a.db", "REGION": "r"}, wire.DB{Table: "t", Region: "r"}, ""},
		{"another region than outside", "--db-region here", map[string]string{"TABLE": "t", "REGION": "r", "ENDPOINT": "e"}, wire.DB{Table: "t", Region: "here", Endpoint: "e"}, ""},
		{"both", "--db a.db --db-table t", nil, wire.DB{}, "--db and --db-table exclude each other"},
		{"both outside", "", map[string]string{"FILE": "a.db", "TABLE": "t"}, wire.DB{}, "TIDELOCK_DB__FILE and TIDELOCK_DB__TABLE exclude"},
		{"a region without a table", "--db-region r", nil, wire.DB{}, "need --db-table"},
		{"an endpoint beside a file", "--db a.db --db-endpoint e", nil, wire.DB{}, "need --db-table"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d wire.DB
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			d.AddFlags(flags)
			if err := flags.Parse(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			got, err := d.Resolve(func(name string) string { return test.env[strings.TrimPrefix(name, "TIDELOCK_DB__")] })
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %+v, %v; want an error with %q", got, err, test.err)
				}
			case err != nil || got != test.want:
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}
