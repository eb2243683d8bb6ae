package shard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gemm/internal/output"
)

// Target is a file or a folder, and the folder of its parity. The parity folder of a folder contains the same folders,
// and in them a parity folder for each file, and a table of the files.
type Target struct {
	Name, Dir string
	IsFolder  bool
}

// Locate returns the target that a user names: a file, a folder or a parity folder. in is the folder that --out named
// when the parity was made; empty: the parity is next to the file or folder, or in the parity folder of a folder
// above. It is an error if there is neither the file nor its parity, or if a folder has none.
func Locate(name, in string) (Target, error) {
	t := locate(filepath.Clean(name), in)
	_, err := os.Stat(t.Name)
	_, parity := os.Stat(t.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(parity, fs.ErrNotExist):
		return t, fmt.Errorf("%s: there is no such file, and no parity of it in %s", t.Name, t.Dir)
	case t.IsFolder && errors.Is(parity, fs.ErrNotExist):
		return t, fmt.Errorf("%s: there is no parity in %s: Protect makes it", t.Name, t.Dir)
	}
	return t, nil
}

// locate is Locate for any name.
func locate(name, in string) Target {
	if isParity(filepath.Base(name)) && in == "" && isFolder(name) {
		return Target{strings.TrimSuffix(name, ParityExtension), name, hasTable(name)}
	}
	dir := ParityFolder(name, in)
	if _, err := os.Stat(name); isFolder(name) || err != nil && hasTable(dir) {
		return Target{name, dir, true}
	}
	if _, err := os.Stat(dir); err != nil && in == "" {
		for above := filepath.Dir(name); ; above = filepath.Dir(above) {
			rel, _ := filepath.Rel(above, name)
			there := filepath.Join(above+ParityExtension, rel) + ParityExtension
			if isFolder(there) {
				return Target{name, there, false}
			}
			if above == filepath.Dir(above) {
				break
			}
		}
	}
	return Target{name, dir, false}
}

// tableName is the name of the table of files in the parity folder of a folder.
const tableName = "files"

// hasTable reports whether a parity folder is one of a folder.
func hasTable(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, tableName))
	return err == nil
}

// listed is a file in a table of files.
type listed struct {
	path string // from the folder, with slashes, unless said otherwise
	size int64
	time int64 // nanoseconds since 1970
}

// The first line of a table of files, and the last, before the CRC-32C of the lines before.
const (
	tableHead = "gemm-rs files 1\n"
	tableTail = "crc32c "
)

// writeTable writes a table of files: a line for each, with its size, time and quoted path.
func writeTable(dir string, files []listed) error {
	b := bytes.NewBufferString(tableHead)
	for _, f := range files {
		fmt.Fprintf(b, "%d %d %s\n", f.size, f.time, strconv.Quote(f.path))
	}
	fmt.Fprintf(b, "%s%08x\n", tableTail, crc32.Checksum(b.Bytes(), castagnoli))
	return output.Write(filepath.Join(dir, tableName), b.Bytes(), output.Permissions, true)
}

// readTable reads a table of files.
func readTable(dir string) ([]listed, error) {
	name := filepath.Join(dir, tableName)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	at := bytes.LastIndex(data, []byte("\n"+tableTail)) + 1
	if !bytes.HasPrefix(data, []byte(tableHead)) || at == 0 ||
		string(data[at:]) != fmt.Sprintf("%s%08x\n", tableTail, crc32.Checksum(data[:at], castagnoli)) {
		return nil, fmt.Errorf("%s: is damaged; Repair writes it again", name)
	}
	var files []listed
	for line := range strings.Lines(string(data[len(tableHead):at])) {
		var f listed
		_, err := fmt.Sscanf(line, "%d %d %q\n", &f.size, &f.time, &f.path)
		if err != nil || !filepath.IsLocal(filepath.FromSlash(f.path)) {
			return nil, fmt.Errorf("%s: is damaged: line %q; Repair writes it again", name,
				strings.TrimSuffix(line, "\n"))
		}
		files = append(files, f)
	}
	return files, nil
}

// filesIn returns the regular files in a folder and those below it, in the order of their paths, and the number of
// links and other special files. Parity folders and files of this program are not among them.
func filesIn(top string) (files []listed, special int, err error) {
	err = filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return unreadable(name, err)
		case e.IsDir() && name != top && isParity(base):
			return filepath.SkipDir
		case e.IsDir(), output.IsTemporary(base), strings.HasSuffix(base, ".gemm-lock"):
			return nil
		case !e.Type().IsRegular():
			special++
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return unreadable(name, err)
		}
		path, err := filepath.Rel(top, name)
		files = append(files, listed{filepath.ToSlash(path), info.Size(), info.ModTime().UnixNano()})
		return err
	})
	return files, special, err
}

// withParity returns the paths of the files that have a parity folder below dir.
func withParity(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unreadable(name, err)
		case !e.IsDir() || name == dir || !isParity(filepath.Base(name)):
			return nil
		}
		path, err := filepath.Rel(dir, strings.TrimSuffix(name, ParityExtension))
		paths = append(paths, filepath.ToSlash(path))
		return cmp.Or(err, fs.SkipDir)
	})
	return paths, err
}

// at returns a file of a folder, and its parity folder.
func (t Target) at(path string) Protected {
	path = filepath.FromSlash(path)
	return Protected{File: filepath.Join(t.Name, path), Dir: filepath.Join(t.Dir, path) + ParityExtension}
}

