// Command sbom prints the bill of materials of a Go program, as SPDX 2.3 in JSON
// (https://spdx.github.io/spdx-spec/v2.3/): the program and every module in it, as the
// toolchain recorded them.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type component struct {
	ID       string     `json:"SPDXID"`
	Name     string     `json:"name"`
	Version  string     `json:"versionInfo"`
	Location string     `json:"downloadLocation"`
	Analyzed bool       `json:"filesAnalyzed"`
	Sums     []checksum `json:"checksums,omitempty"`
	Refs     []external `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM VERSION")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(program, version string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	// The time of the commit: the same program has the same bill.
	created, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	const root = "SPDXRef-stint"
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "stint " + version,
		Namespace: "urn:stint:sbom:" + digest,
		Creation:  creation{time.Unix(created, 0).UTC().Format(time.RFC3339), []string{"Tool: stint-sbom"}},
		Packages: []component{{
			ID: root, Name: "stint", Version: version, Location: "NOASSERTION",
			Sums: []checksum{{"SHA256", digest}},
		}},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", root}},
	}
	add := func(name, version, locator string) {
		id := "SPDXRef-" + strconv.Itoa(len(d.Packages))
		d.Packages = append(d.Packages, component{
			ID: id, Name: name, Version: version, Location: "NOASSERTION",
			Refs: []external{{"PACKAGE-MANAGER", "purl", locator}},
		})
		d.Relationships = append(d.Relationships, relationship{root, "DEPENDS_ON", id})
	}
	add("stdlib", info.GoVersion, "pkg:golang/stdlib@"+info.GoVersion)
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(m.Path, m.Version, "pkg:golang/"+m.Path+"@"+m.Version)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(d)
}
