package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// parse reads a configuration file, YAML or JSON, and notes the line of each
// key.
func parse(file string, text []byte) (layer, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return layer{}, fmt.Errorf("%s: %s", file, yaml.FormatError(err, false, false))
	}
	lines := map[string]int{}
	values := map[string]any{}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if len(tree.Docs) > 1 {
			return layer{}, fmt.Errorf("%s: want one document, got %d", file, len(tree.Docs))
		}
		note(lines, nil, doc.Body)
		if err := yaml.NodeToValue(doc.Body, &values); err != nil {
			return layer{}, fmt.Errorf("%s: %s", file, yaml.FormatError(err, false, false))
		}
	}
	return layer{values, func(path []string) string {
		return fmt.Sprintf("%s:%d", file, lines[strings.Join(path, separator)])
	}, filepath.Dir(file)}, nil
}

// note notes the line of every key below a node.
func note(lines map[string]int, path []string, node ast.Node) {
	switch node := node.(type) {
	case *ast.MappingNode:
		for _, v := range node.Values {
			note(lines, path, v)
		}
	case *ast.MappingValueNode:
		below := append(path[:len(path):len(path)], node.Key.GetToken().Value)
		lines[strings.Join(below, separator)] = node.Key.GetToken().Position.Line
		note(lines, below, node.Value)
	case *ast.SequenceNode:
		for i, v := range node.Values {
			below := append(path[:len(path):len(path)], fmt.Sprint(i))
			lines[strings.Join(below, separator)] = v.GetToken().Position.Line
			note(lines, below, v)
		}
	}
}
