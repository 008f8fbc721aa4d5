package json

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string in quotes, the first of which was seen. What it returns
// is no part of the text, which would be kept alive by it.
func (d *decoder[T]) string() (string, error) {
	d.at++
	from, ascii := d.at, true
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; {
		case c == '"':
			s := string(d.text[from:d.at])
			if d.at++; !ascii && !utf8.ValidString(s) {
				return "", errNotUTF8
			}
			return s, nil
		case c == '\\' || d.at-from == chunkBytes:
			d.at = from
			return d.longString()
		case c < ' ':
			return "", d.unexpected("a character of a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", d.unexpected("")
}

// longString reads the rest of a string that is long or has escapes in it.
// Pieces of it are collected, because to grow is to copy, and no copy may take
// long.
func (d *decoder[T]) longString() (string, error) {
	var chunks []string
	var chunk []byte
	for size := 0; d.at < len(d.text); {
		c := d.text[d.at]
		if c == '"' || len(chunk) >= chunkBytes && utf8.RuneStart(c) {
			if !utf8.Valid(chunk) {
				return "", errNotUTF8
			}
			if c == '"' && chunks == nil {
				d.at++
				return string(chunk), nil
			}
			chunks = append(chunks, string(chunk))
			size += len(chunk)
			chunk = chunk[:0]
			d.countStep()
		}
		switch {
		case c == '"':
			d.at++
			return d.joined(chunks, size), nil
		case c == '\\':
			var err error
			if chunk, err = d.escape(chunk); err != nil {
				return "", err
			}
		case c < ' ':
			return "", d.unexpected("a character of a string")
		case len(chunk) > chunkBytes+utf8.UTFMax:
			return "", errNotUTF8 // no character is so long
		default:
			chunk = append(chunk, c)
			d.at++
		}
	}
	return "", d.unexpected("")
}

func (d *decoder[T]) joined(chunks []string, size int) string {
	var whole strings.Builder
	whole.Grow(size)
	for _, chunk := range chunks {
		whole.WriteString(chunk)
		d.step(len(chunk) / bytesPerStep)
	}
	return whole.String()
}

// escapes are the characters that stand behind a backslash, and what they mean.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escape reads a backslash and what is behind it, and appends what it means. Half
// of a surrogate pair is refused: to replace it would lose data silently.
func (d *decoder[T]) escape(to []byte) ([]byte, error) {
	d.at++
	if d.at == len(d.text) {
		return nil, d.unexpected("")
	}
	if c := d.text[d.at]; c != 'u' {
		if escapes[c] == 0 {
			return nil, d.unexpected("an escape")
		}
		d.at++
		return append(to, escapes[c]), nil
	}
	d.at++
	r, ok := d.hexadecimal(d.at)
	if !ok {
		if d.at+4 > len(d.text) {
			d.at = len(d.text)
		}
		return nil, d.unexpected("four hexadecimal digits")
	}
	d.at += 4
	if utf16.IsSurrogate(r) {
		low := rune(unicode.ReplacementChar)
		if d.at+1 < len(d.text) && d.text[d.at] == '\\' && d.text[d.at+1] == 'u' {
			low, _ = d.hexadecimal(d.at + 2)
		}
		if r = utf16.DecodeRune(r, low); r == unicode.ReplacementChar {
			return nil, errHalfPair
		}
		d.at += len(`\uXXXX`)
	}
	return utf8.AppendRune(to, r), nil
}

// hexadecimal reads the four digits at some byte.
func (d *decoder[T]) hexadecimal(at int) (r rune, ok bool) {
	if at+4 > len(d.text) {
		return 0, false
	}
	for i := range 4 {
		c := d.text[at+i]
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
