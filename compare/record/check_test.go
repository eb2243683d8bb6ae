package record

import (
	"strings"
	"testing"
)

// TestDamagedDocuments has documents that this program never writes: of other schemas or types, with nothing in place
// of a row, and with impossible figures.
func TestDamagedDocuments(t *testing.T) {
	row := func(members string) string {
		return `{"schema":1,"records":[{"variant":"serial/ikj","type":"f64","status":"ok","median_s":1,"gflops":2` + members +
			`}]}`
	}
	if _, err := Parse([]byte(row(""))); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                      "no records: unexpected end",
		`{"schema":1`:                           "no records: unexpected end",
		"{}":                                    "no records: it has no schema",
		`{"schema":99}`:                         "newer gemm",
		`{"schema":0}`:                          "schema is 0",
		`{"schema":1,"shards":[]}`:              "no list of them",
		"[null]":                                "no records: it is a JSON array and should be an object",
		`{"schema":"1","records":[]}`:           "schema is a JSON string and should be an integer",
		`{"schema":1,"records":null}`:           "no list of them",
		`{"schema":1,"records":{}}`:             "records is a JSON object and should be a list",
		`{"schema":1,"records":[null]}`:         "record 1: it has no variant",
		`{"schema":1,"records":["row"]}`:        "records is a JSON string and should be an object",
		row(`},null,{"variant":""`):             "record 2: it has no variant",
		row(`,"variant":"a","type":""`):         "a has no type",
		row(`,"median_s":"fast"`):               "records.median_s is a JSON string and should be a number",
		row(`,"m":1.5`):                         "records.m is a JSON number 1.5 and should be an integer",
		row(`,"params":[1]`):                    "records.params is a JSON array and should be an object",
		row(`,"params":{"threads":[1]}`):        "threads is [1]",
		row(`,"status":"fine"`):                 `serial/ikj has the status "fine"`,
		row(`,"median_s":-1`):                   "median_s is -1",
		row(`,"median_s":0`):                    "median_s is 0",
		row(`,"samples_s":[1,-2]`):              "serial/ikj: samples_s is -2: it must be from 0 to 1e+09",
		row(`,"ci_s":[2,1]`):                    "ci_s is [2 1]",
		row(`,"m":-3`):                          "m is -3",
		row(`,"gflops":-4`):                     "gflops is -4",
		row(`,"gflops":null`):                   "record 1: serial/ikj: gflops is null: a row with a time has one above 0",
		row(`,"gflops":0`):                      "gflops is 0",
		row(`,"type":"gf256"`):                  "rate is 0",
		row(`,"median_s":1e308`):                "record 1: serial/ikj: median_s is 1e+308: it must be from 0 to 1e+09",
		row(`,"threads":99999999`):              "threads is 9.9999999e+07: it must be from 0 to 65536",
		row(`,"residual":1e999`):                "records.residual is 1e999: it is beyond the range",
		row(`,"params":{"threads":1e300}`):      "threads of params is 1e+300",
		row(`,"ranks":[{"cpus":"0-99999999"}]`): `cpus is "0-99999999": it must be a list of processors below 8192`,
		`{"schema":1,"records":[],"hosts":[{"id":"h","topology":{"processors":"0-99999999"}}]}`: `host 1 (h): processors is "0-99999999"`,
		`{"schema":1,"records":[],"hosts":[{"id":"h","bandwidths":[{"gbps":1e-308}]}]}`:         "host 1 (h): gbps is 1e-308: it must be from 1e-12",
		`{"schema":1,"records":[],"hosts":[{"id":"h","ceilings":[{"gflops":null}]}]}`:           "gflops of a ceiling is null",
		row(`,"phases_s":{"compute":-5}`):                                                       "compute of phases_s is -5",
		row(`,"residual":2,"bound":1`):                                                          "its residual 2 is above its bound 1",
		`{"schema":1,"records":[],"hosts":[null]}`:                                              "host 1 has no id",
		`{"schema":1,"records":[],"runs":[null]}`:                                               "run 1 has no id",
		`{"schema":1,"records":[],"runs":[{"id":"a","time":"now"}]}`:                            "now is no time",
		`{"schema":1,"records":[],"measurements":[null]}`:                                       "measurement 1 has no name",
		`{"schema":1,"records":[],"traces":[null]}`:                                             "timeline 1 has no variant",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", text, err, want)
			continue
		}
		for _, name := range []string{"Go ", "struct", "float64", "record."} {
			if strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v has the Go name %q", text, err, name)
			}
		}
	}
}
