package lualib

import (
	"math"
	random "math/rand/v2"

	lua "github.com/yuin/gopher-lua"
)

var mathFunctions = []function{
	{"abs", unary(math.Abs)},
	{"acos", unary(math.Acos)},
	{"asin", unary(math.Asin)},
	{"atan", unary(math.Atan)},
	{"atan2", binary(math.Atan2)},
	{"ceil", unary(math.Ceil)},
	{"cos", unary(math.Cos)},
	{"cosh", unary(math.Cosh)},
	{"deg", unary(func(x float64) float64 { return x / (math.Pi / 180) })},
	{"exp", unary(math.Exp)},
	{"floor", unary(math.Floor)},
	{"fmod", binary(math.Mod)},
	{"frexp", mathFrexp},
	{"ldexp", mathLdexp},
	{"log", mathLog},
	{"log10", unary(math.Log10)},
	{"max", mathMax},
	{"min", mathMin},
	{"mod", binary(math.Mod)},
	{"modf", mathModf},
	{"pow", binary(math.Pow)},
	{"rad", unary(func(x float64) float64 { return x * (math.Pi / 180) })},
	{"random", mathRandom},
	{"randomseed", mathRandomSeed},
	{"sin", unary(math.Sin)},
	{"sinh", unary(math.Sinh)},
	{"sqrt", unary(math.Sqrt)},
	{"tan", unary(math.Tan)},
	{"tanh", unary(math.Tanh)},
}

var mathConstants = []named{
	{"huge", lua.LNumber(math.Inf(1))},
	{"pi", lua.LNumber(math.Pi)},
}

func unary(f func(float64) float64) func(call) int {
	return func(c call) int { return c.retNumber(f(c.number(1))) }
}

func binary(f func(x, y float64) float64) func(call) int {
	return func(c call) int { return c.retNumber(f(c.number(1), c.number(2))) }
}

// mathLog takes a base, as in Lua 5.2.
func mathLog(c call) int {
	x := c.number(1)
	if c.absent(2) {
		return c.retNumber(math.Log(x))
	}
	switch base := c.number(2); base {
	case 2:
		return c.retNumber(math.Log2(x))
	case 10:
		return c.retNumber(math.Log10(x))
	default:
		return c.retNumber(math.Log(x) / math.Log(base))
	}
}

func mathFrexp(c call) int {
	fraction, exponent := math.Frexp(c.number(1))
	c.Push(lua.LNumber(fraction))
	c.Push(lua.LNumber(exponent))
	return 2
}

func mathLdexp(c call) int {
	// No exponent further out changes the result.
	exponent := max(-10_000, min(c.integer(2), 10_000))
	return c.retNumber(math.Ldexp(c.number(1), exponent))
}

func mathModf(c call) int {
	x := c.number(1)
	whole, fraction := math.Trunc(x), 0.0
	if !math.IsInf(x, 0) {
		fraction = x - whole
	}
	c.Push(lua.LNumber(whole))
	c.Push(lua.LNumber(math.Copysign(fraction, x)))
	return 2
}

func mathMax(c call) int {
	largest := c.number(1)
	for i := 2; i <= c.GetTop(); i++ {
		if x := c.number(i); x > largest {
			largest = x
		}
	}
	return c.retNumber(largest)
}

func mathMin(c call) int {
	smallest := c.number(1)
	for i := 2; i <= c.GetTop(); i++ {
		if x := c.number(i); x < smallest {
			smallest = x
		}
	}
	return c.retNumber(smallest)
}

func mathRandom(c call) int {
	low, high := 1, 1
	switch c.GetTop() {
	case 0:
		return c.retNumber(stateOf(c.run()).generator().Float64())
	case 1:
		if high = c.integer(1); high < low {
			c.argumentError(1, "interval is empty")
		}
	case 2:
		if low, high = c.integer(1), c.integer(2); high < low {
			c.argumentError(2, "interval is empty")
		}
	default:
		c.raise("wrong number of arguments")
	}
	return c.retNumber(float64(low + stateOf(c.run()).generator().IntN(high-low+1)))
}

// mathRandomSeed restarts the run's generator. Equal seeds give equal numbers on
// every processor.
func mathRandomSeed(c call) int {
	seed := math.Float64bits(c.number(1))
	stateOf(c.run()).random = random.New(random.NewPCG(seed, 0))
	return 0
}
