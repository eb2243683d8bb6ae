package reporttest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// htmlPage is the state of a check of a page.
type htmlPage struct {
	open, links []string
	ids         map[string]int
	errs        []error
}

func (p *htmlPage) fault(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// CheckHTML reads a page with an XML parser that knows the empty elements of HTML, and returns its errors.
func CheckHTML(page, lang string) error {
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	p := htmlPage{ids: map[string]int{}}
	_, style, _ := strings.Cut(page, "<style>")
	if style, _, _ = strings.Cut(style, "</style>"); strings.Contains(style, "url(") ||
		strings.Contains(style, "@import") {
		p.fault("the style fetches something")
	}
	if !strings.Contains(page, fmt.Sprintf("<html lang=%q", lang)) {
		p.fault("the page does not say that it is in %s", lang)
	}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			p.begin(token)
		case xml.EndElement:
			last := len(p.open) - 1
			if last < 0 || p.open[last] != token.Name.Local {
				return fmt.Errorf("</%s> closes %v", token.Name.Local, p.open)
			}
			p.open = p.open[:last]
		}
	}
	if len(p.open) > 0 {
		p.fault("not closed: %v", p.open)
	}
	for _, link := range p.links {
		if id, internal := strings.CutPrefix(link, "#"); internal && p.ids[id] == 0 {
			p.fault("the link %s leads nowhere", link)
		} else if !internal && !strings.HasPrefix(link, "report-appendix.html#") && !strings.HasPrefix(link, "https://") {
			p.fault("the link %q is none", link)
		}
	}
	return errors.Join(p.errs...)
}

func (p *htmlPage) begin(token xml.StartElement) {
	name := token.Name.Local
	p.open = append(p.open, name)
	attrs := map[string]string{}
	for _, a := range token.Attr {
		attrs[a.Name.Local] = a.Value
		if strings.HasPrefix(a.Name.Local, "on") {
			p.fault("%s has a handler %s", name, a.Name.Local)
		}
		if strings.Contains(a.Value, "url(") || strings.Contains(a.Value, "javascript:") {
			p.fault("%s has %s=%q", name, a.Name.Local, a.Value)
		}
	}
	if p.ids[attrs["id"]]++; attrs["id"] != "" && p.ids[attrs["id"]] > 1 {
		p.fault("the id %s is given twice", attrs["id"])
	}
	switch name {
	case "script":
		if len(attrs) > 0 {
			p.fault("a script has attributes %v", attrs)
		}
	case "link", "iframe", "object", "embed", "img", "image", "use", "base", "form":
		p.fault("the page has an element %s", name)
	case "a":
		p.links = append(p.links, attrs["href"])
	case "svg":
		if attrs["role"] != "img" || attrs["aria-label"] == "" {
			p.fault("a figure has no description")
		}
	case "th":
		if attrs["scope"] == "" {
			p.fault("a head has no scope")
		}
	}
}
