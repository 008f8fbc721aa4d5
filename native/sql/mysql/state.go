package mysql

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// plain are the verbs of statements that leave nothing behind in the session,
// and don't commit the open transaction.
var plain = []string{
	"select", "insert", "update", "delete", "replace", "with", "values", "show", "explain", "describe", "desc",
	"savepoint", "release", "rollback",
}

// sticky are parts of plain statements that may leave something behind all the
// same: variables, locks, numbers of sequences, comments that are executed.
var sticky = []string{
	"@", "get_lock", "release_lock", "release_all_locks", "/*!", "/*m!", "nextval", "setval", "next value",
}

// committing are parts of SET statements that commit.
var committing = []string{"autocommit", "password", "role"}

var errUndone = &refused{"the server has rolled the transaction back"}

// admit refuses what would commit the open transaction or come after it, and
// notes whether the session is still good as new after the statement.
func (s *session) admit(text string) error {
	lower := strings.ToLower(text)
	verb := sql.Verb(text)
	if s.inside {
		if s.undone {
			return errUndone
		}
		if !keeps(sql.Words(text, 2), lower) {
			return &refused{verb + ": it would commit the transaction"}
		}
	}
	s.dirty = s.dirty || !slices.Contains(plain, verb) || containsAny(lower, sticky)
	return nil
}

// keeps says whether a statement with these first words keeps the transaction
// open. What a procedure does isn't seen.
func keeps(words []string, lower string) bool {
	switch words[0] {
	case "do", "call", "table", "handler":
		return true
	case "create", "drop":
		return words[1] == "temporary"
	case "set":
		return !containsAny(lower, committing)
	}
	return slices.Contains(plain, words[0])
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// undoing are the numbers of errors after which the server may have rolled the
// whole transaction back: each statement after it would be on its own.
var undoing = []uint16{1213, 1205, 1206, 1614, 1020}

// noted looks at the error of a statement, and returns it.
func (s *session) noted(err error) error {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && s.inside && slices.Contains(undoing, e.Number) {
		s.undone = true
	}
	return err
}
