package mysql

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/tidelock-lua/tidelock/native/sql"
)

// plainKeywords are the keywords of statements that don't change the state of
// the session, and don't commit the open transaction.
var plainKeywords = []string{
	"select", "insert", "update", "delete", "replace", "with", "values", "show", "explain", "describe", "desc",
	"savepoint", "release", "rollback",
}

// sticky are parts of plain statements that may change the state of the session
// all the same: variables, locks, numbers of sequences, comments that are
// executed.
var sticky = []string{
	"@", "get_lock", "release_lock", "release_all_locks", "/*!", "/*m!", "nextval", "setval", "next value",
}

// committing are parts of SET statements that commit.
var committing = []string{"autocommit", "password", "role"}

var errRolledBack = &refused{"the server has rolled the transaction back"}

// check refuses a statement that would commit the open transaction or come after
// it, and notes whether the statement may change the state of the session.
func (s *session) check(text string) error {
	lower := strings.ToLower(text)
	keyword := sql.Keyword(text)
	if s.inTx {
		if s.rolledBack {
			return errRolledBack
		}
		if !staysOpen(sql.Words(text, 2), lower) {
			return &refused{keyword + ": it would commit the transaction"}
		}
	}
	s.dirty = s.dirty || !slices.Contains(plainKeywords, keyword) || containsAny(lower, sticky)
	return nil
}

// staysOpen reports whether the transaction stays open after a statement with
// these first words. What a procedure does isn't known.
func staysOpen(words []string, lower string) bool {
	switch words[0] {
	case "do", "call", "table", "handler":
		return true
	case "create", "drop":
		return words[1] == "temporary"
	case "set":
		return !containsAny(lower, committing)
	}
	return slices.Contains(plainKeywords, words[0])
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// rollbackErrors are the numbers of errors after which the server may have rolled
// the transaction back: each later statement would be on its own.
var rollbackErrors = []uint16{1213, 1205, 1206, 1614, 1020}

// note returns the error of a statement, and notes whether the server may have
// rolled the transaction back.
func (s *session) note(err error) error {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && s.inTx && slices.Contains(rollbackErrors, e.Number) {
		s.rolledBack = true
	}
	return err
}
