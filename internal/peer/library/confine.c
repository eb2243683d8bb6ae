// Confines this process and what it starts, for main.c. The arguments of the program are limits, KEY=VALUE, and then
// perhaps -- and a program that is executed in place of answering requests:
//
//     folder=PATH   is seen besides the folders of the system, and is the working folder
//     read=PATH     is seen too, any number of them
//     write=1       the folder may be written
//     memory=BYTES  of address space of a process
//     file=BYTES    of a file
//     processes=N   and threads
//
// What the system refuses is left out, and unconfined has a word for it: files, processes, network, user, processors.
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_READ = 32 };

static struct {
    int any, write, count; // any: there are limits
    const char *folder, *read[MOST_READ];
    long long memory, file, processes;
    char **program;                    // NULL: it answers requests
    int root, files, processes_alone;  // it was root; has mounts and process numbers of its own
    char unconfined[128], pid[32];     // as other processes know it
} limits;

static void lacks(const char *what) {
    size_t used = strlen(limits.unconfined);
    if (!strstr(limits.unconfined, what))
        snprintf(limits.unconfined + used, sizeof limits.unconfined - used, "%s%s", used ? " " : "", what);
}

// read_limits reads the arguments.
static int read_limits(int count, char **words) {
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '=');
        limits.any = 1;
        if (!strcmp(words[i], "--")) {
            limits.program = words + i + 1;
            return i + 1 < count;
        }
        if (!value++) return 0;
        if (!strncmp(words[i], "folder=", 7)) limits.folder = value;
        else if (!strncmp(words[i], "read=", 5) && limits.count < MOST_READ) limits.read[limits.count++] = value;
        else if (!strncmp(words[i], "write=", 6)) limits.write = 1;
        else if (!strncmp(words[i], "memory=", 7)) limits.memory = atoll(value);
        else if (!strncmp(words[i], "file=", 5)) limits.file = atoll(value);
        else if (!strncmp(words[i], "processes=", 10)) limits.processes = atoll(value);
        else return 0;
    }
    return 1;
}

static int write_text(const char *file, const char *text) {
    int f = open(file, O_WRONLY | O_CLOEXEC);
    ssize_t n = f < 0 ? -1 : write(f, text, strlen(text));
    if (f >= 0) close(f);
    return n == (ssize_t)strlen(text);
}

// separate gives the processes that this one starts names of their own for files, processes and networks.
static void separate(void) {
    limits.root = geteuid() == 0;
    if (!limits.root) {
        char map[64], groups[64];
        snprintf(map, sizeof map, "%d %d 1", (int)geteuid(), (int)geteuid());
        snprintf(groups, sizeof groups, "%d %d 1", (int)getegid(), (int)getegid());
        if (unshare(CLONE_NEWUSER) || !write_text("/proc/self/setgroups", "deny") ||
            !write_text("/proc/self/uid_map", map) || !write_text("/proc/self/gid_map", groups))
            lacks("user");
    }
    limits.files = !unshare(CLONE_NEWNS);
    limits.processes_alone = !unshare(CLONE_NEWPID);
    if (!limits.processes_alone) lacks("processes");
    if (unshare(CLONE_NEWNET)) lacks("network");
    (void)!unshare(CLONE_NEWIPC);
    (void)!unshare(CLONE_NEWUTS);
}

// The folder that becomes the root.
#define BASE "/proc"

// make_folder makes the folder of a path below BASE, with those above it.
static void make_folder(const char *path) {
    char name[4200];
    snprintf(name, sizeof name, "%s%s", BASE, path);
    for (char *at = name + strlen(BASE) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(name, 0755);
        *at = '/';
    }
    mkdir(name, 0755);
}

// show has a folder or a device seen at its path, read-only unless it may be written.
static int show(const char *path, int writable, int folder) {
    char to[4200];
    struct stat is;
    struct statvfs with;
    if (stat(path, &is)) return 0;
    snprintf(to, sizeof to, "%s%s", BASE, path);
    if (folder) make_folder(path);
    else close(open(to, O_CREAT | O_CLOEXEC, 0600));
    if (mount(path, to, NULL, MS_BIND | MS_REC, NULL)) return -1;
    if (writable || statvfs(to, &with)) return 0;
    unsigned long kept = (with.f_flag & ST_NOSUID ? MS_NOSUID : 0) | (with.f_flag & ST_NODEV ? MS_NODEV : 0) |
                         (with.f_flag & ST_NOEXEC ? MS_NOEXEC : 0) | (with.f_flag & ST_NOATIME ? MS_NOATIME : 0) |
                         (with.f_flag & ST_RELATIME ? MS_RELATIME : 0);
    return mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | kept, NULL);
}

