package json_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tidelock-lua/tidelock/native/json"
)

// texts are what the benchmarks read and write.
var texts = map[string]string{
	"record":     `{"id":"6f1e","name":"Ada \"L\" Lovelace","tags":["a","b",null],"score":12.5,"active":true,"at":{"x":1,"y":-2e3}}`,
	"records":    "[" + strings.Repeat(`{"id":123456,"name":"somebody","ok":true,"values":[1,2.5,3]},`, 1000) + "{}]",
	"long texts": "[" + strings.Repeat(`"`+strings.Repeat("plain text ", 1000)+`",`, 50) + "1]",
	"escapes":    `"` + strings.Repeat(`line\n\u00e9`, 20_000) + `"`,
}

func BenchmarkDecode(b *testing.B) {
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := json.Decode([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			v, err := json.Decode([]byte(text))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := json.Encode(v, "value", math.MaxInt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
