/* SPDX-License-Identifier: MIT */
#include "filter.h"
#include "filter_by_hand.h"

#include "daemon/jail/pass.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef F_SETDELEG
#define F_SETDELEG 1040 /* since Linux 6.19 */
#endif
#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67 /* since Linux 6.4 */
#endif

/* Theory of operation. The jail installs the filter once and every job inherits it. If each job
 * installed its own, the kernel would compile it each time, which costs as much as the rest of a
 * job's start.
 *
 * The filter therefore also applies to the jail. Calls that the jail goes on using (PASS_CALLS,
 * jail/pass.h) are refused unless their last argument is the pass. Among them are the calls for
 * namespaces: in a new user namespace a job would regain capabilities over kernel code (clone() is
 * judged by its flags, below). Others are among them because their flags are in memory, where a
 * filter cannot see them (clone3, openat2).
 *
 * The filter denies by list and allows the rest; system calls newer than NEWEST_KNOWN are denied as
 * a whole, and so are other architectures' calls. */
static const struct pass_call {
    const char *name;
    int error;
} pass_calls[] = {
#define PASS_CALL(name, error) {#name, error},
    PASS_CALLS(PASS_CALL)
#undef PASS_CALL
};

struct group {
    int error;             /* 0: the call does nothing, and succeeds */
    const char *names[24]; /* NULL-terminated; skipped if libseccomp does not know it */
};

static const struct group groups[] = {
    /* Inspecting or steering other processes; the jail has the job's identity. */
    {EPERM,
     {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise",
      "process_mrelease", "move_pages", "migrate_pages", NULL}},
    /* Binding itself to a few CPUs: threads that take these from each other would look as if others
     * took them, and move the job's deadline (pool/starvation.h). */
    {EPERM, {"sched_setaffinity", NULL}},
    /* Mounts: the view stays as the jail made it. */
    {EPERM, {"mount", "umount", "pivot_root", "chroot", "quotactl", "quotactl_fd", NULL}},
    /* File handles reach a file wherever it is. */
    {EPERM, {"name_to_handle_at", "open_by_handle_at", NULL}},
    /* Keyrings outlive a job and belong to the account. */
    {EPERM, {"add_key", "keyctl", "request_key", NULL}},
    /* Large parts of the kernel that graders do not need and that sandbox escapes use. */
    {EPERM,
     {"bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "fanotify_init", "fanotify_mark",
      NULL}},
    {ENOSYS, {"memfd_secret", NULL}}, /* memory that not even the kernel's own map shows */
    {ENOSYS, {"io_uring_setup", "io_uring_enter", "io_uring_register", NULL}},
    /* The host has a fixed number of events for all contexts of everybody. */
    {ENOSYS, {"io_setup", NULL}},
    /* A pipe or a socket keeps all of a page of which it was given a byte, also when its file was
     * cut short since then. Nobody counts it there. To a program, the kernel moves no file: it
     * copies. (A job that is a fork of the jail could find a pass, so the jail copies, too.) */
    {ENOSYS, {"vmsplice", NULL}},
    {EINVAL, {"tee", "splice", "sendfile", NULL}},
    /* Nobody counts what the kernel notes about which node the pages of a file belong on. */
    {EPERM, {"mbind", "set_mempolicy", "set_mempolicy_home_node", NULL}},
    /* Nobody counts lists of access rights, of which each file may have two. To a program, the file
     * system has no extended attributes. (setxattrat() is newer than NEWEST_KNOWN.) */
    {EOPNOTSUPP, {"setxattr", "lsetxattr", "fsetxattr", NULL}},
    /* The kernel itself. */
    {EPERM,
     {"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
      "create_module", "reboot", "swapon", "swapoff", "acct", "syslog", "nfsservctl", "iopl",
      "ioperm", "vhangup", "sethostname", "setdomainname", NULL}},
    /* The host's clock. */
    {EPERM,
     {"clock_settime", "clock_settime64", "settimeofday", "stime", "adjtimex", "clock_adjtime",
      "clock_adjtime64", NULL}},
    /* System V IPC and POSIX queues: their objects outlive the job and wait for the next one. */
    {ENOSYS,
     {"shmget",
      "shmat",
      "shmctl",
      "shmdt",
      "semget",
      "semop",
      "semctl",
      "semtimedop",
      "semtimedop_time64",
      "msgget",
      "msgsnd",
      "msgrcv",
      "msgctl",
      "mq_open",
      "mq_unlink",
      "mq_timedsend",
      "mq_timedreceive",
      "mq_notify",
      "mq_getsetattr",
      "ipc",
      NULL}},
    /* All jobs and the host share /usr: a job that watches it sees what they run. */
    {ENOSYS, {"inotify_init", "inotify_init1", NULL}},
    /* The host's disks. What a job writes is thrown away, so there is nothing to wait for: the
     * answer is that it is done. Of what it may only read, the kernel would write what others have
     * changed. */
    {0,
     {"sync", "syncfs", "fsync", "fdatasync", "sync_file_range", "sync_file_range2",
      "arm_sync_file_range", NULL}},
    /* Obsolete calls: other memory layouts, other semantics. */
    {ENOSYS,
     {"modify_ldt", "uselib", "ustat", "sysfs", "_sysctl", "remap_file_pages", "vm86", "vm86old",
      "set_thread_area", NULL}},
};

