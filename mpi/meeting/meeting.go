// Package meeting lets the ranks of a job wait for each other without MPI, before they end it.
//
// MPICH older than 4.2 needs that between hosts, if UCX sends by TCP. In MPI_Finalize each rank has the others confirm
// what it has sent, and then waits for the process manager, without a look at messages. A rank that is in
// another call of MPI meanwhile confirms at once, enters MPI_Finalize later, and gets no confirmation itself:
//
//	rank 0                       rank 1
//	MPI_Send "quit"
//	MPI_Finalize: confirm! ───→  MPI_Recv "quit", and confirms
//	waits for the manager        MPI_Finalize: confirm! … without end
//
// No message of MPI can prevent that, because the rank that receives it is in a call of MPI.
package meeting

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Place is where the root of a meeting listens.
type Place struct {
	Addresses []string `json:"addresses"`
	Port      int      `json:"port"`
	Token     string   `json:"token"` // which the other ranks send
}

// Meeting is a barrier of all ranks that has TCP connections of its own. One rank is the root, to which the others
// connect.
type Meeting struct {
	listener *net.TCPListener // of the root; otherwise nil
	token    string
	others   []net.Conn // of the root: to the other ranks; of another rank: to the root
}

// patience is how long a rank waits for others that should be there.
const patience = 5 * time.Second

// Call begins a meeting as its root, which has the addresses.
func Call(addresses []string) (*Meeting, Place, error) {
	listener, err := net.ListenTCP("tcp", nil)
	if err != nil {
		return nil, Place{}, fmt.Errorf("meeting: %w", err)
	}
	m := &Meeting{listener: listener, token: rand.Text()}
	return m, Place{addresses, listener.Addr().(*net.TCPAddr).Port, m.token}, nil
}

// Await returns when that many ranks have connected.
func (m *Meeting) Await(ranks int) error {
	until := time.Now().Add(patience)
	_ = m.listener.SetDeadline(until)
	for len(m.others) < ranks {
		c, err := m.listener.AcceptTCP()
		if err != nil {
			return fmt.Errorf("meeting: %d of %d ranks have connected: %w", len(m.others), ranks, err)
		}
		_ = c.SetDeadline(until)
		if received(c, m.token) && send(c, m.token) {
			m.others = append(m.others, c)
		} else {
			_ = c.Close() // it is none of the ranks
		}
	}
	return m.listener.Close()
}

// Join connects to the root of a meeting.
func Join(p Place) (*Meeting, error) {
	var errs []error
	each := patience / time.Duration(max(1, len(p.Addresses)))
	for _, address := range p.Addresses {
		until := time.Now().Add(each)
		c, err := (&net.Dialer{Deadline: until}).Dial("tcp", net.JoinHostPort(address, strconv.Itoa(p.Port)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_ = c.SetDeadline(until)
		if send(c, p.Token) && received(c, p.Token) {
			return &Meeting{token: p.Token, others: []net.Conn{c}}, nil
		}
		_ = c.Close()
		errs = append(errs, fmt.Errorf("%s is an address of another host too", address))
	}
	return nil, fmt.Errorf("meeting: the first rank is not reached: %w", errors.Join(errs...))
}

// End returns when all have called it, or if some do not within some seconds. Then the meeting is over. Of a nil
// Meeting it returns at once.
func (m *Meeting) End() {
	if m == nil {
		return
	}
	until := time.Now().Add(patience)
	for _, c := range m.others {
		_ = c.SetDeadline(until)
		if m.listener == nil {
			send(c, m.token)
		}
		received(c, m.token) // from the root: all are here; or the connection has ended
	}
	m.Close()
}

// Close leaves the meeting. If the root leaves it, no rank waits for its end. A nil Meeting has none to leave.
func (m *Meeting) Close() {
	if m == nil {
		return
	}
	if m.listener != nil {
		_ = m.listener.Close()
	}
	for _, c := range m.others {
		_ = c.Close()
	}
}

// send sends the token, and reports whether it could.
func send(c net.Conn, token string) bool {
	_, err := io.WriteString(c, token)
	return err == nil
}

// received waits for the token, and reports whether it came.
func received(c net.Conn, token string) bool {
	got := make([]byte, len(token))
	_, err := io.ReadFull(c, got)
	return err == nil && string(got) == token
}
