package reporttest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// CheckHTML reads a page with an XML parser that knows the empty elements of HTML, and returns its errors.
func CheckHTML(page, lang string) error {
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var errs []error
	var open, links []string
	ids, columns, cells := map[string]int{}, 0, 0
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	_, style, _ := strings.Cut(page, "<style>")
	if style, _, _ = strings.Cut(style, "</style>"); strings.Contains(style, "url(") ||
		strings.Contains(style, "@import") {
		fault("the style fetches something")
	}
	if !strings.Contains(page, fmt.Sprintf("<html lang=%q", lang)) {
		fault("the page does not say that it is in %s", lang)
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
			name := token.Name.Local
			open = append(open, name)
			attrs := map[string]string{}
			for _, a := range token.Attr {
				attrs[a.Name.Local] = a.Value
				if strings.HasPrefix(a.Name.Local, "on") {
					fault("%s has a handler %s", name, a.Name.Local)
				}
				if strings.Contains(a.Value, "url(") || strings.Contains(a.Value, "javascript:") {
					fault("%s has %s=%q", name, a.Name.Local, a.Value)
				}
			}
			if ids[attrs["id"]]++; attrs["id"] != "" && ids[attrs["id"]] > 1 {
				fault("the id %s is given twice", attrs["id"])
			}
			switch name {
			case "script":
				if len(attrs) > 0 {
					fault("a script has attributes %v", attrs)
				}
			case "link", "iframe", "object", "embed", "img", "image", "use", "base", "form":
				fault("the page has an element %s", name)
			case "a":
				links = append(links, attrs["href"])
			case "svg":
				if attrs["role"] != "img" || attrs["aria-label"] == "" {
					fault("a figure has no description")
				}
			case "thead":
				columns, cells = 0, 0
			case "tr":
				cells = 0
			case "th", "td":
				cells++
				if name == "th" && attrs["scope"] == "" {
					fault("a head has no scope")
				}
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != token.Name.Local {
				return fmt.Errorf("</%s> closes %v", token.Name.Local, open)
			}
			open = open[:len(open)-1]
			if token.Name.Local == "tr" {
				if columns == 0 {
					columns = cells
				}
				if cells != columns || cells == 0 {
					fault("a row has %d cells, its table %d columns", cells, columns)
				}
			}
		}
	}
	if len(open) > 0 {
		fault("not closed: %v", open)
	}
	for _, link := range links {
		if id, internal := strings.CutPrefix(link, "#"); internal && ids[id] == 0 {
			fault("the link %s leads nowhere", link)
		} else if !internal && !strings.HasPrefix(link, "report-appendix.html#") && !strings.HasPrefix(link, "https://") {
			fault("the link %q is none", link)
		}
	}
	return errors.Join(errs...)
}
