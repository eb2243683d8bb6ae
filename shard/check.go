package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"gemm/internal/output"
)

// The states of a file with parity, besides Good, Damaged, Missing, Foreign and Unreadable.
const (
	Changed     State = "changed"     // its size or time is not the protected file's; its bytes were not compared
	Unprotected State = "unprotected" // there is no parity
)

// FileReport describes a file and its parity.
type FileReport struct {
	File   string   `json:"file"`
	State  State    `json:"state"`
	Reason string   `json:"reason,omitempty"` // why it is not good
	Note   string   `json:"note,omitempty"`   // about a good one
	Dir    string   `json:"parity"`           // folder
	Bytes  int64    `json:"bytes"`
	Bad    []Span   `json:"bad,omitempty"` // the damaged ranges of bytes, of whole blocks; not more than the first 1000
	Faulty []int    `json:"faulty_shards,omitempty"`
	Lost   int64    `json:"lost_stripes,omitempty"` // these cannot be restored
	Others []string `json:"warnings,omitempty"`     // about other files in the folder of the parity

	set    Set
	report *Report // nil after Check
	table  *os.File
	at     int64       // of the table
	info   fs.FileInfo // nil: there is no file

	renamed bool // a file that is missing seems to have another name
}

// IsGood reports whether the file and its parity are as they were.
func (r *FileReport) IsGood() bool { return r.State == Good && len(r.Faulty) == 0 }

// Repairable reports whether a repair would change something, and can.
func (r *FileReport) Repairable() bool {
	return (r.State == Good && len(r.Faulty) > 0 || r.State == Damaged ||
		r.State == Missing && !r.renamed) && r.Lost == 0
}

// Protected is a file and the folder of its parity.
type Protected struct {
	File, Dir string
	Content   bool // compare the bytes even if the size or the time is another

	without []listed // files that could be this one under a new name, by their full paths; nil: those in its folder
}

// Check compares a file with its parity. Damage is not an error.
func (c *Coder) Check(ctx context.Context, p Protected) (*FileReport, error) {
	r, err := c.checkFile(ctx, p)
	if r != nil {
		r.close()
		r.report = nil // there may be many files
	}
	return r, err
}

// close closes the table of checksums.
func (r *FileReport) close() {
	if r.table != nil {
		_ = r.table.Close()
	}
}

// setState sets the state and the reason.
func (r *FileReport) setState(state State, format string, args ...any) (*FileReport, error) {
	r.State, r.Reason = state, fmt.Sprintf(format, args...)
	return r, nil
}

// checkFile is Check; the table stays open.
func (c *Coder) checkFile(ctx context.Context, p Protected) (*FileReport, error) {
	r := &FileReport{File: p.File, Dir: p.Dir}
	info, err := os.Stat(p.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r.setState(Unreadable, "%v", output.Cause(err))
	case !info.Mode().IsRegular():
		return r.setState(Unreadable, "it is not a regular file")
	default:
		r.info, r.Bytes = info, info.Size()
	}
	if _, err := os.Stat(p.Dir); errors.Is(err, fs.ErrNotExist) && r.info != nil {
		return r.setState(Unprotected, "there is no parity in %s", p.Dir)
	}
	r.report, err = scan(p.Dir, r.info)
	switch {
	case errors.Is(err, errNoShards):
		return r.setState(Unprotected, "there is no parity in %s", p.Dir)
	case err != nil:
		return nil, err
	}
	set := r.report.Set
	r.set = set
	if set.description == "" {
		return nil, fmt.Errorf("%s: has shards and no parity of a file that stays as it is: Verify checks them", p.Dir)
	}
	if err := c.verify(ctx, r.report); err != nil {
		return nil, err
	}
	r.Others = r.report.Warnings
	for _, i := range r.report.Faulty() {
		if i >= set.Data {
			r.Faulty = append(r.Faulty, i)
		}
	}
	was := set.original()
	switch same := set.isOf(r.info); {
	case r.info == nil:
		return r.missing(p)
	case !same && was.name != filepath.Base(p.File):
		return r.setState(Foreign, "the parity is of %s, %d bytes, and its size or time is another", was.name, set.Length)
	case !same && !p.Content:
		return r.setState(Changed, "%s", difference(r.info, set))
	}
	if err := c.checkContent(ctx, r); err != nil {
		r.close()
		return nil, err
	}
	if was.name != filepath.Base(p.File) {
		r.Note = "it was protected as " + was.name
	}
	return r, nil
}

