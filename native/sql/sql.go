package sql

import (
	"context"
	"crypto/x509"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tidelock-lua/tidelock/native/clock"
	"github.com/tidelock-lua/tidelock/native/outcome"
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
	// Port of the server. The default is the driver's.
	Port int
	// User and Database are names at the server.
	User, Database string
	// Password returns the password. It is called for each connection that is
	// opened. nil sends none.
	Password func() (string, error)
	// TLS is [TLSRequire] or [TLSOff]. The default is TLSRequire. Sockets have
	// none.
	TLS string
	// RootCAs may sign the server's certificate. The default is the system's.
	RootCAs *x509.CertPool
	// File is the path of the database, for drivers without a server. It is
	// created if it doesn't exist.
	File string
	// MaxOpen is the most connections that a tenant may have open. The default is
	// 4.
	MaxOpen int
	// ReadOnly refuses statements that write. It prevents mistakes; only the
	// user's privileges at the server protect the data.
	ReadOnly bool
}

// hostPattern matches names. Addresses are parsed.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?$`)

// CheckHost returns an error unless host is a name, an address, or the path of a
// socket. Its text doesn't contain host, which may be a URL with a password. Such a
// host must be neither shown nor looked up in DNS.
func CheckHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil || strings.HasPrefix(host, "/") || hostPattern.MatchString(host) {
		return nil
	}
	return errors.New("want the name or address of a server, or the path of a socket, without scheme, user, password and port")
}

func (c Connection) overSocket() bool { return strings.HasPrefix(c.Host, "/") }

// Options configure the databases of a process. Zero fields stand for their
// defaults.
type Options struct {
	// Clock is the clock of the runs. Required.
	Clock *clock.Dual
	// Connections returns the connections of a tenant by name. It is called until
	// a script has opened the connection, which is kept from then on. Required.
	Connections func(tenant.ID) map[string]Connection
	// Drivers are the drivers that connections may name. Required.
	Drivers map[string]Driver
	// Control is called before each network connection, with the address that the
	// name has led to; an error forbids it. nil allows all.
	Control func(network, address string, c syscall.RawConn) error
	// Failed is called with errors that servers and networks have caused, whose
	// texts scripts don't get as a whole: at most once per second for each
	// connection of a tenant. Their Cause has the text, without the password. nil
	// disables it.
	Failed func(tenant.ID, *outcome.Error)
	// WaitMax is how long a call waits for a connection while all are in use.
	// The default is 5 s.
	WaitMax time.Duration
	// ConnectMax is how long opening a connection may take. The default is 10 s.
	ConnectMax time.Duration
	// IdleMax is how long an unused connection stays open. The default is 60 s.
	IdleMax time.Duration
	// LifeMax is how long a connection is used. The default is 30 min.
	LifeMax time.Duration
	// CancelGrace is how long a call that has ended waits for the server to answer
	// after it was asked to cancel, before the connection is cut. The longer it
	// is, the more often the outcome of a write is known. The default is 30 ms,
	// with which calls return within 50 ms of their end.
	CancelGrace time.Duration
	// ResultBytesMax is the largest result of one query, and the largest row of a
	// loop, in bytes. The default is 16 MiB.
	ResultBytesMax int64
}

// Defaults of [Options] and of [Connection].
const (
	defaultMaxOpen     = 4
	defaultWaitMax     = 5 * time.Second
	defaultConnectMax  = 10 * time.Second
	defaultIdleMax     = time.Minute
	defaultLifeMax     = 30 * time.Minute
	defaultCancelGrace = 30 * time.Millisecond
	defaultResultBytes = 16 << 20
)

// DB is the databases of a process. It is safe for use by many goroutines.
type DB struct {
	options Options
	tasks   sync.WaitGroup // the background tasks
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
	setDefault(&o.WaitMax, defaultWaitMax)
	setDefault(&o.ConnectMax, defaultConnectMax)
	setDefault(&o.IdleMax, defaultIdleMax)
	setDefault(&o.LifeMax, defaultLifeMax)
	setDefault(&o.CancelGrace, defaultCancelGrace)
	setDefault(&o.ResultBytesMax, defaultResultBytes)
	return &DB{options: o, closing: make(chan struct{}), pools: map[poolKey]*pool{}}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Close closes all connections and waits for that, some seconds at most. It is
// called once, when no run is left.
func (db *DB) Close() error {
	close(db.closing)
	db.mu.Lock()
	for _, p := range db.pools {
		p.close()
	}
	db.mu.Unlock()
	db.tasks.Wait()
	return nil
}

// background calls f on a goroutine of its own, with a context that ends after
// controlMax.
func (db *DB) background(f func(context.Context)) {
	db.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), controlMax)
		defer cancel()
		f(ctx)
	})
}

// secondCancelDelay is when the server is asked to cancel for the second time.
const secondCancelDelay = time.Second

// backgroundLater is like background, after secondCancelDelay.
func (db *DB) backgroundLater(f func(context.Context)) {
	db.tasks.Go(func() {
		wait := time.NewTimer(secondCancelDelay)
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
