#include <mpi.h>

// comm_set_yield says that a host has more ranks than processors. All ranks of the job must say the same.
void comm_set_yield(int crowded);

// comm_barrier is called by all ranks of c before a call that waits for all of them, and has no form that
// does not wait. If ranks yield while they wait, it returns when all ranks have called it.
int comm_barrier(MPI_Comm c);
