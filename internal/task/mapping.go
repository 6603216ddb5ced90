package task

import "go.yaml.in/yaml/v4"

// mapping is a mapping of the front matter, or none at all.
type mapping struct {
	node *yaml.Node // nil when it is empty
}

// all iterates over the mapping's keys and values, as written.
func (m mapping) all() func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if m.node == nil {
			return
		}
		for i := 0; i+1 < len(m.node.Content); i += 2 {
			if !yield(m.node.Content[i], m.node.Content[i+1]) {
				return
			}
		}
	}
}

// field is the value of a field as written, or nil.
func (m mapping) field(name string) *yaml.Node {
	for key, value := range m.all() {
		if k := resolve(key); k.Kind == yaml.ScalarNode && k.Value == name {
			return value
		}
	}
	return nil
}

// indent counts the blanks at the beginning of the mapping's lines.
func (m mapping) indent() int {
	if m.node == nil {
		return 0
	}
	return m.node.Column - 1
}

// resolve is the node an alias stands for. It is never an alias itself.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
