package markup_test

import (
	"testing"

	h "stint/internal/markup"
)

func TestElements(t *testing.T) {
	t.Parallel()
	type named string
	for _, tt := range []struct {
		got  h.HTML
		want string
	}{
		{h.El("td"), "<td></td>"},
		{h.El("table.cards.small#runs"), `<table class="cards small" id="runs"></table>` + "\n"},
		{h.El("td.n", 1, " of ", named("<2>")), `<td class="n">1 of &lt;2&gt;</td>`},
		{h.El("a", "text", []any{h.Attr("href", "/x?a=b&c"), h.El("b", "more")}), `<a href="/x?a=b&amp;c">text<b>more</b></a>`},
		{h.El("span", nil, h.If(false, "no"), h.If(true, "yes"), h.HTML{}, h.Attribute{}), "<span>yes</span>"},
		{h.El("span." + `x"><script>`), `<span class="x&#34;&gt;&lt;script&gt;"></span>`},
		{h.El("input", h.Attr("title", "a\x1b\n\"b"), h.Attr("value", "a\x1b\"b")), `<input title="a` + "\ufffd" + ` &#34;b" value="a` + "\x1b" + `&#34;b"/>`},
		{h.El("rect", h.Attr("x", "1"), "no content"), `<rect x="1"/>`},
		{h.El("option", h.Flag("selected", true), h.Flag("hidden", false)), "<option selected></option>"},
		{h.Join("a\u2028b\n", h.Trusted("<i>")), "a\ufffdb <i>"},
		{h.Lines("<a>\nb\u202e"), "&lt;a&gt;\nb\ufffd"},
		{h.Lines("a\r\nb\r"), "a \nb "}, // a reader's browser would make a line of each return
		{h.Each([]string{"a", "&"}, func(s string) h.HTML { return h.El("b", s) }), "<b>a</b><b>&amp;</b>"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestLinksStayHere(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"/": true, "/runs/1?a=b&c": true, "#main": true,
		"": false, "runs/1": false, "//example.org/": false, `/\example.org/`: false, "https://example.org/": false,
		"javascript:alert(1)": false, " javascript:alert(1)": false, "data:text/html,x": false, "/\t/example.org": false, "/\n": false,
	} {
		for _, name := range []string{"href", "src", "action"} {
			if got := h.Attr(name, address) != (h.Attribute{}); got != want {
				t.Errorf("%s=%q: got %t, want %t", name, address, got, want)
			}
		}
	}
}
