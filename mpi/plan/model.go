package plan

import "math"

// Network is the cost of a message: the latency in seconds, and the bandwidth in bytes per second.
// With the zero Network, no message can be sent.
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

// PingPong is the time of a message in one direction: half of a round trip.
type PingPong struct {
	Bytes   int
	Seconds float64
}

// Fit returns the network with the smallest sum of squared relative errors,
//
//	Σ ((latency + bytes/bandwidth)/seconds − 1)²
//
// in which short messages count as much as long ones. Latency and bandwidth are not negative. A sample
// without a time is ignored; without samples the result is the zero Network. The bandwidth is +Inf
// if longer messages take no longer. If all messages have one size, all of the time is attributed to
// the bandwidth.
func Fit(samples []PingPong) Network {
	// The normal equations for the latency and the seconds per byte contain the sums of u·u, u·v, v·v, u
	// and v, with u = 1/t and v = bytes/t.
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
	// If the minimum has a negative coordinate, the minimum under the constraints has 0 there.
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
