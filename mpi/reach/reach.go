// Package reach tells which hosts of a job have been lost. MPI itself waits without end for a
// message of a host that is cut off.
package reach

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Hosts are hosts that answered once.
type Hosts struct {
	found  sync.WaitGroup
	mu     sync.Mutex
	answer map[string]string // an address that answered, by the name of the host
	silent []string          // what the first call of Silent found that found any
	asks   func(address string) (answers bool)
	asking sync.Mutex // held by Silent
}

// patience is the time that a host has to answer. The system repeats its question after a second.
const patience = 2500 * time.Millisecond

// atOnce is the most questions at the same time.
const atOnce = 64

// Watch asks hosts, with their addresses by name, in the background. A host without an answer, as behind some
// firewalls, is never said to be silent. An address of this host says nothing of others, even if they have it too.
func Watch(addresses map[string][]string) *Hosts { return watch(addresses, answers) }

func watch(addresses map[string][]string, asks func(string) bool) *Hosts {
	h := &Hosts{answer: map[string]string{}, asks: asks}
	own := Addresses()
	slots := make(chan struct{}, atOnce)
	for host, list := range addresses {
		for _, address := range list {
			if slices.Contains(own, address) {
				continue
			}
			h.found.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if h.asks(address) {
					h.mu.Lock()
					defer h.mu.Unlock()
					h.answer[host] = address
				}
			})
		}
	}
	return h
}

// Silent asks the hosts again, and returns the sorted names of those that do not answer any more. Once there are
// any, it asks no more. A nil Hosts has none.
func (h *Hosts) Silent() []string {
	if h == nil {
		return nil
	}
	h.found.Wait()
	h.asking.Lock()
	defer h.asking.Unlock()
	if h.silent != nil {
		return h.silent
	}
	var silent []string
	var asked sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for host, address := range h.answer {
		asked.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if !h.asks(address) {
				h.mu.Lock()
				defer h.mu.Unlock()
				silent = append(silent, host)
			}
		})
	}
	asked.Wait()
	slices.Sort(silent)
	h.silent = silent
	return silent
}

// discard is the port of a service that hardly any host has: to refuse is to answer.
const discard = "9"

// answers reports whether the host with the address answers.
func answers(address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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
