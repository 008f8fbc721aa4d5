package compile

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/tidelock-lua/tidelock/native/numeral"
)

// scan reads the tokens of source from a reader, before the parser does. It
// refuses what would make the parser's stack grow without bound: too many open
// brackets and blocks, too many operators before their operand is complete. It
// uses the parser's own scanner, so the two can't disagree about what a token is.
func scan(file, source string, from io.Reader, limits Limits) *SyntaxError {
	s := tokenScan{file: file, limits: limits, operators: []int{0}}
	scanner := parse.NewScanner(from, file)
	lexer := &parse.Lexer{} // the scanner keeps state for the parser in it
	for {
		tok, err := scanner.Scan(lexer)
		if err != nil {
			return parseError(file, source, err)
		}
		if tok.Type == parse.EOF {
			return nil
		}
		if err := s.token(tok); err != nil {
			return err
		}
	}
}

// tokenScan counts operators per nesting level: those of an expression that is
// still open stay on the parser's stack.
type tokenScan struct {
	file      string
	limits    Limits
	operators []int // of the current expression, for each open level
	open      int   // sum of operators
}

func (s *tokenScan) token(tok ast.Token) *SyntaxError {
	switch tok.Type {
	case '(', '[', '{', parse.TFunction: // what is before them waits for what is in them
		return s.enter(tok)
	case parse.TDo, parse.TThen, parse.TRepeat:
		s.reset()
		return s.enter(tok)
	case ')', ']', '}', parse.TEnd, parse.TUntil, parse.TElseIf:
		s.reset()
		if len(s.operators) > 1 { // a closing token too many is the parser's to report
			s.operators = s.operators[:len(s.operators)-1]
		}
	case '+', '-', '*', '/', '%', '^', '#', '<', '>', parse.TEqeq, parse.TNeq, parse.TLte, parse.TGte,
		parse.T2Comma, parse.TAnd, parse.TOr, parse.TNot:
		s.operators[len(s.operators)-1]++
		if s.open++; s.open > s.limits.Operators {
			return s.refuse(tok, fmt.Sprintf("expression has too many operators (limit is %d)", s.limits.Operators))
		}
	case ',', ';', '=', parse.TElse, parse.TFor, parse.TIf, parse.TIn, parse.TLocal, parse.TReturn, parse.TWhile,
		parse.TBreak, parse.TGoto:
		s.reset()
	case parse.TNumber:
		if _, ok := number(tok.Str); !ok {
			return s.refuse(tok, "malformed number")
		}
	}
	return nil
}

func (s *tokenScan) enter(tok ast.Token) *SyntaxError {
	if len(s.operators) > s.limits.Nesting {
		return s.refuse(tok, fmt.Sprintf("chunk has too many syntax levels (limit is %d)", s.limits.Nesting))
	}
	s.operators = append(s.operators, 0)
	return nil
}

// reset forgets the operators of the current level: its expression is complete.
func (s *tokenScan) reset() {
	level := len(s.operators) - 1
	s.open -= s.operators[level]
	s.operators[level] = 0
}

func (s *tokenScan) refuse(tok ast.Token, message string) *SyntaxError {
	near := fmt.Sprintf("%s near '%s'", message, printable(tok.Str))
	return &SyntaxError{File: s.file, Line: tok.Pos.Line, Column: tok.Pos.Column, Message: near}
}

// number returns a numeral in the form in which gopher-lua reads its value
// right: it takes 007 for octal and 1e999 for NaN, and misreads hexadecimal
// numbers above 2^63.
func number(token string) (string, bool) {
	if len(token) > numeral.Max {
		return "", false
	}
	value, err := strconv.ParseFloat(token, 64) // with signs, inf and nan: of folded constants
	if err != nil && !math.IsInf(value, 0) {
		var ok bool
		if value, ok = numeral.Parse(token); !ok {
			return "", false
		}
	}
	return numeralOf(value), true
}

// numeralOf returns the numeral of a number.
func numeralOf(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
