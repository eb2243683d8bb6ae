package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
)

// programs puts programs on PATH that say these versions.
func programs(t *testing.T, saying map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range saying {
		if err := os.Rename(script(t, "cat <<'END'\n"+text+"\nEND"), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	if len(saying) == 0 {
		t.Setenv("PATH", folder)
	}
}

// What launchers say of their versions.
const (
	openMPI4 = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/"
	openMPI5 = "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/"
	hydra4   = "HYDRA build details:\n    Version:                                 4.0.2\n    CC:  gcc"
	intel    = "Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005 (id: 74c4a23)"
)

// TestFind looks for what belongs to a library, where a name may belong to another one. Every name that is
// looked for is there, so that no launcher of this host is found.
func TestFind(t *testing.T) {
	both := map[string]string{"mpirun": openMPI4, "mpiexec": openMPI4, "mpirun.openmpi": openMPI4,
		"mpiexec.hydra": hydra4, "mpirun.mpich": hydra4}
	module := map[string]string{"mpirun": hydra4, "mpiexec": hydra4, "mpirun.openmpi": openMPI4,
		"mpiexec.hydra": hydra4, "mpirun.mpich": hydra4}
	newer := map[string]string{"mpirun": openMPI5, "mpiexec": openMPI5, "mpirun.openmpi": openMPI4}
	only := map[string]string{"mpirun": openMPI4, "mpiexec": "something else", "mpirun.openmpi": openMPI4,
		"mpiexec.hydra": openMPI4, "mpirun.mpich": openMPI4}
	for _, test := range []struct {
		programs          map[string]string
		library           string
		path, name, lacks string
	}{
		{both, "Open MPI v4.1.4", "mpirun", "Open MPI 4.1.4", ""},
		{both, "MPICH 4.0.2", "mpiexec.hydra", "MPICH 4.0.2", ""},
		{module, "Open MPI v4.1.4", "mpirun.openmpi", "Open MPI 4.1.4", ""},
		{newer, "Open MPI v5.0.6", "mpirun", "Open MPI 5.0.11", ""},
		{newer, "Open MPI v4.1.4", "mpirun.openmpi", "Open MPI 4.1.4", ""},
		{newer, "Open MPI v3.1.4", "mpirun", "Open MPI 5.0.11", ""}, // better than none
		{newer, "", "mpirun", "Open MPI 5.0.11", ""},
		{map[string]string{"mpiexec.hydra": intel}, "Intel(R) MPI Library 2021.10", "mpiexec.hydra",
			"Intel(R) MPI Library 2021.11", ""},
		{only, "MPICH 4.0.2", "", "",
			"there is no mpiexec.hydra of MPICH 4.0.2 on PATH: mpiexec.hydra is of Open MPI 4.1.4, " +
				"mpirun.mpich is of Open MPI 4.1.4, mpirun is of Open MPI 4.1.4, " +
				"mpiexec is of something else: install mpich"},
		{nil, "Open MPI v4.1.4", "", "", "there is no mpirun on PATH: install openmpi-bin"},
		{nil, "MPICH 4.0.2", "", "", "there is no mpiexec.hydra on PATH: install mpich"},
		{nil, "", "", "", "there is no mpirun on PATH: install openmpi-bin"},
	} {
		t.Run(test.library, func(t *testing.T) {
			programs(t, test.programs)
			l, err := Find(t.Context(), test.library)
			if filepath.Base(l.Path) != test.path && l.Path != test.path || l.Name != test.name ||
				(err == nil) != (test.lacks == "") {
				t.Errorf("found %+v, %v; want %s of %s", l, err, test.path, test.name)
			}
			if err != nil && (!errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), test.lacks)) {
				t.Errorf("the error is %v, want %q", err.Error(), test.lacks)
			}
		})
	}
}

