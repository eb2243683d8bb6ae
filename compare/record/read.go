package record

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"gemm"
	"gemm/internal/note"
)

// jsonKinds are the names of what a JSON value should be, by the kind that it is read as.
var jsonKinds = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Float64: "a number",
	reflect.Int: "an integer", reflect.Int64: "an integer",
	reflect.Slice: "a list", reflect.Array: "a list", reflect.Struct: "an object", reflect.Map: "an object",
}

// plain returns an error of package json without the names of the types that it reads into.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case errors.As(err, &kind):
		// Embedded structs are in the path by their names, which are no names of members.
		name := cmp.Or(strings.Join(slices.DeleteFunc(strings.Split(kind.Field, "."), func(part string) bool {
			return part != strings.ToLower(part)
		}), "."), "it")
		want, ok := jsonKinds[kind.Type.Kind()]
		if !ok {
			want = "something else"
		}
		if value, number := strings.CutPrefix(kind.Value, "number "); number && want == "a number" {
			return fmt.Errorf("%s is %s: it is beyond the range of numbers", name, value)
		}
		return fmt.Errorf("%s is a JSON %s and should be %s", name, kind.Value, want)
	case errors.As(err, &moment):
		return fmt.Errorf("%s is no time, such as 2026-01-31T12:00:00Z", moment.Value)
	}
	return err
}

// Load reads the document at path, a regular file of JSON or of JSON in gzip's format. The error is one line that names
// the file; a document of a newer schema is refused.
func Load(path string) (Document, error) {
	info, err := os.Stat(path) // before it is opened: to open a pipe blocks until it has a writer
	if errors.Is(err, fs.ErrNotExist) {
		return Document{}, fmt.Errorf("%s: %w; gemm compare writes records, and so does --json of other commands",
			path, fs.ErrNotExist)
	}
	if err != nil {
		return Document{}, err
	}
	if !info.Mode().IsRegular() {
		return Document{}, fmt.Errorf("%s: is not a regular file; save the records in one first", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Document{}, err
	}
	var doc Document
	if data, err = unpacked(data, mostUnpacked); err == nil {
		doc, err = Parse(data)
	}
	if err != nil {
		return Document{}, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}

// mostUnpacked limits the bytes of records that gzip has made small.
const mostUnpacked = 1 << 30

// unpacked returns data, decompressed to at most most bytes if they are in gzip's format.
func unpacked(data []byte, most int64) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, most+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("no records: gzip: %w; the file was damaged or cut off", err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("no records: more than %d bytes when decompressed", most)
	}
	return data, nil
}

// Packed returns data in gzip's format, which are always the same bytes. Level is one of package gzip.
func Packed(data []byte, level int) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	}
	return b.Bytes(), err
}

// Parse reads a document.
func Parse(data []byte) (Document, error) {
	var head struct {
		Schema  *int            `json:"schema"`
		Records json.RawMessage `json:"records"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Document{}, fmt.Errorf("no records: %w", plain(err))
	}
	switch {
	case head.Schema == nil:
		return Document{}, errors.New("no records: it has no schema")
	case *head.Schema > Schema:
		return Document{}, fmt.Errorf("its schema is %d, this program reads up to %d: use a newer gemm", *head.Schema, Schema)
	case *head.Schema < 1:
		return Document{}, fmt.Errorf("no records: its schema is %d", *head.Schema)
	case head.Records == nil || string(head.Records) == "null": // what list, info or rs verify have written
		return Document{}, errors.New("no records: it has a schema and no list of them")
	}
	var doc Document
	read := json.Unmarshal
	if *head.Schema == 1 {
		read = unmarshalFirst
	}
	if err := read(data, &doc); err != nil {
		return Document{}, fmt.Errorf("no records: %w", plain(err))
	}
	if err := doc.check(); err != nil {
		return Document{}, fmt.Errorf("%w; the file was damaged or changed", err)
	}
	if err := doc.whole(); err != nil {
		return Document{}, err
	}
	return doc.WithPeaks(), nil
}

// firstNote is a note of schema 1, a text without a code.
type firstNote struct{ note.Note }

// UnmarshalJSON implements json.Unmarshaler.
func (n *firstNote) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '"' {
		return json.Unmarshal(data, &n.Note)
	}
	err := json.Unmarshal(data, &n.Text)
	if n.Text != "" {
		n.Note = note.Read(n.Text)
	}
	return err
}

// unmarshalFirst reads a document of schema 1.
func unmarshalFirst(data []byte, doc any) error {
	var old struct {
		*Document
		Records []struct {
			Record
			Reason   firstNote   `json:"reason"`
			Warnings []firstNote `json:"warnings"`
		} `json:"records"`
	}
	old.Document = doc.(*Document)
	err := json.Unmarshal(data, &old)
	for _, of := range old.Records {
		r := of.Record
		r.Reason = of.Reason.Note
		for _, n := range of.Warnings {
			r.Warnings = append(r.Warnings, n.Note)
		}
		old.Document.Records = append(old.Document.Records, r)
	}
	return err
}

// whole makes integers of the numbers among the parameters, which have been read as JSON.
func (d *Document) whole() error {
	var all []gemm.Params
	for _, r := range d.Records {
		all = append(all, r.Params, r.Resolved)
	}
	for _, m := range d.Measurements {
		all = append(all, m.Params)
	}
	for _, t := range d.Traces {
		all = append(all, t.Params, t.Resolved)
	}
	for _, p := range all {
		if err := p.Whole(); err != nil {
			return fmt.Errorf("no records: %w", err)
		}
	}
	return nil
}
