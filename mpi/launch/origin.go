package launch

import (
	"fmt"
	"strconv"
)

// Origin is how a process was started as one of several, according to its environment.
type Origin struct {
	Program  string // that a user calls
	By       string // the same, in words
	Family   Family // whose ranks the program starts; Unknown: of both families
	Variable string // of the environment, that shows it
	Ranks    int    // 0: not known
	Rank     int    // of this process
}

// Tasks reports whether Slurm has started tasks without an interface for MPI. They may be ranks even so.
func (o Origin) Tasks() bool { return o.Variable == slurmTasks }

// slurmTasks is set for every process of a step, by whatever it was started.
const slurmTasks = "SLURM_STEP_NUM_TASKS"

// Started returns how this process was started; lookup is os.LookupEnv. ok is false if it was not started as one of
// several.
func Started(lookup func(string) (string, bool)) (o Origin, ok bool) {
	number := func(name string) int {
		text, _ := lookup(name)
		n, _ := strconv.Atoi(text)
		return n
	}
	has := func(name string) bool { _, ok := lookup(name); return ok }
	slurm := has("SLURM_PROCID")
	switch {
	case has("OMPI_COMM_WORLD_SIZE"):
		o = Origin{"mpirun", "mpirun of Open MPI", OpenMPI, "OMPI_COMM_WORLD_SIZE", 0, number("OMPI_COMM_WORLD_RANK")}
	case has("PMI_SIZE") && slurm && !has("HYDI_CONTROL_FD"):
		o = Origin{"srun", "srun --mpi=pmi2", Unknown, "PMI_SIZE", 0, number("PMI_RANK")}
	case has("PMI_SIZE"):
		o = Origin{"mpiexec.hydra", "mpiexec.hydra", MPICH, "PMI_SIZE", 0, number("PMI_RANK")}
	case has("PMIX_RANK"):
		o = Origin{"mpirun", "a launcher with PMIx", Unknown, "PMIX_RANK", number("SLURM_NTASKS"), number("PMIX_RANK")}
		if has(slurmTasks) {
			o.Program, o.By, o.Ranks = "srun", "srun --mpi=pmix", number(slurmTasks)
		}
		return o, true
	case slurm && number(slurmTasks) > 1:
		o = Origin{"srun", "srun without --mpi", Unknown, slurmTasks, 0, number("SLURM_PROCID")}
	default:
		return Origin{}, false
	}
	o.Ranks = number(o.Variable)
	return o, true
}

// Alone is the error of ranks that were started together and do not see each other, because their
// library does not understand the program that started them.
type Alone struct {
	Origin
	World   int // the number of ranks that the library sees
	Library Library
}

// Error implements error.
func (a Alone) Error() string {
	return fmt.Sprintf("%s has started %d ranks (%s), but this program is built with %s, which sees %d: %s",
		a.By, a.Ranks, a.Variable, a.Library.Name, a.World, a.remedy())
}

// remedy returns what to do.
func (a Alone) remedy() string {
	own, srun := "mpirun of Open MPI", "srun --mpi=pmix"
	if a.Library.Family == MPICH {
		own, srun = "mpiexec.hydra", "srun --mpi=pmi2"
	}
	switch {
	case a.Family == Unknown && a.By == srun:
		return "start it by " + own
	case a.Family == Unknown:
		return fmt.Sprintf("start it by %s or %s", srun, own)
	case a.Family == a.Library.Family:
		return fmt.Sprintf("start it by the %s that belongs to this library", own)
	}
	return fmt.Sprintf("start it by %s, or build with make build MPI=%s", own, a.Family.target())
}

// Check returns an Alone if the library, whose name and version are given, sees fewer ranks than were started.
func (o Origin) Check(world int, library string) error {
	if world < o.Ranks {
		return Alone{o, world, Of(library)}
	}
	return nil
}