static int deny(scmp_filter_ctx ctx, int error, const char *name, unsigned count,
                const struct scmp_arg_cmp *arguments)
{
    int number = seccomp_syscall_resolve_name(name);
    /* Negative: this architecture does not have the call. */
    if (number < 0)
        return 0;
    return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint16_t)error), number, count, arguments);
}

static int deny_if(scmp_filter_ctx ctx, int error, const char *name, struct scmp_arg_cmp argument)
{
    return deny(ctx, error, name, 1, &argument);
}

/* Matches if the low half of argument INDEX is VALUE: the kernel looks at no more of an int. */
static struct scmp_arg_cmp equals(unsigned index, uint32_t value)
{
    return (struct scmp_arg_cmp){index, SCMP_CMP_MASKED_EQ, UINT32_MAX, value};
}

static struct scmp_arg_cmp has_bits(unsigned index, uint64_t bits)
{
    return (struct scmp_arg_cmp){index, SCMP_CMP_MASKED_EQ, bits, bits};
}

static struct scmp_arg_cmp is_not(unsigned index, uint64_t value)
{
    return (struct scmp_arg_cmp){index, SCMP_CMP_NE, value, 0};
}

/* Refuses calls whose argument FIRST is ONE and whose next argument is OTHER. */
static int deny_pair(scmp_filter_ctx ctx, int error, const char *name, unsigned first, uint32_t one,
                     uint32_t other)
{
    const struct scmp_arg_cmp arguments[] = {equals(first, one), equals(first + 1, other)};
    return deny(ctx, error, name, ARRAY_SIZE(arguments), arguments);
}

static int add_groups(scmp_filter_ctx ctx, uint64_t pass)
{
    struct scmp_arg_cmp no_pass = is_not(PASS_ARGUMENT, pass);
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        for (const char *const *name = groups[i].names; *name && r == 0; name++)
            r = deny(ctx, groups[i].error, *name, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(pass_calls) && r == 0; i++)
        r = deny(ctx, pass_calls[i].error, pass_calls[i].name, 1, &no_pass);
    return r;
}

static int add_namespaces(scmp_filter_ctx ctx)
{
    /* The low byte of clone's flags is the signal, so clone cannot make a time namespace. */
    static const uint64_t flags[] = {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS,    CLONE_NEWNET,
                                     CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(flags) && r == 0; i++)
        r = deny_if(ctx, EPERM, "clone", has_bits(0, flags[i]));
    return r;
}

/* Refuses fixed addresses, executable data, and other systems' calls. */
static int add_personality(scmp_filter_ctx ctx)
{
    return deny_if(ctx, EPERM, "personality", is_not(0, PER_LINUX));
}

