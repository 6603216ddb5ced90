package tomlfile

// sections is a key with tables by names that the file's author chooses. In one of them, keys
// hold in place of what the rest of the file says.
type sections struct {
	about
	holds *string
	names Rule[string]
	keys  []Key
	said  []named // the section that holds, with the keys that it has
}

// Sections is a table of tables, each for one reader of the file, by its name. Keys that stand
// elsewhere in the list, before it, are read once more there: what the section of the reader that
// holds names says of them, holds. The others are checked.
func Sections(name string, holds *string, names Rule[string], doc string, keys ...Key) Key {
	return &sections{about: about{name: name, doc: doc}, holds: holds, names: names, keys: keys}
}

func (k *sections) read(t *Table) {
	family := t.Child(k.name)
	for _, section := range family.Children() {
		if _, err := k.names.Parse(section.Name); err != nil {
			family.Report(section.Name, err, "")
		}
		holds, said := section.Name == *k.holds, named{section.Name, section.Key, nil}
		for _, key := range k.keys {
			key.again(section, holds)
			if a := key.head(); holds && section.Has(a.name) {
				a.from = under(section.Key, a.name)
				said.keys = append(said.keys, key)
			}
		}
		if section.Close(); holds {
			k.said = []named{said}
		}
	}
}

// again reads a value that another table may have said before. This value holds, or is
// only checked.
func (k *scalar[T]) again(t *Table, holds bool) {
	if value := Get(t, k.name, *k.field, k.rule); holds {
		*k.field = value
	}
}

func (k *sections) value() any      { return nil }
func (k *sections) standard() any   { return nil }
func (k *sections) blank() []Key    { return k.keys }
func (k *sections) tables() []named { return k.said }

func (k *sections) schema() Schema {
	return Schema{"type": "object", "propertyNames": k.names.schema(), "additionalProperties": object(k.keys, true)}
}
