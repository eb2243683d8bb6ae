package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gemm"
)

// Task is what ranks that a driver starts have to measure. It is handed over in a folder,
// and what comes back is there too: the records, and signs of life. The worker of a device
// reads it from its standard input.
type Task struct {
	Cases    []Case
	Budget   Budget
	Seed     uint64
	Ceilings time.Duration // spent on each ceiling
	folder   string
	known    []Ceiling // of the device, which have been measured
}

// taskFile is a Task as it is written. A variant has its name.
type taskFile struct {
	Protocol int           `json:"protocol"` // of a worker
	Cases    []taskCase    `json:"cases"`
	Budget   Budget        `json:"budget"`
	Seed     uint64        `json:"seed"`
	Ceilings time.Duration `json:"ceilings"`
	Known    []Ceiling     `json:"known,omitempty"`
}

type taskCase struct {
	Experiment Experiment  `json:"experiment"`
	Variant    string      `json:"variant"`
	Type       string      `json:"type"`
	Shape      gemm.Shape  `json:"shape"`
	Op         string      `json:"op"`
	Alpha      float64     `json:"alpha"`
	Beta       float64     `json:"beta"`
	LD         int         `json:"ld"`
	Params     gemm.Params `json:"params"`
	Turn       string      `json:"turn"`
}

func (t Task) file() string { return filepath.Join(t.folder, "cases.json") }

// Records returns the file that the ranks write their records to.
func (t Task) Records() string { return filepath.Join(t.folder, "records.json") }

func (t Task) signs() string { return filepath.Join(t.folder, "now") }

// write writes the task to its folder.
func (t Task) write() error {
	data, err := t.encode()
	if err != nil {
		return err
	}
	return os.WriteFile(t.file(), data, 0o600)
}

func (t Task) encode() ([]byte, error) {
	f := taskFile{Protocol: protocol, Budget: t.Budget, Seed: t.Seed, Ceilings: t.Ceilings, Known: t.known}
	for _, c := range t.Cases {
		f.Cases = append(f.Cases, taskCase{c.Experiment, c.Variant.Name, c.Type, c.Shape, c.Op, c.Alpha, c.Beta, c.LD, c.Params, c.Turn})
	}
	return json.Marshal(f)
}

// ReadTask reads the task in the folder, whose variants are among those given.
func ReadTask(folder string, variants []gemm.Variant) (Task, error) {
	t := Task{folder: folder}
	data, err := os.ReadFile(t.file())
	if err != nil {
		return t, err
	}
	var f taskFile
	if err := json.Unmarshal(data, &f); err != nil {
		return t, fmt.Errorf("%s: %w", t.file(), err)
	}
	if err := t.fill(f, variants); err != nil {
		return t, fmt.Errorf("%s: %w", t.file(), err)
	}
	return t, nil
}

// fill has t be the task that f describes.
func (t *Task) fill(f taskFile, variants []gemm.Variant) error {
	t.Budget, t.Seed, t.Ceilings, t.known = f.Budget, f.Seed, f.Ceilings, f.Known
	for _, c := range f.Cases {
		i := slices.IndexFunc(variants, func(v gemm.Variant) bool { return v.Name == c.Variant })
		if i < 0 {
			return fmt.Errorf("there is no variant %q", c.Variant)
		}
		if err := c.Params.Whole(); err != nil {
			return err
		}
		t.Cases = append(t.Cases, Case{
			Experiment: c.Experiment, Variant: variants[i], Type: c.Type, Shape: c.Shape, Op: c.Op,
			Alpha: c.Alpha, Beta: c.Beta, LD: c.LD, Params: c.Params, Turn: c.Turn,
		})
	}
	return nil
}

// state returns what tells two states of the records apart; empty while there are none.
func (t Task) state() string {
	info, err := os.Stat(t.Records())
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime(), info.Size())
}

// sign returns the index of the case that the ranks measure, -1 before the first, and a
// text that changes as long as they live; it is empty before they have begun.
func (t Task) sign() (now int, text string) {
	data, err := os.ReadFile(t.signs())
	if err != nil {
		return -1, ""
	}
	tick := 0
	if _, err := fmt.Sscan(string(data), &now, &tick); err != nil {
		return -1, ""
	}
	return now, string(data)
}

// signEvery is the time between two signs of life.
const signEvery = time.Second

// Signs shows the driver that started this process that it lives, and what it measures.
type Signs struct {
	mu    sync.Mutex
	file  *os.File
	index map[string]int // of the task's cases, by what identifies them
	now   int
	tick  int
	err   error
	done  chan struct{}
}

// Signs begins to show signs of life.
func (t Task) Signs() (*Signs, error) {
	file, err := os.Create(t.signs())
	if err != nil {
		return nil, err
	}
	s := &Signs{file: file, index: map[string]int{}, now: -1, done: make(chan struct{})}
	for i, c := range t.Cases {
		s.index[c.key("")] = i
	}
	s.show(s.now)
	go func() {
		every := time.NewTicker(signEvery)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				s.mu.Lock()
				s.show(s.now)
				s.mu.Unlock()
			case <-s.done:
				return
			}
		}
	}()
	return s, nil
}

// Now says which case is being measured; it is a Lead's.
func (s *Signs) Now(c Case) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.index[c.key("")]; ok {
		s.show(i)
	}
}

// show writes the sign, in one piece that is always as long.
func (s *Signs) show(now int) {
	s.now = now
	s.tick++
	_, err := s.file.WriteAt(fmt.Appendf(nil, "%10d %10d\n", now, s.tick), 0)
	if s.err == nil {
		s.err = err
	}
}

// Close ends the signs. The error is the first of those that there were in writing them.
func (s *Signs) Close() error {
	close(s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.file.Close(); s.err == nil {
		s.err = err
	}
	return s.err
}