/* Refuses what a job must not do to its terminal: write into its input; select and paste on a
 * console; have it interpreted by another part of the kernel (a line discipline, for which a module
 * would be loaded); take the kernel's messages; hang it up. The rest is for any program: modes, the
 * window's size, the foreground group. What belongs to the other side of it (TIOCPKT, TIOCGPTPEER)
 * the kernel does not do on this one. */
static int add_terminals(scmp_filter_ctx ctx)
{
    static const uint32_t requests[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCVHANGUP};
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(requests) && r == 0; i++)
        r = deny_if(ctx, EPERM, "ioctl", equals(1, requests[i]));
    return r;
}

/* Refuses what tells of others' use of a file, or delays it, like inotify: a directory's notices,
 * and leases. Then, as a kernel that does not know them: locks whose holder the kernel does not
 * name, so that the jail could not count them (jail/tree_locks.h); and hints about how long what is
 * written will be needed, which would stay with a directory for the next job. */
static int add_watching(scmp_filter_ctx ctx)
{
    static const struct {
        uint32_t command;
        int error;
    } commands[] = {
        {F_NOTIFY, EPERM},
        {F_SETLEASE, EPERM},
        {F_SETDELEG, EPERM},
        {F_OFD_SETLK, EINVAL},
        {F_OFD_SETLKW, EINVAL},
        {F_SET_RW_HINT, EINVAL},
        {F_SET_FILE_RW_HINT, EINVAL},
    };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(commands) && r == 0; i++)
        r = deny_if(ctx, commands[i].error, "fcntl", equals(1, commands[i].command));
    return r;
}

/* Has the host write nothing to its disks for a job, like sync(): by msync(), or by a look at where
 * a file lies, which a tmpfs does not tell either. The kernel still says what is not mapped
 * (MS_ASYNC), as some programs ask. */
static int add_writing(scmp_filter_ctx ctx)
{
    int r = deny_if(ctx, 0, "msync", has_bits(2, MS_SYNC));
    return r == 0 ? deny_if(ctx, EOPNOTSUPP, "ioctl", equals(1, (uint32_t)FS_IOC_FIEMAP)) : r;
}

/* Has the host keep the files in memory that all jobs read: who takes them out again and again
 * makes every other job wait for the disk, which no clock gives back to it, and leaves a message
 * for the next one. It is advice, and a kernel need not take it. */
static int add_evicting(scmp_filter_ctx ctx)
{
    static const uint32_t advice[] = {MADV_COLD, MADV_PAGEOUT};
    int r = deny_if(ctx, 0, "fadvise64", equals(3, POSIX_FADV_DONTNEED));
    for (size_t i = 0; i < ARRAY_SIZE(advice) && r == 0; i++)
        r = deny_if(ctx, 0, "madvise", equals(2, advice[i]));
    return r;
}

/* Refuses core scheduling: threads with different cookies leave the other half of a core idle and
 * wait for each other, which looks as if others had it, as with sched_setaffinity(). It also idles
 * the half that a neighbour runs on. */
static int add_core_scheduling(scmp_filter_ctx ctx)
{
    return deny_if(ctx, EPERM, "prctl", equals(0, PR_SCHED_CORE));
}

/* Refuses further filters, as seccomp() does (jail/pass.h), and filters of sockets. The kernel
 * compiles them into a store of a fixed size that it has for all of the host
 * (net.core.bpf_jit_limit): once it is full, no jail gets its own. A filter may also have each call
 * logged on the host. The answers are those of a kernel that has no filters. */
static int add_filters(scmp_filter_ctx ctx)
{
    static const uint32_t options[] = {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
                                       SO_ATTACH_REUSEPORT_EBPF};
    int r = deny_pair(ctx, EINVAL, "prctl", 0, PR_SET_SECCOMP, SECCOMP_MODE_FILTER);
    for (size_t i = 0; i < ARRAY_SIZE(options) && r == 0; i++)
        r = deny_pair(ctx, ENOPROTOOPT, "setsockopt", 1, SOL_SOCKET, options[i]);
    return r;
}

