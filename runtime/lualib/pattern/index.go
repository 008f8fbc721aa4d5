package pattern

import "strings"

// A search in one window takes at most a few hundred microseconds.
const (
	windowBytes  = 64 << 10
	bytesPerStep = 64
)

// Index returns the position of the first text at or after from in s, or -1.
func Index(s, text string, from int, meter Meter) int {
	if len(text) > windowBytes {
		return indexLong(s, text, from, meter)
	}
	for {
		window := s[from:min(len(s), from+windowBytes+len(text))]
		i := strings.Index(window, text)
		if i >= 0 {
			meter.Step(1 + i/bytesPerStep)
			return from + i
		}
		meter.Step(1 + len(window)/bytesPerStep)
		if from+len(window) == len(s) {
			return -1
		}
		from += windowBytes
	}
}

// indexLong is Index for a text too long for windows: it rolls a hash of
// len(text) bytes over s (Rabin and Karp) and counts steps meanwhile.
func indexLong(s, text string, from int, meter Meter) int {
	const prime = 16777619
	if len(s)-from < len(text) {
		return -1
	}
	var want, have, power uint32 = 0, 0, 1
	for i := range len(text) {
		want = want*prime + uint32(text[i])
		have = have*prime + uint32(s[from+i])
		power *= prime
		reportEvery(i, meter)
	}
	for at := from; ; at++ {
		reportEvery(at, meter)
		if have == want {
			meter.Step(len(text) / bytesPerStep)
			if s[at:at+len(text)] == text {
				return at
			}
		}
		if at+len(text) == len(s) {
			return -1
		}
		have = have*prime + uint32(s[at+len(text)]) - power*uint32(s[at])
	}
}

// reportEvery reports the steps of a loop to the meter; i counts them.
func reportEvery(i int, meter Meter) {
	if i%stepsPerReport == stepsPerReport-1 {
		meter.Step(stepsPerReport)
	}
}
