package wire

import (
	"slices"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/report"
)

// Spending is stint/spending@1.
type Spending struct {
	Schema string       `json:"schema"`
	Fleet  fleet.Name   `json:"fleet"`
	From   string       `json:"from"`
	To     string       `json:"to"`
	By     []report.Key `json:"by"`
	All    ReportUse    `json:"all"`
	Parts  []SpendPart  `json:"parts"`
}

// SpendPart is one part of what was used; null is what the split is not by.
type SpendPart struct {
	Day      *string `json:"day"` // UTC
	Category *string `json:"category"`
	Agent    *string `json:"agent"` // empty: none was chosen
	Host     *string `json:"host"`  // the machine's name
	ReportUse
}

// NewSpending is what was used, as JSON.
func NewSpending(name fleet.Name, s report.Spending) Spending {
	return Spending{
		"stint/spending@1", name, plain.Stamp(s.From), plain.Stamp(s.To), s.By, newReportUse(s.All),
		each(s.Parts, func(p report.Part) SpendPart {
			of := func(k report.Key) *string {
				if !slices.Contains(s.By, k) {
					return nil
				}
				return new(p.Text(k))
			}
			return SpendPart{of(report.ByDay), of(report.ByCategory), of(report.ByAgent), of(report.ByHost), newReportUse(p.Use)}
		}),
	}
}