// difference says what differs between a file and what was protected.
func difference(info fs.FileInfo, s Set) string {
	const layout = "2006-01-02 15:04:05"
	if info.Size() != s.Length {
		return fmt.Sprintf("it has %d bytes, %d were protected", info.Size(), s.Length)
	}
	return fmt.Sprintf("its time is %s, %s was protected", info.ModTime().UTC().Format(layout),
		s.original().time.UTC().Format(layout))
}

// openTable opens an intact table of checksums.
func (r *FileReport) openTable() error {
	for _, s := range r.report.Shards[r.report.Set.Data:] {
		if s.header.Set != r.report.Set {
			continue
		}
		file, err := os.Open(filepath.Join(r.Dir, s.File))
		if err != nil {
			continue
		}
		at, intact := findTable(file, s.header)
		if intact > 0 {
			r.table, r.at = file, at
			return nil
		}
		_ = file.Close()
	}
	return errors.New("no parity shard has an intact table of checksums: protect it again if it is as it should be")
}

// row returns data shard i, a part of the file.
func (r *FileReport) row(file *os.File, i int) *row {
	set := r.report.Set
	return &row{
		set: set, name: r.File, part: part{file, int64(i) * set.Payload(), set.Length}, size: r.Bytes, sums: r.table,
		at: r.at + set.dataTable() + int64(entryBytes*i), stride: int64(entryBytes * set.Data),
	}
}

// checkContent compares the bytes of the file with the checksums.
func (c *Coder) checkContent(ctx context.Context, r *FileReport) error {
	if err := r.openTable(); err != nil {
		_, _ = r.setState(Unreadable, "%v", err)
		return nil
	}
	file, err := os.Open(r.File)
	if err != nil {
		_, _ = r.setState(Unreadable, "%v", output.Cause(err))
		return nil
	}
	defer file.Close()
	set := r.report.Set
	done := c.meter("checking", set.Payload()*int64(set.Data))
	failures := make([]error, set.Data)
	eachShard(set.Data, func(i int) {
		s := &r.report.Shards[i]
		s.bad, failures[i] = r.row(file, i).check(ctx, done)
		s.BadBlocks = s.bad.count()
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case changed(file, r.info):
		return fmt.Errorf("%s: was changed while it was read: check it again", r.File)
	}
	r.report.findLost()
	r.Lost = r.report.Lost.Stripes
	r.classify(errors.Join(failures...))
	return nil
}

// classify sets the state of a file whose bytes were compared.
func (r *FileReport) classify(failure error) {
	set, bad := r.report.Set, int64(0)
	for i, s := range r.report.Shards[:set.Data] {
		bad += s.BadBlocks
		for b := range s.bad.spans {
			from := int64(i)*set.Payload() + b[0]*int64(set.Block)
			to := min(int64(i)*set.Payload()+min((b[1]+1)*int64(set.Block), set.Payload()), set.Length)
			switch last := len(r.Bad) - 1; {
			case last >= 0 && r.Bad[last][1] == from-1:
				r.Bad[last][1] = to - 1
			case last < mostInJSON-1:
				r.Bad = append(r.Bad, Span{from, to - 1})
			}
		}
	}
	r.State = Good
	are := "are"
	if bad == 1 {
		are = "is"
	}
	switch {
	case bad > 0:
		r.State = Damaged
		r.Reason = fmt.Sprintf("%d of %d blocks %s bad, in bytes %s", bad, set.Stripes()*int64(set.Data), are,
			shortened(r.Bad, ","))
		if failure != nil {
			r.Reason += fmt.Sprintf(" (%v)", output.Cause(failure))
		}
	case r.Bytes > set.Length:
		r.State, r.Reason = Damaged, fmt.Sprintf("%d bytes are too many", r.Bytes-set.Length)
	case !set.isOf(r.info):
		r.Note = "its content is what was protected, its time is another"
	}
	if r.Lost > 0 {
		r.Reason += "; " + r.report.lostText()
	}
}

// missing completes the report of a file that is not there.
func (r *FileReport) missing(p Protected) (*FileReport, error) {
	r.report.findLost()
	r.Lost = r.report.Lost.Stripes
	_, _ = r.setState(Missing, "there is no such file")
	if r.openTable() != nil {
		return r, nil
	}
	if p.without == nil {
		p.without = filesNextTo(p.File)
	}
	was := r.report.Set.original()
	for _, c := range p.without {
		if c.size == r.report.Set.Length && c.time == was.time.UnixNano() && r.begins(c.path) {
			r.renamed = true
			return r.setState(Missing, "%s has its size, time and beginning: if it was renamed, rename it back to %s",
				c.path, was.name)
		}
	}
	return r, nil
}

// begins reports whether the first block of a file has the checksum of the protected file's.
func (r *FileReport) begins(name string) bool {
	set := r.report.Set
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	first, sum := make([]byte, min(int64(set.Block), set.Payload())), make([]byte, entryBytes)
	return part{file, 0, set.Length}.read(first, 0) == nil && readFull(r.table, sum, r.at+set.dataTable()) == nil &&
		crc32.Checksum(first, castagnoli) == binary.LittleEndian.Uint32(sum)
}

// Repair restores a file and its parity from each other. The report describes them before that, and is nil if there is
// none. A file that changed, or that the parity is not of, is left alone, and so is one that cannot be restored; the
// error then says why.
func (c *Coder) Repair(ctx context.Context, p Protected) (r *FileReport, err error) {
	defer func() {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: repair it as a user who may write in %s and %s", err, filepath.Dir(p.File), p.Dir)
		}
	}()
	if _, err := os.Stat(p.Dir); err != nil {
		return nil, fmt.Errorf("%s: there is no parity of %s: Protect makes it", p.Dir, p.File)
	}
	if folder := filepath.Dir(p.File); !isFolder(folder) {
		return nil, fmt.Errorf("%s: is missing, and so is its folder: restore it from a copy, or make the folder",
			p.File)
	}
	for _, name := range []string{p.File, filepath.Join(p.Dir, "shards")} {
		lock, err := output.NewLock(name)
		if err != nil {
			return nil, err
		}
		defer lock.Release()
	}
	output.SweepFolder(p.Dir, isName)
	output.Sweep(p.File)
	if r, err = c.checkFile(ctx, p); r != nil {
		defer r.close()
	}
	switch {
	case err != nil || r.IsGood():
		return r, err
	case !r.Repairable() && r.Lost > 0 && !r.renamed:
		return r, fmt.Errorf("%s: is %s and was left alone: %s; restore it from a copy", r.File, r.State, r.Reason)
	case !r.Repairable():
		return r, fmt.Errorf("%s: is %s and was left alone: %s", r.File, r.State, r.Reason)
	}
	if err := (Reconstruction{Dir: p.Dir}).checkRepair(r.report, r.Faulty); err != nil {
		return r, err
	}
	return r, c.repair(ctx, r)
}

