// Package config reads the configuration of a program: defaults, then the file
// tidelock.yaml, then the environment, then flags. A later source counts more. An
// unknown key is an error with its place and the key that was probably meant; a
// key that was renamed works under its old name, with a warning.
package config

// Config is the configuration of a program, complete with its defaults. Tags
// hold the keys of its fields.
type Config struct {
	DB     DB             `key:"db"`
	Lock   Lock           `key:"lock"`
	Limits Limits         `key:"limits"`
	HTTP   HTTP           `key:"http"`
	SQL    map[string]SQL `key:"sql"`
	// Tenants by their ids.
	Tenants map[string]Tenant `key:"tenants"`
	Task    Task              `key:"task"`
	Lambda  Lambda            `key:"lambda"`
	Log     Log               `key:"log"`
	Trace   Trace             `key:"trace"`

	values   []Value           // for Values
	warnings []string          // for Warnings
	origins  map[string]string // places by path, with dots
	source   string            // for Source
}

// Source is the file that was read, "" if there was none.
func (c *Config) Source() string { return c.source }

// DB is where native.db keeps its data: in an embedded file or in a table of
// DynamoDB, never both.
type DB struct {
	// File is the file of the embedded engine; a relative one that stands in a
	// configuration file lies beside that. Default "tidelock.db", "" with a
	// table.
	File string `key:"file"`
	// Table is the name of the table.
	Table string `key:"table"`
	// Region is the table's region; default that of AWS's own configuration.
	Region string `key:"region"`
	// Endpoint is the address of the service; default that of the region.
	Endpoint string `key:"endpoint"`
}

// Lock configures native.lock.
type Lock struct {
	// GuardMillis is how long a row outlives its lease, in milliseconds: at
	// least 1000. Default 2000. All processes of a table should agree.
	GuardMillis Count `key:"guard_ms"`
	// MaxLease is the longest lease that a script may ask for. Default 1 h.
	MaxLease Duration `key:"max_lease"`
	// MaxSkewMillis is how far this machine's clock may be off before that is
	// reported, in milliseconds. Default 1000.
	MaxSkewMillis Count `key:"max_skew_ms"`
}

// Limits bound each run. [tenant.Limits] documents them.
type Limits struct {
	Timeout      Duration `key:"timeout"`
	Instructions *Budget  `key:"instructions"` // 0: no limit
	Memory       Size     `key:"memory"`
	Coroutines   Count    `key:"coroutines"`
	MaxDataOps   Count    `key:"max_data_ops"`
	LogBytes     Size     `key:"log_bytes"`
	ResultBytes  Size     `key:"result_bytes"`
}

// HTTP is what native.http may reach.
type HTTP struct {
	// Allow lists hosts: "api.example.com", "*.example.org:8443", or an IP
	// address with its port. The default is none.
	Allow []string `key:"allow"`
}

// SQL is a connection that scripts open by its name.
type SQL struct {
	// Driver is "postgres", "mysql" or "sqlite".
	Driver   string `key:"driver"`
	Host     string `key:"host"`
	Port     Count  `key:"port"`
	User     string `key:"user"`
	Password Secret `key:"password"`
	Database string `key:"database"`
	// TLS is "require" (default: encrypted, certificate checked) or "off".
	TLS string `key:"tls"`
	// File is the database of the driver sqlite.
	File string `key:"file"`
	// MaxOpen bounds the connections that a tenant has open. Default 4.
	MaxOpen Count `key:"max_open"`
	// ReadOnly refuses whatever writes. Default false.
	ReadOnly bool `key:"read_only"`
}

// Tenant is one tenant's part. What it leaves out is taken from the general
// part.
type Tenant struct {
	// Scripts is the folder of its scripts; a relative one lies beside the
	// configuration file.
	Scripts string `key:"scripts"`
	// Shared are further folders from which its scripts may require modules.
	Shared []string `key:"shared"`
	Limits Limits   `key:"limits"`
	// HTTP replaces the general list if it is set.
	HTTP *HTTP `key:"http"`
	// SQL adds connections to the general ones, or replaces those of the same
	// name.
	SQL map[string]SQL `key:"sql"`
	// Tokens let their bearers act for the tenant over HTTP, as
	// "NAME=sha256:<hex>". The name may be left out.
	Tokens []string `key:"tokens"`
	// MaxConcurrency, ScriptMaxConcurrency and Queue take the place of task's
	// tenant_max_concurrency, script_max_concurrency and queue for this tenant.
	MaxConcurrency       Count `key:"max_concurrency"`
	ScriptMaxConcurrency Count `key:"script_max_concurrency"`
	Queue                Count `key:"queue"`
}

