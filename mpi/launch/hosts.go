package launch

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Hosts watches other hosts of a job. MPI waits without end for messages of a host that is cut off. A nil Hosts watches
// none.
type Hosts struct {
	found       sync.WaitGroup
	mu          sync.Mutex
	answer      map[string]string // an address that answered, by the name of the host
	unreachable []string          // the first non-empty result of Unreachable
	probe       func(address string) (answers bool)
	probing     sync.Mutex // held by Unreachable
}

// answerTime is the time that a host has to answer. The system repeats its request after a second.
const answerTime = 2500 * time.Millisecond

// mostProbes is the largest number of probes at the same time.
const mostProbes = 64

// Watch probes hosts, with their addresses by name, in the background. A host that does not answer, as behind some
// firewalls, is never reported as unreachable. Addresses that this host has too are skipped.
func Watch(addresses map[string][]string) *Hosts { return watch(addresses, responds) }

func watch(addresses map[string][]string, probe func(string) bool) *Hosts {
	h := &Hosts{answer: map[string]string{}, probe: probe}
	own := Addresses()
	slots := make(chan struct{}, mostProbes)
	for host, list := range addresses {
		for _, address := range list {
			if slices.Contains(own, address) {
				continue
			}
			h.found.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if h.probe(address) {
					h.mu.Lock()
					defer h.mu.Unlock()
					h.answer[host] = address
				}
			})
		}
	}
	return h
}

// Unreachable probes the hosts again, and returns the sorted names of those that have stopped answering. After a
// result that is not empty it returns the same result without probing.
func (h *Hosts) Unreachable() []string {
	if h == nil {
		return nil
	}
	h.found.Wait()
	h.probing.Lock()
	defer h.probing.Unlock()
	if h.unreachable != nil {
		return h.unreachable
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, mostProbes)
	for host, address := range h.answer {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if !h.probe(address) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.unreachable = append(h.unreachable, host)
			}
		})
	}
	all.Wait()
	slices.Sort(h.unreachable)
	return h.unreachable
}

// discard is the port of a service that hardly any host has; a refused connection is an answer.
const discard = "9"

// responds reports whether the host with the address answers.
func responds(address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(address, discard))
	if err == nil {
		_ = c.Close()
	}
	return err == nil || errors.Is(err, syscall.ECONNREFUSED)
}

// Addresses returns the addresses of this host by which others may reach it.
func Addresses() []string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			out = append(out, n.IP.String())
		}
	}
	return out
}
