package json_test

import (
	stdjson "encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock-lua/tidelock/native/json"
	"github.com/tidelock-lua/tidelock/native/value"
)

// standard reads a text by the standard library.
func standard(text string) (v any, ok bool) {
	if !utf8.ValidString(text) || stdjson.Unmarshal([]byte(text), &v) != nil {
		return nil, false
	}
	return ours(v), true
}

// ours is a value of the standard library as one of package native.
func ours(v any) any {
	switch v := v.(type) {
	case nil:
		return value.Null{}
	case []any:
		list := value.List{}
		for _, v := range v {
			list = append(list, ours(v))
		}
		return list
	case map[string]any:
		m := value.Map{}
		for k, v := range v {
			m[k] = ours(v)
		}
		return m
	}
	return v
}

func sameAsStandard(t *testing.T, text string) {
	t.Helper()
	want, ok := standard(text)
	got, err := json.Decode([]byte(text))
	switch {
	case ok != (err == nil):
		t.Errorf("%.200q: got %v, the standard library takes it: %t", text, err, ok)
	case ok && !cmp.Equal(got, want):
		t.Errorf("%.200q: %s", text, cmp.Diff(want, got))
	}
}

func TestDecodeReadsLikeTheStandardLibrary(t *testing.T) {
	for _, text := range []string{
		` [ 1 , { "a" : [ ] , "b" : { } } ] `, `{"a":1,"a":2}`, `[1,]`, `[,1]`, `{"a":1,}`, `{,}`, `{1:2}`, `[1 2]`, `{"a" 1}`, `]`, `[}`, "",
		`0`, `-0`, `-`, `01`, `1.`, `.5`, `+1`, `1.50e+2`, `1e`, `1e+`, `1E-2`, `1e999`, `-1e999`, `1e-999`, `0x10`, `1_0`, `nan`, `Infinity`,
		`true`, `tru`, `trux`, `false`, `null`, `nul`, `truefalse`, "\x00", "1\x00", "\ufeff1", "1\u00a0",
		`"\"\\\/\b\f\n\r\t"`, `"\x"`, `"\`, `"\u`, `"\u12`, `"\u12"`, `"\u00e9\u00E9"`, `"\u12g4"`, "\"\x1f\"", "\"\x7f\"", `"`, `'a'`,
		`"\ud83d\ude00"`, `"\ud83d\u12"`, `"\ud7ff\ue000"`, `"\ufffd"`,
		"\"\xc3\"", "\"\xc3\\u00e9\"", "\"\\n\xa9\"", "\"\xed\xa0\x80\"", "[\xff]",
	} {
		sameAsStandard(t, text)
	}
}

func TestDecodeRefusesHalfOfASurrogatePair(t *testing.T) {
	for _, text := range []string{`\ud83d`, `\ud83dx`, `\ud83d\n`, `\ud83d\u0041`, `\ude00`, `\ude00\ud83d\ude00`, `\ud83d\ud83d\ude00`} {
		for _, before := range []string{"", strings.Repeat("a", 64<<10)} {
			v, err := json.Decode([]byte(`"` + before + text + `"`))
			if err == nil || err.Error() != "half of a surrogate pair" {
				t.Errorf("%s: got %.20v, %v", text, v, err)
			}
		}
	}
}

func TestDecodeReadsALongTextLikeAShortOne(t *testing.T) {
	// Characters, escapes and pairs of them lie across the ends of chunks.
	for _, unit := range []string{"x", "é", "\u2028", "😀", `\n`, `\u00e9`, `\ud83d\ude00`, `é\n`, "\xff", "\x80", "\xc3", "é\xc3"} {
		for offset := range 4 {
			sameAsStandard(t, `["`+strings.Repeat("a", offset)+strings.Repeat(unit, 80_000)+`"]`)
		}
	}
	for _, space := range []string{" ", "\n"} {
		sameAsStandard(t, strings.Repeat(space, 200_000)+"1"+strings.Repeat(space, 200_000))
	}
	sameAsStandard(t, `{"`+strings.Repeat("k", 200_000)+`":1}`)
	sameAsStandard(t, `"`+strings.Repeat("a", 64<<10)+"\x01"+`"`)
	sameAsStandard(t, `"`+strings.Repeat("a", 64<<10))
	sameAsStandard(t, strings.Repeat("1", 300))
}

func TestDecodeRefusesANumberThatIsTooLong(t *testing.T) {
	text := "0." + strings.Repeat("1", 64<<10)
	if v, err := json.Decode([]byte(text)); err == nil {
		t.Errorf("got %v", v)
	}
	if v, err := json.Decode([]byte(text[:64<<10])); err != nil {
		t.Errorf("got %v, %v", v, err)
	}
}

// half finds what may be half of a surrogate pair.
var half = regexp.MustCompile(`(?i)\\ud[89a-f]`)

func FuzzDecodeAsTheStandardLibrary(f *testing.F) {
	for _, text := range []string{`{"a":[1,null,"x"]}`, `"\ud83d\ude00\u12"`, `-0.1e+5`, ` [ ] `} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if half.MatchString(text) {
			return // the standard library reads half of a pair as U+FFFD
		}
		if strings.Count(text, "[")+strings.Count(text, "{") <= json.DepthMax {
			sameAsStandard(t, text)
		}
	})
}
