package config

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Duration is a time with its unit, such as 1.5s: more than 0, at most ten
// years.
type Duration time.Duration

// durationMax keeps sums of durations and times from overflowing.
const durationMax = 10 * 365 * 24 * time.Hour

// Value returns d as a time.Duration.
func (d Duration) Value() time.Duration { return time.Duration(d) }

// String returns the duration with its units.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	switch {
	case err != nil:
		return errors.New(`want a time with its unit, such as "1.5s"`)
	case v <= 0 || v > durationMax:
		return fmt.Errorf("want more than 0 and at most %v", durationMax)
	}
	*d = Duration(v)
	return nil
}

// Threshold is a time with its unit, or 0 for never.
type Threshold time.Duration

// Value returns t as a time.Duration.
func (t Threshold) Value() time.Duration { return time.Duration(t) }

// String returns the duration with its units.
func (t Threshold) String() string { return time.Duration(t).String() }

// UnmarshalText reads a duration, or 0.
func (t *Threshold) UnmarshalText(text []byte) error {
	if v, err := time.ParseDuration(string(text)); err == nil && v == 0 {
		*t = 0
		return nil
	}
	return (*Duration)(t).UnmarshalText(text)
}

// Size is a number of bytes, with or without a unit, such as 128MiB: at least
// 1.
type Size int64

// String returns the size in MiB if it is a multiple, or else in bytes.
func (s Size) String() string {
	if s%(1<<20) == 0 {
		return strconv.FormatInt(int64(s>>20), 10) + "MiB"
	}
	return strconv.FormatInt(int64(s), 10)
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := humanize.ParseBytes(string(text))
	if err != nil || v < 1 || v > math.MaxInt64/2 {
		return errors.New(`want a size such as "128MiB", at least 1 byte`)
	}
	*s = Size(v)
	return nil
}

// Count is a whole number of at least 1.
type Count int64

// countMax is the largest count.
const countMax = math.MaxInt32

// UnmarshalText reads a count.
func (c *Count) UnmarshalText(text []byte) error {
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || v < 1 || v > countMax {
		return fmt.Errorf("want a whole number from 1 to %d", countMax)
	}
	*c = Count(v)
	return nil
}

// Budget is a whole number, 0 for no limit.
type Budget int64

// UnmarshalText reads a budget.
func (b *Budget) UnmarshalText(text []byte) error {
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || v < 0 {
		return errors.New("want a whole number, 0 for no limit")
	}
	*b = Budget(v)
	return nil
}

// Secret is a reference to a secret: "env:NAME" or "file:PATH". The secret itself
// is never part of a configuration, so that printing one shows no secret.
type Secret string

const secretFile = "file:"

// UnmarshalText reads a reference.
func (s *Secret) UnmarshalText(text []byte) error {
	kind, name, _ := strings.Cut(string(text), ":")
	if name == "" || kind != "env" && kind != "file" {
		// The text may be the secret itself.
		return errors.New(`want "env:NAME" or "file:PATH", never the secret itself`)
	}
	*s = Secret(text)
	return nil
}

// secretBytesMax bounds the file of a secret.
const secretBytesMax = 64 << 10

// Resolve returns the secret, without the last line end of its file. That of an
// empty reference is "". An empty secret is an error: a server may take an empty
// password for none.
func (s Secret) Resolve() (string, error) {
	kind, name, _ := strings.Cut(string(s), ":")
	switch {
	case s == "":
		return "", nil
	case kind == "env":
		value, ok := os.LookupEnv(name)
		if !ok || value == "" {
			return "", fmt.Errorf("the environment has no %s", name)
		}
		return value, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, secretBytesMax+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > secretBytesMax:
		return "", fmt.Errorf("%s has more than %d bytes", name, secretBytesMax)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	return secret, nil
}
