// Package pages writes the documents that are made from the records in results/. These are
// a page of summary and figures for each topic, one whole report in every language, the
// table of headline results in the READMEs, and the index of the records. The same records
// give the same bytes.
package pages
