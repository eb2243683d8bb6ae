package launch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Rendezvous is a barrier of all ranks before MPI_Finalize, over TCP connections of its own. One rank is the root, to
// which the others connect. The methods of a nil Rendezvous return at once.
//
// MPICH older than 4.2 needs it between hosts, if UCX sends by TCP. In MPI_Finalize each rank requests from the others
// a confirmation of what it has sent, and then waits for the process manager without polling for messages. A rank that
// is in another call of MPI meanwhile confirms at once, enters MPI_Finalize later, and gets no confirmation itself:
//
//	rank 0                       rank 1
//	MPI_Send "quit"
//	MPI_Finalize: confirm! ───→  MPI_Recv "quit", and confirms
//	waits for the manager        MPI_Finalize: confirm! … without end
//
// No message of MPI can prevent that, because the rank that receives it is in a call of MPI.
type Rendezvous struct {
	listener *net.TCPListener // of the root; otherwise nil
	token    string
	peers    []net.Conn // of the root: to the other ranks; of another rank: to the root
}

// Endpoint is where the root of a Rendezvous listens.
type Endpoint struct {
	Addresses []string `json:"addresses"`
	Port      int      `json:"port"`
	Token     string   `json:"token"` // which the other ranks send
}

// rendezvousTime is how long a rank waits for the others.
const rendezvousTime = 5 * time.Second

// Listen opens a rendezvous as its root, which has the addresses.
func Listen(addresses []string) (*Rendezvous, Endpoint, error) {
	listener, err := net.ListenTCP("tcp", nil)
	if err != nil {
		return nil, Endpoint{}, fmt.Errorf("rendezvous: %w", err)
	}
	r := &Rendezvous{listener: listener, token: rand.Text()}
	return r, Endpoint{addresses, listener.Addr().(*net.TCPAddr).Port, r.token}, nil
}

// Accept returns when the given number of ranks have connected.
func (r *Rendezvous) Accept(ranks int) error {
	until := time.Now().Add(rendezvousTime)
	_ = r.listener.SetDeadline(until)
	for len(r.peers) < ranks {
		c, err := r.listener.AcceptTCP()
		if err != nil {
			return fmt.Errorf("rendezvous: %d of %d ranks have connected: %w", len(r.peers), ranks, err)
		}
		_ = c.SetDeadline(until)
		if receiveToken(c, r.token) && sendToken(c, r.token) {
			r.peers = append(r.peers, c)
		} else {
			_ = c.Close() // it is not a rank
		}
	}
	return r.listener.Close()
}

// Dial connects to the root of a rendezvous.
func Dial(e Endpoint) (*Rendezvous, error) {
	var errs []error
	each := rendezvousTime / time.Duration(max(1, len(e.Addresses)))
	for _, address := range e.Addresses {
		until := time.Now().Add(each)
		c, err := (&net.Dialer{Deadline: until}).Dial("tcp", net.JoinHostPort(address, strconv.Itoa(e.Port)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_ = c.SetDeadline(until)
		if sendToken(c, e.Token) && receiveToken(c, e.Token) {
			return &Rendezvous{token: e.Token, peers: []net.Conn{c}}, nil
		}
		_ = c.Close()
		errs = append(errs, fmt.Errorf("%s is an address of another host too", address))
	}
	return nil, fmt.Errorf("rendezvous: the first rank is not reached: %w", errors.Join(errs...))
}

// Wait returns when all ranks have called it, or after some seconds if one does not. Then the rendezvous is closed.
func (r *Rendezvous) Wait() {
	if r == nil {
		return
	}
	until := time.Now().Add(rendezvousTime)
	for _, c := range r.peers {
		_ = c.SetDeadline(until)
		if r.listener == nil {
			sendToken(c, r.token)
		}
		receiveToken(c, r.token) // the root closes the connections when all are here
	}
	r.Close()
}

// Close closes the connections. If the root calls it, no rank waits any longer.
func (r *Rendezvous) Close() {
	if r == nil {
		return
	}
	if r.listener != nil {
		_ = r.listener.Close()
	}
	for _, c := range r.peers {
		_ = c.Close()
	}
}

// sendToken reports whether it could send the token.
func sendToken(c net.Conn, token string) bool {
	_, err := io.WriteString(c, token)
	return err == nil
}

// receiveToken waits for the token, and reports whether it arrived.
func receiveToken(c net.Conn, token string) bool {
	got := make([]byte, len(token))
	_, err := io.ReadFull(c, got)
	return err == nil && string(got) == token
}
