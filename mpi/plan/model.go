package plan

import "math"

// Network is what a message costs: seconds before its first byte, and bytes a second.
// Nothing crosses the zero Network.
type Network struct{ Latency, Bandwidth float64 }

// Time returns the predicted seconds of a rank, for its traffic in elements of size bytes and the
// given seconds of computation. Communication takes
//
//	latency · messages + bytes sent and received / bandwidth
//
// and is added to the computation. With overlap in the given number of steps, both run at the same
// time, except in the first step:
//
//	max(communication, computing) + min(communication, computing)/steps
func Time(t Traffic, elementBytes int, n Network, compute float64, steps int, overlapped bool) float64 {
	bytes := float64(t.Sent+t.Recv) * float64(elementBytes)
	comm := n.Latency * float64(t.Messages)
	if bytes > 0 {
		comm += bytes / n.Bandwidth
	}
	if !overlapped {
		return comm + compute
	}
	return max(comm, compute) + min(comm, compute)/float64(max(steps, 1))
}

// PingPong is the time of one message, one way: half of there and back.
type PingPong struct {
	Bytes   int
	Seconds float64
}

// Fit returns the network whose latency and bandwidth, neither below 0, leave the least
// sum of squared relative errors
//
//	Σ ((latency + bytes/bandwidth)/seconds − 1)²
//
// so that short messages count as much as long ones. The zero Network is the result without
// samples. A sample without a time is left out. The bandwidth is +Inf if longer messages take no
// longer. If all messages have one size, all of the time is attributed to the bandwidth.
func Fit(samples []PingPong) Network {
	// The normal equations for the latency and the seconds of a byte: with u = 1/t and
	// v = bytes/t, the sums of u·u, u·v, v·v, u and v.
	var uu, uv, vv, su, sv float64
	for _, p := range samples {
		if !(p.Seconds > 0) {
			continue
		}
		u, v := 1/p.Seconds, float64(p.Bytes)/p.Seconds
		uu, uv, vv, su, sv = uu+u*u, uv+u*v, vv+v*v, su+u, sv+v
	}
	if uu == 0 {
		return Network{}
	}
	latency, each := 0.0, 0.0
	if det := uu*vv - uv*uv; det > 1e-12*uu*vv {
		latency, each = (su*vv-sv*uv)/det, (sv*uu-su*uv)/det
	} else if vv > 0 {
		each = sv / vv
	} else {
		latency = su / uu
	}
	// The least of a sum of squares within a corner is on the side that it is beyond.
	switch {
	case latency < 0:
		latency, each = 0, sv/vv
	case each < 0:
		latency, each = su/uu, 0
	}
	if each == 0 {
		return Network{latency, math.Inf(1)}
	}
	return Network{latency, 1 / each}
}