// isFolder reports whether there is a folder called name.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// repair writes the file, if it is not good, and the faulty parity shards.
func (c *Coder) repair(ctx context.Context, r *FileReport) error {
	set, was := r.report.Set, r.report.Set.original()
	p, err := newPlan(r.report, set.Data)
	if err != nil {
		return err
	}
	defer p.close()
	if r.info != nil {
		file, err := os.Open(r.File)
		if err != nil {
			return unreadable(r.File, err)
		}
		defer file.Close()
		for i := range set.Data {
			p.sources[i] = r.row(file, i)
		}
	}
	if err := p.rewrite(r.report, r.Faulty, was.mode); err != nil {
		return err
	}
	var file *output.Pending
	if r.State != Good {
		if file, err = p.files.Create(r.File, permissions(was.mode)); err != nil {
			return err
		}
	}
	sums := &tableWriter{set: set, to: p.shards}
	for i := range set.Data {
		p.sinks[i] = append(p.sinks[i], proof{r.row(nil, i)})
		if file != nil {
			p.sinks[i] = append(p.sinks[i], part{file, int64(i) * set.Payload(), set.Length})
		}
		if len(r.Faulty) > 0 {
			p.sinks[i] = append(p.sinks[i], tableRow{sums, i})
		}
	}
	if err := c.execute(ctx, p, "repairing"); err != nil {
		return err
	}
	if file != nil {
		if err := r.finish(file); err != nil {
			return err
		}
	}
	return commit(ctx, &p.files)
}

// finish gives the new file the time of the protected file, and the permissions and the owner of the file that it
// replaces.
func (r *FileReport) finish(file *output.Pending) error {
	was := r.report.Set.original()
	mode := was.mode
	now, err := os.Stat(r.File)
	switch {
	case (err == nil) != (r.info != nil),
		r.info != nil && (!os.SameFile(now, r.info) || now.Size() != r.info.Size() ||
			!now.ModTime().Equal(r.info.ModTime())):
		return fmt.Errorf("%s: was changed while it was repaired, so nothing was written: check it again", r.File)
	case r.info != nil:
		mode = r.info.Mode()
		file.Own(r.info)
	}
	return file.SetAttributes(mode, was.time)
}
