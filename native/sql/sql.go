package sql

import (
	"context"
	"crypto/x509"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/tenant"
)

// Values of [Connection.TLS].
const (
	// TLSRequire encrypts, and checks the server's certificate.
	TLSRequire = "require"
	// TLSOff doesn't encrypt.
	TLSOff = "off"
)

// Connection is how to reach one database.
type Connection struct {
	// Driver names one of [Options.Drivers].
	Driver string
	// Host is the name of the server, or the path of its socket (a folder with
	// postgres) if it begins with a slash.
	Host string
	// Port of the server. Default: the driver's.
	Port int
	// User and Database are names at the server.
	User, Database string
	// Password returns the password, anew for each connection that is opened.
	// Default: none.
	Password func() (string, error)
	// TLS is [TLSRequire] or [TLSOff]. Default: TLSRequire. Sockets have none.
	TLS string
	// RootCAs are who may have signed the certificate. Default: the system's.
	RootCAs *x509.CertPool
	// File is the path of the database, of drivers without a server. It is made
	// if it isn't there.
	File string
	// MaxOpen is how many connections a tenant may have open. Default 4.
	MaxOpen int
	// ReadOnly refuses whatever writes. It is a guard against mistakes: the
	// user's privileges at the server are what protects.
	ReadOnly bool
}

func (c Connection) overSocket() bool { return strings.HasPrefix(c.Host, "/") }

// Options say what native.sql has to know. Zero fields stand for their
// defaults.
type Options struct {
	// Clock are those of the runs. Required.
	Clock *clock.Dual
	// Connections returns the connections of a tenant by name. Each is looked
	// up until a script has used it, and is kept then. Required.
	Connections func(tenant.ID) map[string]Connection
	// Drivers are those that connections may name. Required.
	Drivers map[string]Driver
	// Control is asked before each network connection, with the address that a
	// name stands for; an error forbids it. Default: none is forbidden.
	Control func(network, address string, c syscall.RawConn) error
	// WaitMax is how long a call waits for a connection while all are in use.
	// Default 5 s.
	WaitMax time.Duration
	// ConnectMax is how long opening a connection may take. Default 10 s.
	ConnectMax time.Duration
	// IdleMax is how long a connection that nobody uses stays open. Default
	// 60 s.
	IdleMax time.Duration
	// LifeMax is how long a connection is used. Default 30 min.
	LifeMax time.Duration
	// CancelGrace is how long a call that has come to its end waits for what the
	// server says to being asked to stop, before the connection is cut. The
	// longer, the more often the outcome of a write is known. Default 30 ms, with
	// which calls return within 50 ms of their end.
	CancelGrace time.Duration
	// ResultBytesMax is the most that one call of query returns, and the
	// largest row of a loop, in bytes. Default 16 MiB.
	ResultBytesMax int64
}

const defaultMaxOpen = 4

// DB is the databases of a process.
type DB struct {
	options Options
	working sync.WaitGroup // what goes on in the background
	closing chan struct{}  // closed by Close

	mu    sync.Mutex // guards pools
	pools map[poolKey]*pool
}

type poolKey struct {
	tenant tenant.ID
	name   string
}

// New makes the databases of a process. Nothing is opened yet.
func New(o Options) *DB {
	setDefault(&o.WaitMax, 5*time.Second)
	setDefault(&o.ConnectMax, 10*time.Second)
	setDefault(&o.IdleMax, time.Minute)
	setDefault(&o.LifeMax, 30*time.Minute)
	setDefault(&o.CancelGrace, 30*time.Millisecond)
	setDefault(&o.ResultBytesMax, 16<<20)
	return &DB{options: o, closing: make(chan struct{}), pools: map[poolKey]*pool{}}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Close closes all connections and waits until they are, at most some seconds.
// No run may be left. It is called once.
func (db *DB) Close() error {
	close(db.closing)
	db.mu.Lock()
	for _, p := range db.pools {
		p.close()
	}
	db.mu.Unlock()
	db.working.Wait()
	return nil
}

// background has f called on a goroutine of its own, with a context that ends
// soon.
func (db *DB) background(f func(context.Context)) {
	db.working.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), controlMax)
		defer cancel()
		f(ctx)
	})
}

// laterBy is how much later the second request to stop is sent.
const laterBy = time.Second

// later is like background, but waits first.
func (db *DB) later(f func(context.Context)) {
	db.working.Go(func() {
		wait := time.NewTimer(laterBy)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-db.closing:
		}
		ctx, cancel := context.WithTimeout(context.Background(), controlMax)
		defer cancel()
		f(ctx)
	})
}