// new_root replaces all files by the folders of the system, folder and read, and empty temporary ones.
static int new_root(void) {
    static const char *const system[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
                                         "/opt", "/nix", "/gnu", "/sys"};
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    const char *small = "size=256m,nr_inodes=10000,mode=1777";
    int refused = 0;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("tmpfs", BASE, "tmpfs", 0, "mode=755")) return -1;
    for (size_t i = 0; i < sizeof system / sizeof *system; i++) (void)show(system[i], 0, 1);
    make_folder("/dev");
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) refused |= show(devices[i], 1, 0);
    make_folder("/dev/shm");
    make_folder("/tmp");
    make_folder("/proc");
    refused |= mount("tmpfs", BASE "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, small);
    refused |= mount("tmpfs", BASE "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, small);
    for (int i = 0; i < limits.count; i++) refused |= show(limits.read[i], 0, 1);
    if (limits.folder) refused |= show(limits.folder, limits.write, 1);
    if (!limits.processes_alone || mount("proc", BASE "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        (void)!limits.any; // there is none then
    if (refused || chdir(BASE)) return -1;
    if (!syscall(SYS_pivot_root, ".", ".")) return umount2(".", MNT_DETACH) || chdir("/");
    return chroot(".") || chdir("/");
}

static void limit(int what, long long to) {
    struct rlimit r = {(rlim_t)to, (rlim_t)to};
    if (to > 0) setrlimit(what, &r);
}

// keep_processors takes the right to choose processors from this process: it is measured on those that it has.
static void keep_processors(void) {
#ifdef __x86_64__
    const unsigned native = AUDIT_ARCH_X86_64, most = 0x3fffffff; // above are the calls of x32
#elif defined __aarch64__
    const unsigned native = AUDIT_ARCH_AARCH64, most = 0xffffffff;
#else
    const unsigned native = 0, most = 0;
    lacks("processors");
    if (!native) return;
#endif
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, native, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, most, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), // EPERM
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program)) lacks("processors");
}

// confine confines this process, which separate was called for. It has all that it needs open, but for folder and read.
static void confine(void) {
    ssize_t got = readlink("/proc/self", limits.pid, sizeof limits.pid - 1); // of the system still
    if (got < 0) snprintf(limits.pid, sizeof limits.pid, "%d", (int)getpid());
    write_text("/proc/self/oom_score_adj", "1000"); // if memory ends, the system ends this first
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal >= 0) {
        ioctl(terminal, TIOCNOTTY); // a session of its own would not be stopped with its process group
        close(terminal);
    }
    if (!limits.files || new_root()) lacks("files");
    if (chdir(limits.folder ? limits.folder : "/tmp")) chdir("/");
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s >= 0 && !strstr(limits.unconfined, "network")) ioctl(s, SIOCSIFFLAGS, &loopback);
    if (s >= 0) close(s);
    limit(RLIMIT_AS, limits.memory);
    limit(RLIMIT_FSIZE, limits.file);
    if (limits.root) { // a user of its own, so that the number of processes counts these alone
        uid_t user = 1000000 + (uid_t)atoi(limits.pid);
        if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)) {
            user = 65534;
            if (setresgid(user, user, user) || setresuid(user, user, user)) lacks("user");
        }
    } else {
        struct { unsigned version; int pid; } head = {0x20080522, 0};
        struct { unsigned effective, permitted, inheritable; } none[2] = {{0, 0, 0}, {0, 0, 0}};
        syscall(SYS_capset, &head, none);
    }
    limit(RLIMIT_NPROC, limits.processes);
    prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
    prctl(PR_SET_DUMPABLE, 1L, 0L, 0L, 0L); // or it may not read what /proc has of it
    prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
    if (!limits.program) keep_processors();
}

