//go:build mpi

#include "yield.h"

#include <sched.h>
#include <time.h>

// A rank of MPICH polls while it waits, and keeps its processor. Where ranks share processors, the rank that it waits
// for then runs only after the time slice of the one that waits. Open MPI's ranks yield; MPICH's have no setting for
// that. So this file has the calls that wait, in terms of those that do not, by the profiling interface (MPI 4.0,
// chapter 15). What empi calls is among them. A blocking collective does not match one that does not block, so all
// ranks of a job take the same form. If no host is crowded, the calls are MPICH's own.
//
// MVAPICH, Cray MPICH and Intel MPI have MPICH_VERSION too: they say of which MPICH they are made.
static int yields;

int comm_barrier(MPI_Comm c) { return yields ? MPI_Barrier(c) : MPI_SUCCESS; }

#ifndef MPICH_VERSION

void comm_set_yield(int crowded) { (void)crowded; }

#else

void comm_set_yield(int crowded) { yields = crowded; }

// How often a rank that waits yields, before it sleeps, and its longest sleep, in nanoseconds. A rank that only yields
// has its share of the processor's time, for nothing, which the ranks that compute lack.
enum { times_to_yield = 10, longest_sleep = 50000 };

// finish waits until a request that began with the result e is done.
static int finish(int e, MPI_Request *r, MPI_Status *s) {
	struct timespec pause = {0, longest_sleep / 4};
	int done = 0;
	for (int i = 0; e == MPI_SUCCESS; i++) {
		e = PMPI_Test(r, &done, s);
		if (done || e != MPI_SUCCESS) break;
		if (i < times_to_yield) {
			sched_yield();
			continue;
		}
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < longest_sleep) pause.tv_nsec *= 2;
	}
	return e;
}

// WAIT returns the result of a call: of the one that blocks, or of the other and of the wait for its request r.
#define WAIT(name, began, ...) \
	MPI_Request r; \
	return yields ? finish(PMPI_I##began(__VA_ARGS__, &r), &r, MPI_STATUS_IGNORE) : PMPI_##name(__VA_ARGS__)

int MPI_Wait(MPI_Request *r, MPI_Status *s) { return yields ? finish(MPI_SUCCESS, r, s) : PMPI_Wait(r, s); }

int MPI_Send(const void *p, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
	WAIT(Send, send, p, n, t, to, tag, c);
}

int MPI_Recv(void *p, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s) {
	MPI_Request r;
	return yields ? finish(PMPI_Irecv(p, n, t, from, tag, c, &r), &r, s) : PMPI_Recv(p, n, t, from, tag, c, s);
}

int MPI_Sendrecv(const void *o, int on, MPI_Datatype ot, int to, int otag, void *p, int n, MPI_Datatype t, int from,
	int tag, MPI_Comm c, MPI_Status *s) {
	MPI_Request in, out;
	int e, e2;
	if (!yields) return PMPI_Sendrecv(o, on, ot, to, otag, p, n, t, from, tag, c, s);
	if ((e = PMPI_Irecv(p, n, t, from, tag, c, &in)) != MPI_SUCCESS) return e;
	if ((e = PMPI_Isend(o, on, ot, to, otag, c, &out)) != MPI_SUCCESS) {
		PMPI_Cancel(&in);
		PMPI_Request_free(&in);
		return e;
	}
	e = finish(MPI_SUCCESS, &in, s);
	e2 = finish(MPI_SUCCESS, &out, MPI_STATUS_IGNORE);
	return e != MPI_SUCCESS ? e : e2;
}

int MPI_Barrier(MPI_Comm c) { WAIT(Barrier, barrier, c); }

int MPI_Bcast(void *p, int n, MPI_Datatype t, int root, MPI_Comm c) { WAIT(Bcast, bcast, p, n, t, root, c); }

int MPI_Gather(const void *o, int on, MPI_Datatype ot, void *p, int n, MPI_Datatype t, int root, MPI_Comm c) {
	WAIT(Gather, gather, o, on, ot, p, n, t, root, c);
}

int MPI_Gatherv(const void *o, int on, MPI_Datatype ot, void *p, const int *n, const int *at, MPI_Datatype t, int root,
	MPI_Comm c) {
	WAIT(Gatherv, gatherv, o, on, ot, p, n, at, t, root, c);
}

int MPI_Scatter(const void *o, int on, MPI_Datatype ot, void *p, int n, MPI_Datatype t, int root, MPI_Comm c) {
	WAIT(Scatter, scatter, o, on, ot, p, n, t, root, c);
}

int MPI_Scatterv(const void *o, const int *on, const int *at, MPI_Datatype ot, void *p, int n, MPI_Datatype t, int root,
	MPI_Comm c) {
	WAIT(Scatterv, scatterv, o, on, at, ot, p, n, t, root, c);
}

int MPI_Allgather(const void *o, int on, MPI_Datatype ot, void *p, int n, MPI_Datatype t, MPI_Comm c) {
	WAIT(Allgather, allgather, o, on, ot, p, n, t, c);
}

int MPI_Allreduce(const void *o, void *p, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
	WAIT(Allreduce, allreduce, o, p, n, t, op, c);
}

int MPI_Reduce_scatter(const void *o, void *p, const int *n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
	WAIT(Reduce_scatter, reduce_scatter, o, p, n, t, op, c);
}

#endif
