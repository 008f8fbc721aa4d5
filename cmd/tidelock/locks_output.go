package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidelock-lua/tidelock/native/lock"
	"github.com/tidelock-lua/tidelock/task/locktable"
	"github.com/tidelock-lua/tidelock/tenant"
)

// printLocks prints a table, or one line of JSON.
func printLocks(cmd *cobra.Command, all []lock.LockInfo) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		list := []locktable.Status{}
		for _, l := range all {
			list = append(list, locktable.StatusOf(l))
		}
		return printJSON(cmd.OutOrStdout(), map[string]any{"locks": list})
	}
	columns := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "NAME\tHOLDER\tRUN\tSCRIPT\tAGE\tFREE IN")
	for _, l := range all {
		row := []string{l.Name, holderName(l.By), l.By.Run, l.By.Script, formatDuration(l.Age), freeIn(l)}
		for i := range row {
			row[i] = cell(row[i])
		}
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	return columns.Flush()
}

// describeLock prints who holds a lock, and how to free it.
func describeLock(w io.Writer, id tenant.ID, l lock.LockInfo) {
	if l.Left <= 0 {
		fmt.Fprintf(w, "lock %q was held by %s until it ran out: whoever asks next gets it\n", l.Name, cell(holderText(l.By)))
		return
	}
	fmt.Fprintf(w, "lock %q is held by %s since %s, for %s more; free it with:\n  tidelock locks free --tenant %s --owner %s -- %s\n",
		l.Name, cell(holderText(l.By)), formatDuration(l.Age), formatDuration(l.Left), id, shellWord(l.Owner), shellWord(l.Name))
}

func holderText(h lock.Holder) string {
	text := holderName(h)
	if h.Run != "" {
		text += " run " + h.Run
	}
	if h.Script != "" {
		text += " (" + h.Script + ")"
	}
	return text
}

func holderName(h lock.Holder) string { return h.HostKind + "/" + h.HostName }

func freeIn(l lock.LockInfo) string {
	if l.Left <= 0 {
		return "run out"
	}
	return formatDuration(l.Left)
}

// formatDuration rounds a duration to tenths of a second.
func formatDuration(d time.Duration) string { return max(d, 0).Round(100 * time.Millisecond).String() }

// printHolder reports that a lock was not free, and who holds it if that is known.
func (l *locks) printHolder(ctx context.Context, w io.Writer, name string) {
	found, err := l.find(ctx, name)
	if err != nil {
		fmt.Fprintf(w, "lock %q was not free\n", name)
		return
	}
	describeLock(w, l.tenant, *found)
}
