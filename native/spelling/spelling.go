// Package spelling finds the known name that a misspelt one was meant to be.
package spelling

// Nearest returns the candidate that name was probably meant to be, or "" if
// none is near: at most a third of its letters, rounded up, would have to
// change, or one is the beginning of the other.
func Nearest(name string, candidates []string) string {
	const beginning = 3 // letters that are enough to tell
	best, distance := "", (len(name)+2)/3+1
	for _, c := range candidates {
		short := min(len(name), len(c))
		if short >= beginning && name[:short] == c[:short] && distance > 1 {
			best, distance = c, 1
		}
		if d := editDistance(name, c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// editDistance counts the bytes to insert, delete or replace to make b of a.
// Names of over 64 bytes are near to nothing.
func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