func TestOf(t *testing.T) {
	for name, want := range map[string]Library{
		"Open MPI v4.1.4":              {OpenMPI, "", 4},
		"IBM Spectrum MPI 10.4":        {OpenMPI, "", 10},
		"MPICH 4.0.2":                  {MPICH, "", 4},
		"MPICH 5.0.0a1":                {MPICH, "", 5},
		"MVAPICH2 2.3.7":               {MPICH, "", 2},
		"Intel(R) MPI Library 2021.10": {MPICH, "", 2021},
		"CRAY MPICH version 8.1.9.31 (ANL base 3.4a2)": {MPICH, "", 8},
		"":          {},
		"Fujitsu's": {},
	} {
		if want.Name = name; Of(name) != want {
			t.Errorf("%q is %+v, want %+v", name, Of(name), want)
		}
	}
}

// TestAlone checks what is said of ranks that their library does not see.
func TestAlone(t *testing.T) {
	const openMPI, mpich = "Open MPI v4.1.4", "MPICH 4.0.2"
	for _, test := range []struct {
		environment string
		library     string
		rank        int
		want        string
	}{
		{"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 PMIX_RANK=1", mpich, 1,
			"mpirun of Open MPI has started 2 ranks (OMPI_COMM_WORLD_SIZE), " +
				"but this program is built with MPICH 4.0.2, which sees 1: " +
				"start it by mpiexec.hydra, or build with make build MPI=openmpi"},
		{"PMI_SIZE=3 PMI_RANK=2 HYDI_CONTROL_FD=7", openMPI, 2,
			"mpiexec.hydra has started 3 ranks (PMI_SIZE), " +
				"but this program is built with Open MPI v4.1.4, which sees 1: " +
				"start it by mpirun of Open MPI, or build with make build MPI=mpich"},
		{"PMI_SIZE=3 PMI_RANK=0 HYDI_CONTROL_FD=7 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", openMPI, 0,
			"mpiexec.hydra has started 3 ranks"},
		{"OMPI_COMM_WORLD_SIZE=2", "Open MPI v5.0.1", 0,
			"start it by the mpirun of Open MPI that belongs to this library"},
		{"PMI_SIZE=2 PMI_RANK=1 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2", openMPI, 1,
			"srun --mpi=pmi2 has started 2 ranks (PMI_SIZE), " +
				"but this program is built with Open MPI v4.1.4, which sees 1: " +
				"start it by srun --mpi=pmix or mpirun of Open MPI"},
		{"PMI_SIZE=2 SLURM_PROCID=0", mpich, 0, "which sees 1: start it by mpiexec.hydra"},
		{"PMIX_RANK=1 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=4", mpich, 1,
			"srun --mpi=pmix has started 2 ranks (PMIX_RANK), " +
				"but this program is built with MPICH 4.0.2, which sees 1: " +
				"start it by srun --mpi=pmi2 or mpiexec.hydra"},
		{"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2", openMPI, 1,
			"srun without --mpi has started 2 ranks (SLURM_STEP_NUM_TASKS), " +
				"but this program is built with Open MPI v4.1.4, which sees 1: " +
				"start it by srun --mpi=pmix or mpirun of Open MPI"},
		{"OMPI_COMM_WORLD_SIZE=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", openMPI, 0, ""},
		{"PMIX_RANK=0", openMPI, 0, ""},
		{"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", openMPI, 0, ""},
		{"SLURM_PROCID=0 SLURM_NTASKS=4", openMPI, 0, ""}, // a batch script
		{"", openMPI, 0, ""},
	} {
		set := map[string]string{}
		for _, variable := range strings.Fields(test.environment) {
			name, value, _ := strings.Cut(variable, "=")
			set[name] = value
		}
		origin, _ := Started(func(name string) (string, bool) { value, ok := set[name]; return value, ok })
		err := origin.Check(1, test.library)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) ||
			origin.Rank != test.rank {
			t.Errorf("%q: rank %d, %v, want rank %d, %q", test.environment, origin.Rank, err, test.rank, test.want)
		}
		if err := origin.Check(max(1, origin.Ranks), test.library); err != nil {
			t.Errorf("%q, all ranks seen: %v", test.environment, err)
		}
	}
}