/* Keeps the limit of core dumps at one byte (jail/lockdown.c). Programs that forbid core dumps go
 * on only if that succeeds, so the answer is that it is done. Who asks for the earlier limit as
 * well would not get it. */
static int add_core_limit(scmp_filter_ctx ctx)
{
    struct scmp_arg_cmp arguments[] = {equals(1, RLIMIT_CORE), is_not(2, 0), is_not(3, 0)};
    int r = deny_if(ctx, 0, "setrlimit", equals(0, RLIMIT_CORE));
    if (r == 0)
        r = deny(ctx, EPERM, "prlimit64", ARRAY_SIZE(arguments), arguments);
    arguments[2] = (struct scmp_arg_cmp){3, SCMP_CMP_EQ, 0, 0};
    return r == 0 ? deny(ctx, 0, "prlimit64", ARRAY_SIZE(arguments), arguments) : r;
}

/* Refuses to have the kernel merge equal pages (KSM), as one that cannot: a write to a merged page
 * takes longer, which tells what others have in memory. */
static int add_merging(scmp_filter_ctx ctx)
{
    int r = deny_if(ctx, EINVAL, "prctl", equals(0, PR_SET_MEMORY_MERGE));
    return r == 0 ? deny_if(ctx, EINVAL, "madvise", equals(2, MADV_MERGEABLE)) : r;
}

/* Refuses pages of the host's pool of huge ones, as if it were empty. No limit counts them, and
 * another program of the host may need them. (The kernel makes ordinary memory of huge pages by
 * itself.) */
static int add_huge_pages(scmp_filter_ctx ctx)
{
    return deny_if(ctx, ENOMEM, "mmap", has_bits(3, MAP_HUGETLB));
}

/* Refuses to set the flags of an inode: they hinder whoever cleans up, and no grader needs them. */
static int add_inode_flags(scmp_filter_ctx ctx)
{
    static const uint32_t requests[] = {FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR,
                                        FS_IOC_SETVERSION, FS_IOC32_SETVERSION};
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(requests) && r == 0; i++)
        r = deny_if(ctx, EPERM, "ioctl", equals(1, requests[i]));
    return r;
}

/* Refuses files without a name, outside of the tmpfs that bounds the others, unless IS_COUNTED what
 * they take. No limit of a process counts them: as many as it has descriptors, each as large as a
 * file may be. */
static int add_memory_files(scmp_filter_ctx ctx, bool is_counted)
{
    /* Huge pages are not counted, see add_huge_pages(). */
    return is_counted ? deny_if(ctx, ENOSYS, "memfd_create", has_bits(1, MFD_HUGETLB))
                      : deny(ctx, ENOSYS, "memfd_create", 0, NULL);
}

/* Refuses anonymous memory that processes share, for the same reason: its pages stay when the
 * process that has touched them ends or unmaps all but one of them, and then nothing that the jail
 * looks at counts them. (jail/view.c sees to /dev/zero, a mapping of which is the same.) ENOTSUP is
 * what POSIX has for a kind of mapping that a system does not offer. It is neither a want of
 * memory, after which a program would try again with less, nor one of rights. */
static int add_shared_memory(scmp_filter_ctx ctx)
{
    /* This bit is in MAP_SHARED_VALIDATE, too, and in no type that is not shared. */
    return deny_if(ctx, ENOTSUP, "mmap", has_bits(3, MAP_SHARED | MAP_ANONYMOUS));
}

/* Refuses set-id files. In a view, whose mounts are nosuid, they have no effect; in a directory of
 * the host they would. */
