// Package mariadb starts MariaDB servers for tests.
package mariadb

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidelock-lua/tidelock/test/daemon"
)

// User and Database exist in each server.
const (
	User     = "tester"
	Database = "test"
)

// Server is a running server. It listens on 127.0.0.1 and at its socket.
type Server struct {
	Port   int
	Socket string
	// RootCAs verify its certificate, which is for localhost.
	RootCAs *x509.CertPool
	// Process is the server's.
	*daemon.Process

	folder daemon.Folder
}

// Start starts a server whose user [User] has the password.
func Start(password string) (s *Server, err error) {
	server, install, err := programs()
	if err != nil {
		return nil, err
	}
	s = &Server{}
	if s.folder, err = daemon.NewFolder("tidelock-mariadb"); err != nil {
		return nil, err
	}
	defer func(f daemon.Folder) {
		if err != nil {
			f.Remove()
		}
	}(s.folder)
	data := filepath.Join(s.folder.Path, "data")
	if err := s.folder.Run(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return nil, err
	}
	c, err := daemon.NewCertificate()
	if err != nil {
		return nil, err
	}
	s.RootCAs = c.Pool
	files := map[string]string{}
	for name, text := range map[string][]byte{"cert.pem": c.Cert, "key.pem": c.Key, "init.sql": accounts(password)} {
		if files[name], err = s.folder.Write(name, text); err != nil {
			return nil, err
		}
	}
	if s.Port, err = daemon.FreePort(); err != nil {
		return nil, err
	}
	s.Socket = filepath.Join(s.folder.Path, "socket")
	s.Process, err = s.folder.Start(s.ready, server, "--no-defaults", "--datadir="+data,
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.Port), "--socket="+s.Socket, "--init-file="+files["init.sql"],
		"--ssl-cert="+files["cert.pem"], "--ssl-key="+files["key.pem"], "--innodb-flush-log-at-trx-commit=0",
		"--max-allowed-packet=64M", "--skip-name-resolve")
	return s, err
}

// accounts returns the statements that the server executes when it starts.
func accounts(password string) []byte {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password)
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE DATABASE %s CHARACTER SET utf8mb4;\n", Database)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		fmt.Fprintf(&b, "CREATE USER '%s'@'%s' IDENTIFIED BY '%s';\n", User, host, quoted)
		fmt.Fprintf(&b, "GRANT ALL ON *.* TO '%s'@'%s' WITH GRANT OPTION;\n", User, host)
	}
	return []byte(b.String())
}

// Stop stops the server and removes its files.
func (s *Server) Stop() {
	s.Process.Stop()
	s.folder.Remove()
}

// ready returns nil once the server accepts connections, which it does by a
// greeting. The accounts exist by then.
func (s *Server) ready() error {
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// programs returns the paths of the server and of the program that creates its
// data. On Debian the server is not in the PATH of all users.
func programs() (server, install string, err error) {
	if _, err = exec.LookPath("my_print_defaults"); err == nil {
		install, err = exec.LookPath("mariadb-install-db")
	}
	if err == nil {
		if server, err = exec.LookPath("mariadbd"); err != nil {
			server = "/usr/sbin/mariadbd"
			_, err = os.Stat(server)
		}
	}
	if err != nil {
		return "", "", errors.New("there is no MariaDB server (Debian: apt-get install mariadb-server-core mariadb-client)")
	}
	return server, install, nil
}
