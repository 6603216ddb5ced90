package view

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// CSV prints lists of an object as one table after RFC 4180. Its first column names the list. A column is named by the
// key of its field; in a nested object by both keys, as in "outcomes_failed". A row without the field has an empty cell.
func CSV(object json.RawMessage, lists ...string) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, err
	}
	head, rows := []string{"kind"}, []map[string]string{}
	for _, name := range lists {
		list := []json.RawMessage{all[name]}
		if bytes.HasPrefix(all[name], []byte("[")) {
			if err := json.Unmarshal(all[name], &list); err != nil {
				return nil, err
			}
		}
		for _, thing := range list {
			row := map[string]string{"kind": name}
			err := cells(json.NewDecoder(bytes.NewReader(thing)), "", func(key, value string) {
				if row[key] = value; !slices.Contains(head, key) {
					head = append(head, key)
				}
			})
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.Write(head) // a buffer takes everything
	for _, row := range rows {
		line := make([]string, len(head))
		for i, key := range head {
			line[i] = row[key]
		}
		_ = w.Write(line)
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// cells hands on each plain value of a JSON text, with its keys.
func cells(d *json.Decoder, key string, put func(key, value string)) error {
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		for i := 0; d.More(); i++ {
			below := strconv.Itoa(i)
			if v == '{' {
				name, _ := d.Token() // a key is a string
				below, _ = name.(string)
			}
			if err := cells(d, strings.TrimPrefix(key+"_"+below, "_"), put); err != nil {
				return err
			}
		}
		_, err = d.Token()
	case string:
		if v != "" && strings.ContainsRune("=+-@\t\r", rune(v[0])) {
			v = "'" + v // a spreadsheet would compute a cell that begins like a formula
		}
		put(key, v)
	case json.Number:
		put(key, v.String())
	case bool:
		put(key, strconv.FormatBool(v))
	case nil:
		put(key, "")
	}
	return err
}
