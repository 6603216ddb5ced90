package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"stint/internal/plain"
)

// maxItems is ten times what a large tracker has open. Reading more takes long, and a
// fire waits.
const maxItems = 1_000_000

var errTooMany = fmt.Errorf("more than %d items", maxItems)

// item is one element of a list that a command printed, or why it cannot be read.
type item struct {
	raw json.RawMessage
	err error
}

// items takes apart what a command printed: lists, objects one after another, or a
// list in the "data" of one object, as bd wraps it. One bad line among objects a line
// each is an item that cannot be read; any other fault is one of the whole.
func items(data []byte) ([]item, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte(bom)))
	list, err := stream(data)
	if err == nil {
		return list, nil
	}
	if data[0] == '{' && !errors.Is(err, errTooMany) {
		if list := byLine(data); slices.ContainsFunc(list, func(i item) bool { return i.err == nil }) {
			return list, nil
		}
	}
	return nil, err
}

// stream reads values that follow each other.
func stream(data []byte) ([]item, error) {
	var values []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, notJSON(err)
		}
		if values = append(values, raw); len(values) > maxItems {
			return nil, errTooMany
		}
	}
	if len(values) == 1 {
		values[0] = unwrap(values[0])
	}
	var list []item
	for _, raw := range values {
		elements, err := flatten(raw)
		if err != nil {
			return nil, err
		}
		if list = append(list, elements...); len(list) > maxItems {
			return nil, errTooMany
		}
	}
	return list, nil
}

// flatten makes items of the elements of a list, one of any other value, and none
// of null.
func flatten(raw json.RawMessage) ([]item, error) {
	switch raw[0] {
	case 'n':
		return nil, nil
	case '[':
		elements, err := elementsOf(raw)
		if err != nil {
			return nil, notJSON(err)
		}
		list := make([]item, len(elements))
		for i, element := range elements {
			list[i].raw = element
		}
		return list, nil
	}
	return []item{{raw: raw}}, nil
}

// unwrap is the list that bd puts, with a version, into an object of its own when
// asked to, or else the value itself.
func unwrap(raw json.RawMessage) json.RawMessage {
	if raw[0] != '{' {
		return raw
	}
	o, err := newObject(raw)
	if _, versioned := o.members["schema_version"]; err != nil || !versioned {
		return raw
	}
	if data, ok := o.members["data"]; ok {
		return data
	}
	return json.RawMessage("null") // bd leaves the data out when there is none
}

// byLine reads a value a line, of the first lines there may be.
func byLine(data []byte) []item {
	var list []item
	for line := range bytes.Lines(data) {
		if len(list) == maxItems {
			return list
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		var raw json.RawMessage
		err := json.Unmarshal(line, &raw)
		if err != nil {
			err = notJSON(err)
		}
		list = append(list, item{raw, err})
	}
	return list
}

func notJSON(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: it ends in the middle")
	}
	return fmt.Errorf("not JSON: %w", err)
}

// object is a JSON object of which the values are yet to be read.
type object struct {
	members map[string]json.RawMessage
	twice   map[string]bool // the keys given more than once, of which no reader can know which is meant
}

func newObject(raw json.RawMessage) (object, error) {
	o := object{members: map[string]json.RawMessage{}, twice: map[string]bool{}}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return o, err
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return o, err
		}
		key, ok := token.(string)
		if !ok {
			return o, fmt.Errorf("want a key, not %v", token)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return o, err
		}
		_, given := o.members[key]
		o.twice[key] = given
		o.members[key] = value
	}
	return o, nil
}

// words are the texts at the end of a path through objects; a list on the way stands
// for its elements, and one that directly holds another is refused, which bounds what
// reading nested ones costs. Null is no text. Listed is whether there was a list.
func (o object) words(path []string) (words []string, listed bool, err error) {
	if o.twice[path[0]] {
		return nil, false, fmt.Errorf("the key %q is given twice", path[0])
	}
	value, ok := o.members[path[0]]
	if !ok || value[0] == 'n' {
		return nil, false, nil
	}
	elements := []json.RawMessage{value}
	if listed = value[0] == '['; listed {
		if elements, err = elementsOf(value); err != nil {
			return nil, true, err
		}
	}
	for _, element := range elements {
		more, deeper, err := follow(element, path[1:])
		if err != nil {
			return nil, listed, err
		}
		words, listed = append(words, more...), listed || deeper
	}
	return words, listed, nil
}

// follow is [object.words] from a value on, which is no list.
func follow(value json.RawMessage, path []string) (words []string, listed bool, err error) {
	switch {
	case value[0] == 'n':
		return nil, false, nil
	case value[0] == '[':
		return nil, false, errors.New("a list within a list")
	case value[0] == '{' && len(path) == 0:
		return nil, false, errors.New("want text, not an object: name one of its fields, as in labels.name")
	case value[0] == '{':
		o, err := newObject(value)
		if err != nil {
			return nil, false, err
		}
		return o.words(path)
	case len(path) > 0:
		return nil, false, fmt.Errorf("want an object with %q, not %s", path[0], brief(value))
	case value[0] != '"':
		return []string{string(value)}, false, nil // a number, true or false, as written
	}
	var word string
	if err := json.Unmarshal(value, &word); err != nil {
		return nil, false, err
	}
	return []string{word}, false, nil
}

func elementsOf(list json.RawMessage) (elements []json.RawMessage, err error) {
	err = json.Unmarshal(list, &elements)
	return elements, err
}

// brief is so much of a value as a person wants to read.
func brief(value json.RawMessage) string { return plain.Short(string(value), 40) }