// Task configures tidelock task serve.
type Task struct {
	// Listen is the address of the API. Default "127.0.0.1:8080".
	Listen string `key:"listen"`
	// InternalListen is the address of health checks and metrics. Default
	// "127.0.0.1:9090".
	InternalListen string `key:"internal_listen"`
	// OperatorTokens let their bearers act for every tenant, as
	// "NAME=sha256:<hex>". The name may be left out.
	OperatorTokens []string `key:"operator_tokens"`
	// StopTimeout is how long the platform waits between the request to stop
	// and the kill. Default 30 s.
	StopTimeout Duration `key:"stop_timeout"`
	// LameDuck is how long a task goes on to serve after the request to stop, while
	// it already says that it isn't ready. It is part of StopTimeout. Default 0.
	LameDuck Threshold `key:"lame_duck"`
	// ProtectAfter is how long a script has to run before the task protects
	// itself from being stopped by its service of Amazon ECS, until the script has
	// ended. 0 disables it. Default 10 s.
	ProtectAfter Threshold `key:"protect_after"`
	// MaxConcurrency, TenantMaxConcurrency and ScriptMaxConcurrency bound the
	// runs at once in the process, of one tenant, and of one script of a tenant.
	// Defaults 256, 64 and 64.
	MaxConcurrency       Count `key:"max_concurrency"`
	TenantMaxConcurrency Count `key:"tenant_max_concurrency"`
	ScriptMaxConcurrency Count `key:"script_max_concurrency"`
	// Queue is how many invocations of a tenant may wait. Default 1000.
	Queue Count `key:"queue"`
	// Schedules by their names.
	Schedules map[string]Schedule `key:"schedules"`
}

// Schedule runs a script at due times, in one of all processes.
type Schedule struct {
	Tenant string `key:"tenant"`
	Script string `key:"script"`
	// Event is the script's event, as JSON.
	Event string `key:"event"`
	// Cron is five fields, or "@every 90s".
	Cron string `key:"cron"`
	// Zone is the time zone of Cron. Default UTC.
	Zone string `key:"zone"`
	// Overlap is what happens at a due time while the run before is in flight:
	// "skip" (default) or "queue".
	Overlap string `key:"overlap"`
	// Missed is what happens to due times that passed while no process ran:
	// "skip", or "once" (default).
	Missed string `key:"missed"`
}

// Lambda configures the program for AWS Lambda.
type Lambda struct {
	// Margin is the part of an invocation's time that is kept for ending it in
	// order, in addition to 2 % of that time. Default 250 ms.
	Margin Duration `key:"margin"`
	// Routes name tenants and scripts for events by their sources.
	Routes []Route `key:"routes"`
	// BatchResponses are the ARNs of the queues whose mapping has
	// ReportBatchItemFailures switched on.
	BatchResponses []string `key:"batch_responses"`
	// EmbeddedDB allows db.file, which lasts as long as one environment.
	// Default false.
	EmbeddedDB bool `key:"embedded_db"`
}

// Route gives events to a tenant's script.
type Route struct {
	// Match is the ARN of a queue, a rule or a bucket, or the route of an HTTP
	// request such as "POST /orders".
	Match  string `key:"match"`
	Tenant string `key:"tenant"`
	Script string `key:"script"`
}

// Log configures the log.
type Log struct {
	// Level is the lowest level that is written: "debug" (default), "info", "warn" or
	// "error".
	Level string `key:"level"`
	// Format is "json", "console", or "auto" (default: console on a terminal).
	Format string `key:"format"`
}

// Trace configures the spans of OpenTelemetry.
type Trace struct {
	// Endpoint is where spans go by OTLP over HTTP, as a URL. Default: nowhere.
	Endpoint string `key:"endpoint"`
}
