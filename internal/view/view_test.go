package view_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"stint/internal/testkit/must"
	"stint/internal/view"
)

var update = flag.Bool("update", false, "write the golden files")

// filler sets every field of a thing to a value of its own, so that no two of an object are alike.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value, path string) {
	f.n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000+int64(f.n), 0)))
		return
	}
	switch v.Kind() { //nolint:exhaustive // no other kind is shown
	case reflect.String:
		v.SetString(path)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(uint64(f.n)) //nolint:gosec // it counts from 0
	case reflect.Float64:
		v.SetFloat(float64(f.n) / 128)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), path)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, path)
		f.fill(value, path)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.fill(v.Field(i), path+"."+field.Name)
			}
		}
	}
}

func filled[T any]() (thing T) {
	new(filler).fill(reflect.ValueOf(&thing).Elem(), reflect.TypeFor[T]().Name())
	return thing
}

// object compares what programs get of a thing that has everything, and of one that has nothing, with its file.
func object[T, O any](t *testing.T, name string, of func(T) O) {
	t.Helper()
	var none T
	path := filepath.Join("testdata", name+".json")
	if *update {
		text := must.Get(json.MarshalIndent([]any{of(filled[T]()), of(none)}, "", "  "))(t)
		must.Do(t, os.WriteFile(path, append(text, '\n'), 0o600))
	}
	var got, want any
	must.Do(t, json.Unmarshal(must.Get(json.Marshal([]any{of(filled[T]()), of(none)}))(t), &got))
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), &want))
	must.Equal(t, name, got, want)
}

// TestCSV has a list, an object and values of each kind; a spreadsheet computes no cell.
func TestCSV(t *testing.T) {
	t.Parallel()
	got := string(must.Get(view.CSV([]byte(`{"all":{"runs":3,"of":{"good":1.5}},"rows":[{"name":"=1+1","runs":2,"none":null},{"name":"-a","at":[1,true],"tab":"\u0009b","cr":"\u000dc","and":"@d","plus":"+e"}],"other":[{"x":1}]}`), "all", "rows"))(t))
	want := "kind,runs,of_good,name,none,at_0,at_1,tab,cr,and,plus\r\nall,3,1.5,,,,,,,,\r\nrows,2,,'=1+1,,,,,,,\r\nrows,,,'-a,,1,true,'\tb,\"'c\",'@d,'+e\r\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := view.CSV([]byte(`{"all":[`), "all"); err == nil {
		t.Error("a table of half an object: want an error")
	}
}
