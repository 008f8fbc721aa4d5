package postgres_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/tidelock-lua/tidelock/test/postgres"
)

func TestServerAnswersUntilStopped(t *testing.T) {
	s, err := postgres.Start("secret")
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	s.Stop()
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("the server still answers, want it to have ended")
	}
}
