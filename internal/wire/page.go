package wire

// PageError is stint/page-error@1: why a page of the web has no object.
type PageError struct {
	Schema string `json:"schema"`
	Status int    `json:"status"` // of HTTP
	Error  string `json:"error"`
	Hint   string `json:"hint"`
}
