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

// Place is where a rank calls the others to.
type Place struct {
	Addresses []string `json:"addresses"`
	Port      int      `json:"port"`
	Word      string   `json:"word"` // that guests say
}

// Meeting is a meeting of all ranks. The rank that calls it is the host, the others are guests.
type Meeting struct {
	door   *net.TCPListener // of the host until all guests have come
	word   string
	others []net.Conn // of the host: the guests; of a guest: the host
}

// patience is how long a rank waits for others that should be there.
const patience = 5 * time.Second

// Call begins a meeting as its host, which has the addresses.
func Call(addresses []string) (*Meeting, Place, error) {
	door, err := net.ListenTCP("tcp", nil)
	if err != nil {
		return nil, Place{}, fmt.Errorf("meeting: %w", err)
	}
	m := &Meeting{door: door, word: rand.Text()}
	return m, Place{addresses, door.Addr().(*net.TCPAddr).Port, m.word}, nil
}

// Await returns when that many guests have come.
func (m *Meeting) Await(guests int) error {
	until := time.Now().Add(patience)
	_ = m.door.SetDeadline(until)
	for len(m.others) < guests {
		c, err := m.door.AcceptTCP()
		if err != nil {
			return fmt.Errorf("meeting: %d of %d ranks have come: %w", len(m.others), guests, err)
		}
		_ = c.SetDeadline(until)
		if heard(c, m.word) && say(c, m.word) {
			m.others = append(m.others, c)
		} else {
			_ = c.Close() // it is none of the ranks
		}
	}
	return m.door.Close()
}

// Join comes to a meeting.
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
		if say(c, p.Word) && heard(c, p.Word) {
			return &Meeting{word: p.Word, others: []net.Conn{c}}, nil
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
		if m.door == nil {
			say(c, m.word)
		}
		heard(c, m.word) // of a guest it says that all have come, or is the end of the connection
	}
	m.Close()
}

// Close leaves the meeting. If the host leaves it, no guest waits for its end. A nil Meeting has none to leave.
func (m *Meeting) Close() {
	if m == nil {
		return
	}
	if m.door != nil {
		_ = m.door.Close()
	}
	for _, c := range m.others {
		_ = c.Close()
	}
}

// say sends the word, and reports whether it could.
func say(c net.Conn, word string) bool {
	_, err := io.WriteString(c, word)
	return err == nil
}

// heard waits for the word, and reports whether it came.
func heard(c net.Conn, word string) bool {
	said := make([]byte, len(word))
	_, err := io.ReadFull(c, said)
	return err == nil && string(said) == word
}