static int add_set_id(scmp_filter_ctx ctx)
{
    static const struct {
        const char *name;
        unsigned mode; /* index of the argument */
    } calls[] = {{"chmod", 1},   {"fchmod", 1}, {"fchmodat", 2}, {"creat", 1}, {"mkdir", 1},
                 {"mkdirat", 2}, {"mknod", 1},  {"mknodat", 2},  {"open", 2},  {"openat", 3}};
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(calls) && r == 0; i++) {
        bool opens = strncmp(calls[i].name, "open", 4) == 0;
        for (uint64_t bit = S_ISUID; bit >= S_ISGID && r == 0; bit >>= 1) {
            /* The mode of open counts only if the call may create a file. */
            struct scmp_arg_cmp arguments[2] = {has_bits(calls[i].mode, bit),
                                                has_bits(calls[i].mode - 1, O_CREAT)};
            r = deny(ctx, EPERM, calls[i].name, opens ? 2 : 1, arguments);
            arguments[1] = has_bits(calls[i].mode - 1, O_TMPFILE);
            if (r == 0 && opens)
                r = deny(ctx, EPERM, calls[i].name, 2, arguments);
        }
    }
    return r;
}

/* Where jobs have no pid namespace of their own, refuses kill(-1): on the host it would reach
 * everything that the account runs. (write_processes() sees to the calls that steer one process.)
 */
static int add_processes(scmp_filter_ctx ctx, bool own_pids)
{
    return own_pids ? 0 : deny_if(ctx, EPERM, "kill", equals(0, UINT32_MAX));
}

/* Allows sockets of AF_UNIX only, for use among the job's own processes. Without both a view and a
 * network namespace, a named socket could be the host's, so only socketpairs remain. */
static int add_sockets(scmp_filter_ctx ctx, bool own_names)
{
    int r = own_names ? deny_if(ctx, EPERM, "socket", is_not(0, AF_UNIX))
                      : deny(ctx, EPERM, "socket", 0, NULL);
    if (r == 0)
        r = deny_if(ctx, EPERM, "socketpair", is_not(0, AF_UNIX));
    return r;
}

/* What does not depend on the layers. */
static int (*const parts[])(scmp_filter_ctx ctx) = {
    add_namespaces, add_personality, add_terminals,       add_watching,
    add_writing,    add_evicting,    add_core_scheduling, add_filters,
    add_core_limit, add_merging,     add_huge_pages,      add_inode_flags,
};

static int fill(scmp_filter_ctx ctx, uint32_t layers, bool bounds_memory, uint64_t pass)
{
    bool own_names =
        layer_in(layers, LAYER_MOUNT_NAMESPACE) && layer_in(layers, LAYER_NET_NAMESPACE);
    /* Other instruction sets: int 0x80 and x32 would bypass the list. */
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    if (r == 0)
        r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0); /* the jail sets no_new_privs itself */
    /* A binary tree: a call whose arguments are judged walks the program each time. */
    if (r == 0)
        r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (r == 0)
        r = add_groups(ctx, pass);
    for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++)
        r = parts[i](ctx);
    bool is_counted = bounds_memory && layer_in(layers, LAYER_CGROUP);
    if (r == 0)
        r = add_memory_files(ctx, is_counted);
    if (r == 0 && !is_counted)
        r = add_shared_memory(ctx);
    if (r == 0 && !layer_in(layers, LAYER_MOUNT_NAMESPACE))
        r = add_set_id(ctx);
    if (r == 0)
        r = add_processes(ctx, layer_in(layers, LAYER_PID_NAMESPACE));
    if (r == 0 && layer_in(layers, LAYER_NETWORK))
        r = add_sockets(ctx, own_names);
    return r;
}

int filter_program(uint32_t layers, bool bounds_memory, uint64_t pass)
{
    assert((layers & ~LAYERS_ALL) == 0);
    _cleanup_close_ int fd = memfd_create("seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx)
        return -ENOMEM;
    int r = fill(ctx, layers, bounds_memory, pass);
    if (r == 0)
        r = filter_by_hand(fd, layer_in(layers, LAYER_PID_NAMESPACE));
    if (r == 0)
        r = seccomp_export_bpf(ctx, fd);
    seccomp_release(ctx);
    if (r < 0)
        return r;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    return TAKE_FD(fd);
}
