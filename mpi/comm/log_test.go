package comm

import (
	"testing"
	"time"
)

func TestLog(t *testing.T) {
	var none *Log
	for _, l := range []*Log{none, {}} {
		l.Enter("compute")
		l.Call("send", 1)(8)
		l.Leave(time.Now(), time.Second)
		if got := l.Stop(); len(got) > 0 || l.On() {
			t.Errorf("a log that is off has %+v", got)
		}
	}
	l := &Log{}
	begun := time.Now()
	l.Start(begun)
	l.Call("send", 1)(8) // outside of phases
	l.Enter("distribute")
	l.Call("send", 0)(8)
	l.Call("bcast", -1)(16)
	l.Leave(begun, time.Hour)
	l.Enter("compute")
	l.Leave(begun.Add(2*time.Hour), time.Hour)
	phases := l.Stop()
	if len(phases) != 4 || l.On() {
		t.Fatalf("%+v", phases)
	}
	if p := phases[0]; p.Name != "distribute" || p.Call != "" || p.Bytes != 24 || p.Begin != 0 || p.End != 3600 {
		t.Errorf("the first phase is %+v", p)
	}
	if p := phases[1]; p.Name != "distribute" || p.Call != "send" || p.Peer == nil || *p.Peer != 0 || p.Bytes != 8 {
		t.Errorf("its first part is %+v", p)
	}
	if p := phases[2]; p.Call != "bcast" || p.Peer != nil || p.Bytes != 16 {
		t.Errorf("its second part is %+v", p)
	}
	if p := phases[3]; p.Name != "compute" || p.Bytes != 0 || p.Begin != 7200 || p.End != 10800 {
		t.Errorf("the second phase is %+v", p)
	}
}
