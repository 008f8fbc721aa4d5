package task_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing/fstest"

	"github.com/tidelock-lua/tidelock/runtime"
	"github.com/tidelock-lua/tidelock/task"
)

// A host runs a tenant's script, which a client invokes over HTTP.
func ExampleHost_Handler() {
	scripts := fstest.MapFS{"greet.lua": {Data: []byte(`
		return function(event)
			return {greeting = "Hello, " .. event.name .. "!"}
		end
	`)}}
	host, err := task.New(task.Config{
		Engine:  runtime.New(runtime.Config{HostKind: "task"}),
		Tenants: runtime.Directory{"acme": {ID: "acme", Scripts: []fs.FS{scripts}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	invoke := func(script, event string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/tenants/acme/scripts/"+script+"/invocations", strings.NewReader(event))
		r.Host = "localhost" // without tokens, only this machine is answered
		w := httptest.NewRecorder()
		host.Handler().ServeHTTP(w, r)
		var result struct {
			Value json.RawMessage
			Error struct{ Type string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &result); err != nil {
			fmt.Println(err)
		}
		fmt.Println(w.Code, string(result.Value)+result.Error.Type)
	}
	invoke("greet", `{"name": "Ada"}`)
	invoke("farewell", `{"name": "Ada"}`)
	// Output:
	// 200 {"greeting":"Hello, Ada!"}
	// 404 Script.NotFound
}
