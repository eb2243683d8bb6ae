package page_test

import (
	"errors"
	"strings"
	"testing"

	"gemm/compare/report/page"
)

// TestLinksOfMarkdown writes links of a page that is part of the repository, and of one that is not.
func TestLinksOfMarkdown(t *testing.T) {
	const text = "# T\n\n## Here {#here}\n\n[a](#here) [b](#gone) [`c`](appendix#rows) [d](serial/ikj.go#x) `[e](f)` " +
		"[g\\]](https://h)\n\n[docs/i.md](docs/i.md)\n\n![](docs/x.svg)\n\n![F.](figures/f.svg)\n"
	for folder, want := range map[string]string{
		"": "[a](#here) b [`c`](report-appendix.md#rows) d (`serial/ikj.go#x`) `[e](f)` " +
			"[g\\]](https://h)\n\n`docs/i.md`\n\n![](docs/x.svg)",
		"docs/a": "[a](#here) b `c` [d](../../serial/ikj.go#x) `[e](f)` " +
			"[g\\]](https://h)\n\n[docs/i.md](../i.md)\n\n![](../x.svg)",
	} {
		p := page.Parse(text, "en", page.Words{Figure: "Figure", Stop: ". "})
		p.Folder = folder
		var b strings.Builder
		err := p.Markdown(&b)
		want += "\n\n![Figure 1](figures/f.svg)\n\n**Figure 1.** F."
		if err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("folder %q: no %q in\n%s (%v)", folder, want, b.String(), err)
		}
	}
}

// TestSection takes a section of one template into another.
func TestSection(t *testing.T) {
	set := page.New(nil)
	for name, source := range map[string]string{
		"chapter": "## Loops {#loops}\n\nno\n\n### Times {#times}\n\n{{.}}\n\n```text\n## x {#y}\n```\n\n#### More " +
			"{#more}\n\n### End {#end}\n\nno",
		"own": "# Mine\n\n## A\n\n{{section \"chapter\" \"times\" .}}\n\n{{with section \"chapter\" \"gone\" .}}## " +
			"B{{end}}",
		"endless": "{{section \"endless\" \"x\" .}}",
	} {
		if err := set.Add(name, source); err != nil {
			t.Fatal(err)
		}
	}
	got, err := set.Fill("own", "a*b")
	const want = "# Mine\n\n## A\n\na\\*b\n\n```text\n## x {#y}\n```\n\n### More {#more}\n\n"
	if got != want || err != nil {
		t.Errorf("got %q, want %q (%v)", got, want, err)
	}
	if _, err := set.Fill("endless", nil); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("a template that includes itself: %v", err)
	}
}

// TestFold folds a block of code in HTML and Markdown, and not in plain text.
func TestFold(t *testing.T) {
	fold := page.Fence("fold <g>", "```\n<h>")
	p := page.Parse("# T\n\nx\n\na\\*b *c* `d`\n\n- [e](#f)\n\n"+fold+"\n\ni\n", "en", page.Words{})
	var html, markdown strings.Builder
	if err := errors.Join(p.HTML(&html, nil), p.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	const folded = "<details class=\"fold\">\n<summary>&lt;g&gt;</summary>\n<pre><code>```\n&lt;h&gt;</code></pre>\n" +
		"</details>"
	if !strings.Contains(html.String(), folded) {
		t.Errorf("no %q in\n%s", folded, html.String())
	}
	const want = "<details><summary>&lt;g&gt;</summary>\n\n````\n```\n<h>\n````\n\n</details>\n"
	if !strings.Contains(markdown.String(), want) {
		t.Errorf("no %q in\n%s", want, markdown.String())
	}
	if got := p.Plain(); got != "a*b c d\n- e\n```\n<h>\ni" {
		t.Errorf("plain is %q", got)
	}
}
