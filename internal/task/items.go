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
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil { // it is no list
			elements = []json.RawMessage{raw}
		}
		if list = slices.Grow(list, len(elements)); len(list)+len(elements) > maxItems {
			return nil, errTooMany
		}
		for _, element := range elements {
			list = append(list, item{raw: element})
		}
	}
	return list, nil
}

// unwrap is the list that bd puts, with a version, into an object of its own when
// asked to, or else the value itself. There is none when bd leaves it out.
func unwrap(raw json.RawMessage) json.RawMessage {
	var wrapped struct {
		Version json.RawMessage `json:"schema_version"`
		Data    json.RawMessage `json:"data"`
	}
	switch {
	case json.Unmarshal(raw, &wrapped) != nil || wrapped.Version == nil:
		return raw
	case wrapped.Data == nil:
		return json.RawMessage("null")
	}
	return wrapped.Data
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
		err := notJSON(json.Unmarshal(line, &raw))
		list = append(list, item{raw, err})
	}
	return list
}

func notJSON(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: it ends in the middle")
	}
	return fmt.Errorf("not JSON: %w", err)
}

// words are the texts at the end of a path through objects. A list on the way stands for its
// elements, and listed says that there was one. Null is no text. A number, true or false is
// the text that it is written as.
func words(value any, path []string) (list []string, listed bool, err error) {
	switch v := value.(type) {
	case nil:
		return nil, false, nil
	case []any:
		for _, element := range v {
			if _, is := element.([]any); is {
				return nil, true, errors.New("a list within a list")
			}
			more, _, err := words(element, path)
			if err != nil {
				return nil, true, err
			}
			list = append(list, more...)
		}
		return list, true, nil
	case map[string]any:
		if len(path) == 0 {
			return nil, false, errors.New("want text, not an object: name one of its fields, as in labels.name")
		}
		return words(v[path[0]], path[1:])
	}
	text := fmt.Sprint(value)
	if len(path) > 0 {
		return nil, false, fmt.Errorf("want an object with %q, not %s", path[0], plain.Short(text, maxBrief))
	}
	return []string{text}, false, nil
}

// maxBrief is so much of a value as a person wants to read.
const maxBrief = 40