// ErrLeftOut says that a folder has links or special files, which are left out.
var ErrLeftOut = errors.New("links and special files are left out")

// ProtectAll makes the parity of a file, or of all files in a folder, as p says. After each file, done is called with
// its name and error, which is an ErrProtected if there was nothing to do. Empty files are only listed in the table.
// For a folder, the last error may be an ErrLeftOut.
func (c *Coder) ProtectAll(ctx context.Context, t Target, p Protection, done func(file string, s Set,
	err error)) error {
	if !isFolder(t.Name) {
		p.File, p.Dir = t.Name, t.Dir
		s, err := c.Protect(ctx, p)
		done(t.Name, s, err)
		return nil
	}
	files, special, err := filesIn(t.Name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.Dir, 0o777); err != nil {
		return fmt.Errorf("%s: cannot be made: %w", t.Dir, output.Cause(err))
	}
	defer os.Remove(t.Dir) // has no effect once there is something in it
	lock, err := lockFolder(t.Dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	for _, f := range files {
		if f.size == 0 {
			continue
		}
		at := t.at(f.path)
		p.File, p.Dir = at.File, at.Dir
		s, err := c.Protect(ctx, p)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done(p.File, s, err)
	}
	if err := writeTable(t.Dir, files); err != nil {
		return err
	}
	if special > 0 {
		done(t.Name, Set{}, fmt.Errorf("%s: %w: %d", t.Name, ErrLeftOut, special))
	}
	return nil
}

// CheckAll checks a file, or all files in a folder, and calls done after each.
func (c *Coder) CheckAll(ctx context.Context, t Target, content bool, done func(*FileReport, error)) error {
	damaged, err := c.visit(ctx, t, content, c.Check, done)
	if err == nil && damaged != nil {
		done(nil, damaged)
	}
	return err
}

// RepairAll repairs a file, or all files in a folder, and calls done after each. It also writes the table of files
// again, if that is damaged.
func (c *Coder) RepairAll(ctx context.Context, t Target, content bool, done func(*FileReport, error)) error {
	var files []listed
	damaged, err := c.visit(ctx, t, content, func(ctx context.Context, p Protected) (*FileReport, error) {
		r, err := c.Repair(ctx, p)
		if r != nil && r.report != nil {
			path, _ := filepath.Rel(t.Name, p.File)
			files = append(files, listed{filepath.ToSlash(path), r.set.Length, r.set.original().time.UnixNano()})
		}
		return r, err
	}, done)
	if err != nil || damaged == nil {
		return err
	}
	return writeTable(t.Dir, files)
}

// visit calls one for each file with parity, and done with what it returns. Files without parity are reported too.
// damaged is the error of reading the table of files.
func (c *Coder) visit(ctx context.Context, t Target, content bool,
	one func(context.Context, Protected) (*FileReport, error), done func(*FileReport, error)) (damaged, err error) {
	if !t.IsFolder {
		r, err := one(ctx, Protected{File: t.Name, Dir: t.Dir, Content: content})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		done(r, err)
		return nil, nil
	}
	paths, err := withParity(t.Dir)
	if err != nil {
		return nil, err
	}
	here, _, err := filesIn(t.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	known := map[string]bool{}
	for _, path := range paths {
		known[path] = true
	}
	without := []listed{}
	for _, f := range here {
		if !known[f.path] && f.size > 0 {
			f.path = t.at(f.path).File
			without = append(without, f)
		}
	}
	for _, path := range paths {
		p := t.at(path)
		p.Content, p.without = content, without
		r, err := one(ctx, p)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		done(r, err)
	}
	table, damaged := readTable(t.Dir)
	for _, r := range t.others(known, table, here) {
		done(r, nil)
	}
	return damaged, nil
}

// others returns reports of the files that have no parity folder: those that are empty, new or have lost it.
func (t Target) others(known map[string]bool, table, here []listed) []*FileReport {
	var reports []*FileReport
	sizes, there := map[string]int64{}, map[string]bool{}
	for _, f := range table {
		sizes[f.path] = f.size
	}
	for _, f := range here {
		there[f.path] = true
		size, listed := sizes[f.path]
		p := t.at(f.path)
		r := &FileReport{File: p.File, Dir: p.Dir, Bytes: f.size, State: Good}
		switch {
		case known[f.path]:
			continue
		case f.size == 0 && (listed && size == 0 || !listed): // nothing to protect
		case listed && size == 0:
			r.State, r.Reason = Changed, "it was empty"
		case listed:
			r.State, r.Reason = Unprotected, "its parity is lost"
		default:
			r.State, r.Reason = Unprotected, "it is new: there is no parity"
		}
		reports = append(reports, r)
	}
	for _, f := range table {
		if p := t.at(f.path); !known[f.path] && !there[f.path] {
			reports = append(reports, &FileReport{File: p.File, Dir: p.Dir, State: Missing,
				Reason: "there is no such file, nor parity"})
		}
	}
	slices.SortFunc(reports, func(a, b *FileReport) int { return strings.Compare(a.File, b.File) })
	return reports
}

// filesNextTo returns the regular files in the folder of a file, by their full paths.
func filesNextTo(file string) (list []listed) {
	entries, _ := os.ReadDir(filepath.Dir(file))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			path := filepath.Join(filepath.Dir(file), e.Name())
			list = append(list, listed{path, info.Size(), info.ModTime().UnixNano()})
		}
	}
	return list
}
