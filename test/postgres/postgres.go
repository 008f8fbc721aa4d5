// Package postgres starts PostgreSQL servers for tests.
package postgres

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tidelock-lua/tidelock/test/daemon"
)

// User and Database exist in each server.
const (
	User     = "postgres"
	Database = "postgres"
)

// Server is a running server. It listens on 127.0.0.1 and at a socket, and
// requires the password on both.
type Server struct {
	Port   int
	Socket string // folder of the socket
	// RootCAs verify its certificate, which is for localhost.
	RootCAs *x509.CertPool
	// Process is the server's.
	*daemon.Process

	folder daemon.Folder
}

// Start starts a server whose user [User] has the password.
func Start(password string) (s *Server, err error) {
	bin, err := programFolder()
	if err != nil {
		return nil, err
	}
	s = &Server{}
	if s.folder, err = daemon.NewFolder("tidelock-postgres"); err != nil {
		return nil, err
	}
	defer func(f daemon.Folder) {
		if err != nil {
			f.Remove()
		}
	}(s.folder)
	s.Socket = s.folder.Path
	secret, err := s.folder.Write("password", []byte(password+"\n"))
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.folder.Path, "data")
	if err := s.folder.Run(filepath.Join(bin, "initdb"), "-D", data, "-U", User, "--auth=scram-sha-256", "--pwfile="+secret,
		"--encoding=UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, err
	}
	c, err := daemon.NewCertificate()
	if err != nil {
		return nil, err
	}
	s.RootCAs = c.Pool
	cert, err := s.folder.Write("cert.pem", c.Cert)
	if err != nil {
		return nil, err
	}
	key, err := s.folder.Write("key.pem", c.Key)
	if err != nil {
		return nil, err
	}
	if s.Port, err = daemon.FreePort(); err != nil {
		return nil, err
	}
	s.Process, err = s.folder.Start(s.ready, filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(s.Port), "-k", s.Socket,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "ssl=on", "-c", "ssl_cert_file="+cert, "-c", "ssl_key_file="+key)
	return s, err
}

// Stop stops the server and removes its files.
func (s *Server) Stop() {
	s.Process.Stop()
	s.folder.Remove()
}

// ready returns nil once the server accepts connections, which it does by asking
// for the password.
func (s *Server) ready() error {
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	startup := "\x00\x03\x00\x00user\x00" + User + "\x00\x00"
	if _, err := conn.Write(append([]byte{0, 0, 0, byte(4 + len(startup))}, startup...)); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err = conn.Read(answer); err == nil && answer[0] != 'R' {
		return fmt.Errorf("answer %q", answer)
	}
	return err
}

// programFolder returns the folder of the server's programs, which on Debian is
// not in PATH.
func programFolder() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errors.New("there is no PostgreSQL server (Debian: apt-get install postgresql)")
	}
	return filepath.Dir(found[len(found)-1]), nil
}
