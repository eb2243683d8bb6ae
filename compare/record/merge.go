package record

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
)

// Merge concatenates documents. If a host or run (by id) or a row (by identity) is in several documents, it
// is kept once; of two rows with one identity from different runs the later one is kept. A host with other
// GPUs is another host, although its processors give it the same id. Turns with the same name in different
// documents stay separate, unless the documents have a row of that turn in common.
func Merge(docs ...Document) (Document, error) {
	var s Store
	for _, doc := range docs {
		doc = s.apart(doc)
		doc.Records = s.renamed(doc.Records)
		if err := s.adopt(doc); err != nil {
			return Document{}, err
		}
	}
	return s.Document(), nil
}

// apart returns doc with new ids for hosts whose id belongs to a host with other GPUs in s.
func (s *Store) apart(doc Document) Document {
	names := func(h Host) []string { return slices.Compact(slices.Sorted(slices.Values(h.GPUs))) }
	ids := map[string]string{}
	doc.Hosts = slices.Clone(doc.Hosts)
	for i, h := range doc.Hosts {
		if slices.ContainsFunc(s.doc.Hosts, func(old Host) bool {
			return old.ID == h.ID && len(old.GPUs) > 0 && len(h.GPUs) > 0 && !slices.Equal(names(old), names(h))
		}) {
			sum := sha256.Sum256(fmt.Append(nil, names(h)))
			ids[h.ID] = fmt.Sprintf("%s-%x", h.ID, sum[:2])
			doc.Hosts[i].ID = ids[h.ID]
		}
	}
	if len(ids) == 0 {
		return doc
	}
	doc.Runs = moved(doc.Runs, ids, func(r *RunInfo) *string { return &r.Host })
	doc.Records = moved(doc.Records, ids, func(r *Record) *string { return &r.Host })
	doc.Measurements = moved(doc.Measurements, ids, func(m *Measurement) *string { return &m.Host })
	doc.Traces = moved(doc.Traces, ids, func(t *Trace) *string { return &t.Host })
	return doc
}

// moved returns the items with the new ids of their hosts.
func moved[T any](items []T, ids map[string]string, host func(*T) *string) []T {
	items = slices.Clone(items)
	for i := range items {
		id := host(&items[i])
		*id = cmp.Or(ids[*id], *id)
	}
	return items
}

// renamed returns the records with new names for turns whose name is used in s by rows that were not sampled with them.
func (s *Store) renamed(records []Record) []Record {
	type turn struct{ host, name string }
	of := func(r Record) turn { return turn{r.Host, r.Turn} }
	taken, common := map[turn]bool{}, map[turn]bool{}
	for _, r := range s.records.items {
		taken[of(r)] = r.Turn != "" && r.Speed() || taken[of(r)]
	}
	used := map[turn]bool{}
	for _, r := range records {
		used[of(r)] = true
		old, ok := s.Find(r.ID())
		common[of(r)] = ok && r.Speed() && old.Turn == r.Turn && slices.Equal(old.Samples, r.Samples) || common[of(r)]
	}
	names := map[turn]string{}
	out := slices.Clone(records)
	for i, r := range out {
		t := of(r)
		if !taken[t] || common[t] {
			continue
		}
		if names[t] == "" {
			names[t] = FreePart(r.Turn, func(name string) bool { return taken[turn{r.Host, name}] || used[turn{r.Host, name}] })
			used[turn{r.Host, names[t]}] = true
		}
		out[i].Turn = names[t]
	}
	return out
}

// FreePart returns the turn's name. If it is taken, it returns the name of the first part that is free.
func FreePart(turn string, taken func(name string) bool) string {
	name := turn
	for part := 2; taken(name); part++ {
		name = fmt.Sprintf("%s, part %d", turn, part)
	}
	return name
}
