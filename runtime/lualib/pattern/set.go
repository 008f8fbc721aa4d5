package pattern

// set is a set of bytes.
type set [4]uint64

func (s *set) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

func (s *set) addRange(from, to byte) {
	for c := int(from); c <= int(to); c++ {
		s[c>>6] |= 1 << (c & 63)
	}
}

// addClass adds what % and a letter stand for: a class, or the letter itself.
func (s *set) addClass(letter byte) {
	class := classes[letter]
	if class == nil {
		s.addRange(letter, letter)
		return
	}
	for i := range s {
		s[i] |= class[i]
	}
}

func (s *set) negate() {
	for i := range s {
		s[i] = ^s[i]
	}
}

// anyByte is the class of the dot.
var anyByte = set{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// classes holds the class of each letter in the C locale, nil for letters
// that stand for themselves.
var classes = makeClasses()

func makeClasses() [256]*set {
	var table [256]*set
	// Pairs of first and last member.
	for letter, ranges := range map[byte]string{
		'a': "AZaz",
		'c': "\x00\x1f\x7f\x7f",
		'd': "09",
		'l': "az",
		'p': "!/:@[`{~",
		's': "\t\r  ",
		'u': "AZ",
		'w': "09AZaz",
		'x': "09AFaf",
		'z': "\x00\x00",
	} {
		var class, rest set
		for i := 0; i < len(ranges); i += 2 {
			class.addRange(ranges[i], ranges[i+1])
		}
		rest = class
		rest.negate()
		table[letter] = &class
		table[letter-'a'+'A'] = &rest
	}
	return table
}
