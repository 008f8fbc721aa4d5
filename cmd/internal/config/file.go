package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// byteOrderMark is what some editors put before a text.
var byteOrderMark = []byte("\ufeff")

// parse reads a configuration file, YAML or JSON, with the line of each key.
func parse(file string, text []byte) (layer, error) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return layer{}, withLine(file, err)
	}
	n := lineIndex{lines: map[string]int{}, anchors: map[string]ast.Node{}}
	values := map[string]any{}
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		if len(tree.Docs) > 1 {
			return layer{}, fmt.Errorf("%s: want one document, got %d", file, len(tree.Docs))
		}
		n.add(nil, doc.Body)
		if err := yaml.NodeToValue(doc.Body, &values); err != nil {
			return layer{}, withLine(file, err)
		}
	}
	return layer{values, func(path []string) string {
		// The keys of an alias have the lines of its anchor.
		for ; len(path) > 0; path = path[:len(path)-1] {
			if line := n.lines[strings.Join(path, separator)]; line > 0 {
				return fmt.Sprintf("%s:%d", file, line)
			}
		}
		return file
	}, filepath.Dir(file)}, nil
}

// withLine returns a syntax error with its line. The library's own text may quote
// the file, and with it a secret.
func withLine(file string, err error) error {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", file, e.GetToken().Position.Line, e.GetMessage())
	}
	return fmt.Errorf("%s: %s", file, yaml.FormatError(err, false, false))
}

// lineIndex holds the lines of keys by their paths.
type lineIndex struct {
	lines   map[string]int
	anchors map[string]ast.Node
	depth   int // of aliases
}

// aliasesMax bounds the depth of aliases: one may contain itself.
const aliasesMax = 10

// add adds the lines of all keys below a node.
func (n *lineIndex) add(path []string, node ast.Node) {
	switch node := node.(type) {
	case *ast.MappingNode:
		for _, v := range node.Values {
			n.add(path, v)
		}
	case *ast.MappingValueNode:
		if node.Key.IsMergeKey() {
			n.add(path, node.Value)
			return
		}
		below := append(path[:len(path):len(path)], node.Key.GetToken().Value)
		n.lines[strings.Join(below, separator)] = node.Key.GetToken().Position.Line
		n.add(below, node.Value)
	case *ast.SequenceNode:
		for i, v := range node.Values {
			below := append(path[:len(path):len(path)], fmt.Sprint(i))
			n.lines[strings.Join(below, separator)] = v.GetToken().Position.Line
			n.add(below, v)
		}
	case *ast.AnchorNode:
		n.anchors[node.Name.GetToken().Value] = node.Value
		n.add(path, node.Value)
	case *ast.AliasNode:
		if n.depth < aliasesMax {
			n.depth++
			n.add(path, n.anchors[node.Value.GetToken().Value])
			n.depth--
		}
	case *ast.TagNode:
		n.add(path, node.Value)
	}
}
