package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tidelock-lua/tidelock/native/db"
)

// statements are prepared once. Those of a transaction that writes run on the
// writer.
type statements struct {
	get, put, remove, sweep *sql.Stmt // on the writer
	read                    *sql.Stmt // on the readers, like list
	list                    map[order]*sql.Stmt
}

// order selects one of the statements that list.
type order struct{ reverse, keysOnly bool }

const (
	getSQL    = "SELECT v, r, x FROM rows WHERE p = ? AND k = ?"
	putSQL    = "INSERT INTO rows (p, k, v, r, x) VALUES (?, ?, ?, ?, ?) ON CONFLICT (p, k) DO UPDATE SET v = excluded.v, r = excluded.r, x = excluded.x"
	removeSQL = "DELETE FROM rows WHERE p = ? AND k = ?"
	sweepSQL  = "DELETE FROM rows WHERE rowid IN (SELECT rowid FROM rows WHERE x <= ? LIMIT ?)"
	listSQL   = "SELECT k, %s, r, x FROM rows WHERE p = ? AND k BETWEEN ? AND ? ORDER BY k %s LIMIT ?"
)

func (s *statements) prepare(ctx context.Context, writer, reader *sql.DB) (err error) {
	prepare := func(on *sql.DB, query string) *sql.Stmt {
		if err != nil {
			return nil
		}
		var stmt *sql.Stmt
		stmt, err = on.PrepareContext(ctx, query)
		return stmt
	}
	s.get, s.put = prepare(writer, getSQL), prepare(writer, putSQL)
	s.remove, s.sweep = prepare(writer, removeSQL), prepare(writer, sweepSQL)
	s.read = prepare(reader, getSQL)
	s.list = map[order]*sql.Stmt{}
	for _, o := range []order{{false, false}, {false, true}, {true, false}, {true, true}} {
		value, direction := "v", "ASC"
		if o.keysOnly {
			value = "NULL"
		}
		if o.reverse {
			direction = "DESC"
		}
		s.list[o] = prepare(reader, fmt.Sprintf(listSQL, value, direction))
	}
	return err
}

// getRow reads the row of key, nil if there is none. bytes is the stored size of
// its value.
func getRow(stmt *sql.Stmt, key db.Key) (row *db.Row, bytes int, err error) {
	var value sql.RawBytes
	rows, err := stmt.Query(key.Partition, key.Key)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, 0, rows.Err()
	}
	row = new(db.Row)
	var expires sql.NullInt64
	if err := rows.Scan(&value, &row.Rev, &expires); err != nil {
		return nil, 0, err
	}
	row.Expires = expires.Int64
	if row.Value, err = decodeColumn(value); err != nil {
		return nil, 0, err
	}
	return row, len(value), errors.Join(rows.Err(), rows.Close())
}

// decodeColumn reads a value. The column is NULL in rows without one.
func decodeColumn(b []byte) (any, error) {
	if b == nil {
		return nil, nil
	}
	return decode(b)
}

// change is a transaction that may write.
type change struct {
	tx    *sql.Tx
	stmts *statements
}

func (c *change) get(key db.Key) (*db.Row, error) {
	row, _, err := getRow(c.tx.Stmt(c.stmts.get), key)
	return row, err
}

// set stores row under key, or removes what is there if row is nil.
func (c *change) set(key db.Key, row *db.Row) error {
	if row == nil {
		_, err := c.tx.Stmt(c.stmts.remove).Exec(key.Partition, key.Key)
		return err
	}
	var value []byte
	if row.Value != nil {
		value = encode(nil, row.Value)
	}
	_, err := c.tx.Stmt(c.stmts.put).Exec(key.Partition, key.Key, value, row.Rev,
		sql.NullInt64{Int64: row.Expires, Valid: row.Expires != 0})
	return err
}
