package fleet_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
)

// FuzzParseKey wants of claim keys what FuzzParseText wants of texts, and that none is
// empty or in the prefix of the lanes.
func FuzzParseKey(f *testing.F) {
	addTexts(f)
	db := openStore(f)
	f.Fuzz(func(t *testing.T, s string) {
		key, err := fleet.ParseKey(s)
		want := s != "" && safe(s, 512) && !strings.HasPrefix(s, "category:")
		if got := err == nil; got != want {
			t.Fatalf("%q: got %v, want it taken: %v", s, err, want)
		}
		if err == nil {
			keep(t, db, s, store.TakeRequest{Key: key, Holder: "alice", Note: "note"})
		}
	})
}

// FuzzParseHolder wants of holders what FuzzParseText wants of texts, and that none is
// empty.
func FuzzParseHolder(f *testing.F) {
	addTexts(f)
	db := openStore(f)
	f.Fuzz(func(t *testing.T, s string) {
		holder, err := fleet.ParseHolder(s)
		want := s != "" && safe(s, 512)
		if got := err == nil; got != want {
			t.Fatalf("%q: got %v, want it taken: %v", s, err, want)
		}
		if err == nil {
			keep(t, db, s, store.TakeRequest{Key: "key", Holder: holder, Note: "note"})
		}
	})
}

// FuzzParseText wants that exactly what is short enough, valid UTF-8 and free of control
// characters passes, and that what passes comes back from the store byte for byte.
func FuzzParseText(f *testing.F) {
	addTexts(f)
	db := openStore(f)
	f.Fuzz(func(t *testing.T, s string) {
		note, err := fleet.ParseText("note", s)
		if got, want := err == nil, safe(s, 4096); got != want {
			t.Fatalf("%q: got %v, want it taken: %v", s, err, want)
		}
		if err == nil {
			keep(t, db, s, store.TakeRequest{Key: "key", Holder: "alice", Note: note})
		}
	})
}

// addTexts adds what is too long to be read in a file of the corpus.
func addTexts(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		strings.Repeat("k", 512), strings.Repeat("k", 513), strings.Repeat("é", 256), strings.Repeat("é", 256) + "k",
		strings.Repeat("n", 4096), strings.Repeat("n", 4097), strings.Repeat("🎉", 1024),
	} {
		f.Add(s)
	}
}

// safe checks a text in another way than the parsers do.
func safe(s string, limit int) bool {
	for _, r := range s {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return false
		}
	}
	return len(s) <= limit && utf8.ValidString(s)
}

func openStore(f *testing.F) *sqlite.DB {
	f.Helper()
	now := time.Date(2026, 6, 25, 12, 0, 0, 0, time.UTC)
	db, err := sqlite.Open(f.Context(), sqlite.Options{
		Dir: f.TempDir(), Fleet: "bob", Workspace: "/w", Now: func() time.Time { return now },
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	return db
}

// keep takes a claim, wants the store to have kept every byte of it and of the reason
// for which it is then given back, and gives it back.
func keep(t *testing.T, db *sqlite.DB, reason string, take store.TakeRequest) {
	t.Helper()
	take.TTL = time.Hour
	grant, _, err := db.Take(t.Context(), take)
	if err != nil || grant != fleet.Granted {
		t.Fatalf("take %q for %q: %s, %v; want it granted", take.Key, take.Holder, grant, err)
	}
	hold := store.Hold{Key: take.Key, Holder: take.Holder}
	must.Get(db.Release(t.Context(), hold, fleet.EndingDone, reason))(t)
	c, _, err := db.Check(t.Context(), take.Key)
	must.Do(t, err)
	got := [4]string{string(c.Key), string(c.Holder), c.Note, c.Reason}
	want := [4]string{string(take.Key), string(take.Holder), take.Note, reason}
	must.Equal(t, "kept", got, want)
}
