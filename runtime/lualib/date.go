package lualib

import (
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// dateMax is the largest time that os.date takes, on both sides of 1970: the
// year still fits into 32 bits.
const dateMax = 67_000_000_000_000_000

func osDate(c call) int {
	format := strings.TrimPrefix(c.textOr(1, "%c"), "!")
	moment := now(c.run())
	if !c.absent(2) {
		seconds := c.number(2)
		if !(-dateMax <= seconds && seconds <= dateMax) {
			return c.ret(lua.LNil)
		}
		moment = time.Unix(int64(seconds), 0).UTC()
	}
	if strings.HasPrefix(format, "*t") {
		return c.ret(dateTable(c.LState, moment))
	}
	b := buffer{run: c.run()}
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 || i+1 == len(format) {
			b.text(format)
			return c.retText(b.String())
		}
		b.text(format[:i])
		b.text(datePart(moment, format[i+1]))
		format = format[i+2:]
	}
}

func dateTable(L *lua.LState, moment time.Time) *lua.LTable {
	t := L.CreateTable(0, 9)
	for _, field := range []struct {
		name  string
		value int
	}{
		{"sec", moment.Second()},
		{"min", moment.Minute()},
		{"hour", moment.Hour()},
		{"day", moment.Day()},
		{"month", int(moment.Month())},
		{"year", moment.Year()},
		{"wday", int(moment.Weekday()) + 1},
		{"yday", moment.YearDay()},
	} {
		t.RawSetString(field.name, lua.LNumber(field.value))
	}
	t.RawSetString("isdst", lua.LFalse)
	return t
}

// goLayouts holds the directives that Go's own layouts can express.
var goLayouts = map[byte]string{
	'a': "Mon",
	'A': "Monday",
	'b': "Jan",
	'B': "January",
	'c': "Mon Jan _2 15:04:05 2006",
	'd': "02",
	'D': "01/02/06",
	'e': "_2",
	'F': "2006-01-02",
	'h': "Jan",
	'H': "15",
	'I': "03",
	'm': "01",
	'M': "04",
	'p': "PM",
	'r': "03:04:05 PM",
	'R': "15:04",
	'S': "05",
	'T': "15:04:05",
	'x': "01/02/06",
	'X': "15:04:05",
	'Z': "MST",
	'z': "-0700",
}

// datePart returns what a directive of C's strftime stands for in the C
// locale. An unknown directive is returned as it is.
func datePart(t time.Time, directive byte) string {
	if layout, ok := goLayouts[directive]; ok {
		return t.Format(layout)
	}
	isoYear, isoWeek := t.ISOWeek()
	switch directive {
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'g':
		return fmt.Sprintf("%02d", isoYear%100)
	case 'G':
		return fmt.Sprint(isoYear)
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'n':
		return "\n"
	case 's':
		return fmt.Sprint(t.Unix())
	case 't':
		return "\t"
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1)
	case 'U': // weeks that begin on Sunday
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7)
	case 'V':
		return fmt.Sprintf("%02d", isoWeek)
	case 'w':
		return fmt.Sprint(int(t.Weekday()))
	case 'W': // weeks that begin on Monday
		return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7)
	case 'y':
		return fmt.Sprintf("%02d", t.Year()%100)
	case 'Y':
		return fmt.Sprint(t.Year())
	case '%':
		return "%"
	}
	return "%" + string([]byte{directive})
}
