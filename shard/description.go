package shard

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// original is what the description in the header of parity says of the file, which stays as it is:
//
//	offset  bytes
//	     0      8  time of its last change, seconds since 1970
//	     8      4  and nanoseconds
//	    12      4  permissions, as POSIX has them
//	    16         its name, without the folder
type original struct {
	time time.Time
	mode fs.FileMode
	name string
}

// describedBytes are the bytes of a description before the name; mostDescription bounds the bytes with the name.
const (
	describedBytes  = 16
	mostDescription = 1024
)

// special are the permissions besides 0777 and their bits in POSIX.
var special = map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000}

// originalOf describes a file.
func originalOf(info fs.FileInfo) original { return original{info.ModTime(), info.Mode(), info.Name()} }

func (o original) encode() string {
	b := make([]byte, describedBytes)
	le := binary.LittleEndian
	le.PutUint64(b, uint64(o.time.Unix()))
	le.PutUint32(b[8:], uint32(o.time.Nanosecond()))
	mode := uint32(o.mode.Perm())
	for bit, posix := range special {
		if o.mode&bit != 0 {
			mode |= posix
		}
	}
	le.PutUint32(b[12:], mode)
	return string(b) + o.name
}

func parseDescription(text string) (original, error) {
	if len(text) <= describedBytes || len(text) > mostDescription {
		return original{}, damage{fmt.Sprintf("a description of %d bytes cannot be", len(text))}
	}
	b, le := []byte(text), binary.LittleEndian
	o := original{name: text[describedBytes:]}
	seconds, nanoseconds, mode := int64(le.Uint64(b)), le.Uint32(b[8:]), le.Uint32(b[12:])
	o.time = time.Unix(seconds, int64(nanoseconds))
	o.mode = fs.FileMode(mode) & fs.ModePerm
	for bit, posix := range special {
		if mode&posix != 0 {
			o.mode |= bit
		}
	}
	if strings.ContainsAny(o.name, "/\x00") || o.name == "." || o.name == ".." || nanoseconds >= 1e9 || mode > 0o7777 {
		return original{}, damage{"the description says what cannot be"}
	}
	return o, nil
}

// original returns the description of the file whose parity the set is.
func (s Set) original() original {
	o, _ := parseDescription(s.description) // it was parsed with the header
	return o
}

// isOf reports whether the parity is of a file as it is now, by its size and time.
func (s Set) isOf(info fs.FileInfo) bool {
	return info != nil && info.Size() == s.Length && info.ModTime().Equal(s.original().time)
}
