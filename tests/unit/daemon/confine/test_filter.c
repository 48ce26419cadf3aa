/* SPDX-License-Identifier: MIT */
/* Tests the filter of system calls in two ways: an interpreter of its program tells the result of
 * any number with any arguments, and a process that has installed it makes real calls. */
#include "daemon/confine/filter.h"
#include "daemon/jail/enclosure.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <ftw.h>
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>

#ifndef __x86_64__
#error the numbers in this test are those of x86-64
#endif

#define X32_BIT UINT32_C(0x40000000)
#define GARBAGE UINT64_C(0xDEADBEEF00000000)
/* Maximum number of instructions that a call may cost. */
#define STEPS_MAX 64
/* The jail's pass. */
#define PASS UINT64_C(0x8123456789ABCDEF)

/* All layers that change the program. */
static const uint32_t layer_sets[] = {
    LAYERS_ALL,
    LAYERS_ALL & ~LAYER_BIT(LAYER_PID_NAMESPACE),
    LAYERS_ALL & ~LAYER_BIT(LAYER_NET_NAMESPACE),
    LAYERS_ALL & ~LAYER_BIT(LAYER_MOUNT_NAMESPACE),
    LAYERS_ALL & ~LAYER_BIT(LAYER_NETWORK) & ~LAYER_BIT(LAYER_NET_NAMESPACE),
    LAYER_BIT(LAYER_SECCOMP),
    LAYER_BIT(LAYER_SECCOMP) | LAYER_BIT(LAYER_NETWORK),
};

/* In a job's usual filter, and in one without namespaces. */
#define OWN_PIDS LAYERS_ALL
#define SHARED_PIDS (LAYERS_ALL & ~LAYER_BIT(LAYER_PID_NAMESPACE))

/* --- the program -------------------------------------------------------------------------- */

struct program {
    struct sock_filter instructions[FILTER_MAX];
    size_t count;
};

/* Returns false if there is no program or a jail would not accept it. */
static bool read_with(uint32_t layers, bool bounds_memory, struct program *program)
{
    _cleanup_close_ int fd = filter_program(layers, bounds_memory, PASS);
    ssize_t n = fd < 0 ? -1 : pread(fd, program->instructions, sizeof(program->instructions), 0);
    program->count = n < 0 ? 0 : (size_t)n / sizeof(program->instructions[0]);
    return n > 0 && n < (ssize_t)sizeof(program->instructions) &&
           n % (ssize_t)sizeof(program->instructions[0]) == 0;
}

static bool read_program(uint32_t layers, struct program *program)
{
    return read_with(layers, true, program);
}

struct verdict {
    uint32_t action; /* SECCOMP_RET_*, with the errno */
    size_t steps;
};

static bool jumps(const struct sock_filter *i, uint32_t a)
{
    switch (BPF_OP(i->code)) {
    case BPF_JEQ:
        return a == i->k;
    case BPF_JGT:
        return a > i->k;
    case BPF_JGE:
        return a >= i->k;
    case BPF_JSET:
        return a & i->k;
    default:
        return false;
    }
}

/* Returns what the kernel would do. An unknown instruction counts as SECCOMP_RET_KILL_PROCESS. */
static struct verdict judge(const struct program *program, const struct seccomp_data *data)
{
    struct verdict verdict = {.action = SECCOMP_RET_KILL_PROCESS};
    uint32_t a = 0;
    for (size_t at = 0; at < program->count; at++) {
        const struct sock_filter *i = &program->instructions[at];
        verdict.steps++;
        if (i->code == (BPF_LD | BPF_W | BPF_ABS)) {
            memcpy(&a, (const char *)data + i->k, sizeof(a));
        } else if (i->code == (BPF_ALU | BPF_AND | BPF_K)) {
            a &= i->k;
        } else if (i->code == (BPF_JMP | BPF_JA)) {
            at += i->k;
        } else if (BPF_CLASS(i->code) == BPF_JMP) {
            at += jumps(i, a) ? i->jt : i->jf;
        } else {
            if (i->code == (BPF_RET | BPF_K))
                verdict.action = i->k;
            break;
        }
    }
    return verdict;
}

static uint32_t action_of(const struct program *program, uint32_t number, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = (int)number, .arch = AUDIT_ARCH_X86_64};
    if (args)
        memcpy(data.args, args, sizeof(data.args));
    return judge(program, &data).action;
}

#define DENIED(error) (SECCOMP_RET_ERRNO | (error))

/* NUMBER with these arguments. */
#define ACTION(program, number, ...) \
    action_of(program, (uint32_t)(number), (const uint64_t[6]){__VA_ARGS__})

static void test_size(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        size_t longest = 0;
        assert_true(read_program(layer_sets[s], &program));
        for (uint32_t number = 0; number < 1024; number++) {
            for (unsigned fill = 0; fill < 4; fill++) {
                static const uint64_t fills[] = {0, 1, UINT32_MAX, UINT64_MAX};
                struct seccomp_data data = {.nr = (int)number, .arch = AUDIT_ARCH_X86_64};
                for (size_t i = 0; i < 6; i++)
                    data.args[i] = fills[fill];
                struct verdict verdict = judge(&program, &data);
                assert_int_not_equal(verdict.action, SECCOMP_RET_KILL_PROCESS);
                longest = MAX(longest, verdict.steps);
            }
        }
        print_message("# layers %#x: %zu instructions of %d, at most %zu for a call\n",
                      layer_sets[s], program.count, FILTER_MAX, longest);
        assert_true(program.count < FILTER_MAX);
        assert_true(longest <= STEPS_MAX);
    }
}

static void test_memory_is_sealed(void **state)
{
    struct stat st;
    (void)state;
    size_t descriptors = count_descriptors();
    int fd = filter_program(LAYERS_ALL, true, PASS);
    assert_true(fd >= 0);
    assert_int_equal(count_descriptors(), descriptors + 1);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GET_SEALS),
                     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_size > 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    close_fd(fd);
}

static int no_descriptor(void)
{
    int next = dup(STDERR_FILENO);
    close_fd(next);
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, (rlim_t)next}) == 0);
    CHECK_EQUAL(filter_program(LAYERS_ALL, true, PASS), -EMFILE);
    return 0;
}

/* --- whole calls -------------------------------------------------------------------------- */

struct call {
    int number, error;
};

/* Refused with any arguments: each group of filter.c, by number. */
static const struct call refused[] = {
    {SYS_ptrace, EPERM},
    {SYS_process_vm_readv, EPERM},
    {SYS_process_vm_writev, EPERM},
    {438 /* pidfd_getfd */, EPERM},
    {SYS_kcmp, EPERM},
    {440 /* process_madvise */, EPERM},
    {448 /* process_mrelease: of a descriptor, which any number may be */, EPERM},
    {SYS_move_pages, EPERM},
    {SYS_migrate_pages, EPERM},
    {SYS_sched_setaffinity, EPERM},
    {SYS_mount, EPERM},
    {SYS_umount2, EPERM},
    {SYS_pivot_root, EPERM},
    {SYS_chroot, EPERM},
    {428 /* open_tree */, EPERM},
    {429 /* move_mount */, EPERM},
    {430 /* fsopen */, EPERM},
    {431 /* fsconfig */, EPERM},
    {432 /* fsmount */, EPERM},
    {433 /* fspick */, EPERM},
    {442 /* mount_setattr */, EPERM},
    {SYS_quotactl, EPERM},
    {443 /* quotactl_fd */, EPERM},
    {SYS_name_to_handle_at, EPERM},
    {SYS_open_by_handle_at, EPERM},
    {SYS_add_key, EPERM},
    {SYS_keyctl, EPERM},
    {SYS_request_key, EPERM},
    {SYS_bpf, EPERM},
    {SYS_perf_event_open, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_lookup_dcookie, EPERM},
    {SYS_fanotify_init, EPERM},
    {SYS_fanotify_mark, EPERM},
    {447 /* memfd_secret */, ENOSYS},
    {SYS_io_uring_setup, ENOSYS},
    {SYS_io_uring_enter, ENOSYS},
    {SYS_io_uring_register, ENOSYS},
    {SYS_kexec_load, EPERM},
    {SYS_kexec_file_load, EPERM},
    {SYS_init_module, EPERM},
    {SYS_finit_module, EPERM},
    {SYS_delete_module, EPERM},
    {SYS_create_module, EPERM},
    {SYS_reboot, EPERM},
    {SYS_swapon, EPERM},
    {SYS_swapoff, EPERM},
    {SYS_acct, EPERM},
    {SYS_syslog, EPERM},
    {SYS_nfsservctl, EPERM},
    {SYS_iopl, EPERM},
    {SYS_ioperm, EPERM},
    {SYS_vhangup, EPERM},
    {SYS_sethostname, EPERM},
    {SYS_setdomainname, EPERM},
    {SYS_clock_settime, EPERM},
    {SYS_settimeofday, EPERM},
    {SYS_adjtimex, EPERM},
    {SYS_clock_adjtime, EPERM},
    {SYS_setns, EPERM},
    {SYS_clone3, ENOSYS},
    {SYS_shmget, ENOSYS},
    {SYS_shmat, ENOSYS},
    {SYS_shmctl, ENOSYS},
    {SYS_shmdt, ENOSYS},
    {SYS_semget, ENOSYS},
    {SYS_semop, ENOSYS},
    {SYS_semctl, ENOSYS},
    {SYS_semtimedop, ENOSYS},
    {SYS_msgget, ENOSYS},
    {SYS_msgsnd, ENOSYS},
    {SYS_msgrcv, ENOSYS},
    {SYS_msgctl, ENOSYS},
    {SYS_mq_open, ENOSYS},
    {SYS_mq_unlink, ENOSYS},
    {SYS_mq_timedsend, ENOSYS},
    {SYS_mq_timedreceive, ENOSYS},
    {SYS_mq_notify, ENOSYS},
    {SYS_mq_getsetattr, ENOSYS},
    {SYS_modify_ldt, ENOSYS},
    {SYS_uselib, ENOSYS},
    {SYS_ustat, ENOSYS},
    {SYS_sysfs, ENOSYS},
    {SYS__sysctl, ENOSYS},
    {SYS_remap_file_pages, ENOSYS},
    {SYS_set_thread_area, ENOSYS},
    {437 /* openat2 */, ENOSYS},
    {SYS_unshare, EPERM},
    {SYS_inotify_init, ENOSYS},
    {SYS_inotify_init1, ENOSYS},
    {SYS_io_setup, ENOSYS},
    {SYS_vmsplice, ENOSYS},
    {SYS_tee, EINVAL},
    {SYS_sendfile, EINVAL},
    {SYS_splice, EINVAL},
    {SYS_mbind, EPERM},
    {SYS_set_mempolicy, EPERM},
    {450 /* set_mempolicy_home_node */, EPERM},
    {SYS_setxattr, EOPNOTSUPP},
    {SYS_lsetxattr, EOPNOTSUPP},
    {SYS_fsetxattr, EOPNOTSUPP},
    {SYS_seccomp, ENOSYS},
    {444 /* landlock_create_ruleset */, ENOSYS},
};

/* Done, without the kernel. */
static const int done[] = {SYS_sync, SYS_syncfs, SYS_fsync, SYS_fdatasync, SYS_sync_file_range};

/* Calls that are judged by their arguments, or by what holds beside the filter. */
static const int judged[] = {
    SYS_clone,      SYS_personality,    SYS_ioctl,       SYS_fcntl,
    SYS_fadvise64,  SYS_memfd_create,   SYS_chmod,       SYS_fchmod,
    SYS_fchmodat,   SYS_creat,          SYS_mkdir,       SYS_mkdirat,
    SYS_mknod,      SYS_mknodat,        SYS_open,        SYS_openat,
    SYS_prlimit64,  SYS_sched_setattr,  SYS_setpriority, SYS_sched_setscheduler,
    SYS_ioprio_set, SYS_sched_setparam, SYS_kill,        SYS_socket,
    SYS_socketpair, SYS_mmap,           SYS_msync,       SYS_madvise,
    SYS_prctl,
};

static bool is_judged(uint32_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(judged); i++)
        if ((uint32_t)judged[i] == number)
            return true;
    return false;
}

/* What the filter says to a call with any arguments. */
static uint32_t answer_to(uint32_t number)
{
    for (size_t i = 0; i < ARRAY_SIZE(done); i++)
        if ((uint32_t)done[i] == number)
            return DENIED(0);
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if ((uint32_t)refused[i].number == number)
            return DENIED((uint32_t)refused[i].error);
    return number > 450 ? DENIED(ENOSYS) : SECCOMP_RET_ALLOW;
}

/* Every number: refused if and only if it is listed above. */
static void test_every_number(void **state)
{
    static const uint64_t ones[6] = {1, 1, 1, 1, 1, 1};
    static const uint64_t full[6] = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                     UINT64_MAX, UINT64_MAX, UINT64_MAX};
    static const uint64_t *const arguments[] = {NULL, ones, full};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (uint32_t number = 0; number <= 600; number++) {
            uint32_t expected = answer_to(number);
            for (size_t i = 0; i < ARRAY_SIZE(arguments) && !is_judged(number); i++)
                if (action_of(&program, number, arguments[i]) != expected)
                    fail_msg("layers %#x, number %u, arguments %zu: %#x, expected %#x",
                             layer_sets[s], number, i, action_of(&program, number, arguments[i]),
                             expected);
        }
    }
}

/* The calls that a jail uses go through with the complete pass in its place, and only then. */
static void test_pass(void **state)
{
    static const int of_jail[] = {SYS_umount2,
                                  SYS_setns,
                                  SYS_unshare,
                                  428 /* open_tree */,
                                  429 /* move_mount */,
                                  430 /* fsopen */,
                                  431 /* fsconfig */,
                                  432 /* fsmount */,
                                  433 /* fspick */,
                                  435 /* clone3 */,
                                  437 /* openat2 */,
                                  442 /* mount_setattr */,
                                  SYS_seccomp,
                                  444 /* landlock_create_ruleset */,
                                  SYS_kcmp};
    static const uint64_t wrong[] = {
        0,          PASS ^ 1, PASS ^ (UINT64_C(1) << 63), (uint32_t)PASS,
        PASS >> 32, ~PASS,    PASS + (UINT64_C(1) << 32)};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
            int number = refused[i].number;
            bool is_jails = false;
            for (size_t k = 0; k < ARRAY_SIZE(of_jail); k++)
                is_jails |= of_jail[k] == number;
            uint32_t denied = DENIED((uint32_t)refused[i].error);
            assert_int_equal(ACTION(&program, number, 0, 0, 0, 0, 0, PASS),
                             is_jails ? SECCOMP_RET_ALLOW : denied);
            assert_int_equal(ACTION(&program, number, PASS, PASS, PASS, PASS, PASS, 0), denied);
            for (size_t w = 0; w < ARRAY_SIZE(wrong); w++)
                assert_int_equal(ACTION(&program, number, 0, 0, 0, 0, 0, wrong[w]), denied);
        }
    }
}

static void test_foreign_instruction_sets(void **state)
{
    static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64,
                                       AUDIT_ARCH_ARM,  0,
                                       UINT32_MAX,      AUDIT_ARCH_X86_64 & ~__AUDIT_ARCH_LE};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (uint32_t number = 0; number <= 600; number++) {
            for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
                struct seccomp_data data = {.nr = (int)number, .arch = foreign[i]};
                assert_int_equal(judge(&program, &data).action, DENIED(ENOSYS));
            }
            assert_int_equal(action_of(&program, X32_BIT | number, NULL), DENIED(ENOSYS));
        }
        assert_int_equal(action_of(&program, X32_BIT | 0x3FFFFFFF, NULL), DENIED(ENOSYS));
        assert_int_equal(action_of(&program, UINT32_MAX - 1, NULL), DENIED(ENOSYS));
    }
}

/* --- trying ------------------------------------------------------------------------------- */

static int load(uint32_t layers)
{
    static struct program program;
    CHECK(read_program(layers, &program));
    struct sock_fprog prog = {.len = (unsigned short)program.count, .filter = program.instructions};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0);
    return 0;
}

/* Calls by number, with arguments that do no harm if the call gets through. */
static long call_harmlessly(long number)
{
    /* This call creates something for every key but one that must exist. */
    if (number == SYS_msgget || number == SYS_semget || number == SYS_shmget)
        return syscall(number, 0x7A7A7A7A, 0, 0, 0, 0, 0);
    return syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
}

static int try_refused(void *argument)
{
    const uint32_t *layers = argument;
    if (load(*layers) != 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        errno = 0;
        long r = call_harmlessly(refused[i].number);
        if (r != -1 || errno != refused[i].error) {
            (void)fprintf(stderr, "call %d: %ld, %s\n", refused[i].number, r, strerror(errno));
            return 1;
        }
    }
    for (long number = 451; number <= 511; number++)
        CHECK_ERRNO(call_harmlessly(number), ENOSYS);
    return 0;
}

static void test_try_refused(void **state)
{
    uint32_t sets[] = {OWN_PIDS, SHARED_PIDS, LAYER_BIT(LAYER_SECCOMP)};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        run_scenario(try_refused, &sets[i]);
}

/* getpid as the 32-bit kernel interface has it. */
static long call_by_int80(void)
{
    long r = 20;
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "cc", "r8", "r9", "r10", "r11");
    return r;
}

static _Noreturn void no_int80(int signal)
{
    static const char reason[] = "# this kernel has no 32-bit system calls\n";
    (void)signal;
    (void)!write(STDERR_FILENO, reason, sizeof(reason) - 1);
    _exit(SKIPPED);
}

static int int80(void)
{
    (void)signal(SIGSEGV, no_int80);
    long r = call_by_int80();
    if (r == -ENOSYS)
        SKIP("this kernel has no 32-bit system calls");
    CHECK_EQUAL(r, getpid());
    if (load(OWN_PIDS) != 0)
        return 1;
    CHECK_EQUAL(call_by_int80(), -ENOSYS);
    return 0;
}

static int x32(void)
{
    if (load(OWN_PIDS) != 0)
        return 1;
    CHECK_ERRNO(syscall((long)X32_BIT | SYS_getpid), ENOSYS);
    CHECK_ERRNO(syscall((long)X32_BIT | 521 /* ptrace */, -1L, 0L, 0L, 0L), ENOSYS);
    return 0;
}

/* For jobs that write to a directory of the host. */
#define NO_VIEW (OWN_PIDS & ~LAYER_BIT(LAYER_MOUNT_NAMESPACE))

/* --- namespaces --------------------------------------------------------------------------- */

#define NEW_TIME 0x80ul

static const unsigned long namespaces[] = {CLONE_NEWUSER,  CLONE_NEWPID, CLONE_NEWNS,
                                           CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
                                           CLONE_NEWCGROUP};

static void test_namespaces(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
            uint64_t flag = namespaces[i], more = flag | CLONE_VM | CLONE_THREAD | SIGCHLD;
            assert_int_equal(ACTION(&program, SYS_unshare, flag), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_unshare, flag | GARBAGE), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_unshare, flag | CLONE_FS), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_clone, flag), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_clone, flag | GARBAGE), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_clone, more), DENIED(EPERM));
        }
        assert_int_equal(ACTION(&program, SYS_unshare, NEW_TIME), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_clone, SIGCHLD), SECCOMP_RET_ALLOW);
    }
}

static long fork_into(unsigned long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return pid;
}

static int try_namespaces(void)
{
    if (load(OWN_PIDS) != 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
        CHECK_ERRNO(syscall(SYS_unshare, namespaces[i]), EPERM);
        CHECK_ERRNO(syscall(SYS_unshare, namespaces[i] | GARBAGE), EPERM);
        CHECK_ERRNO(fork_into(namespaces[i]), EPERM);
        CHECK_ERRNO(fork_into(namespaces[i] | GARBAGE), EPERM);
    }
    CHECK_ERRNO(syscall(SYS_unshare, NEW_TIME), EPERM);
    CHECK_ERRNO(syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS), EPERM);
    return 0;
}

/* --- other processes ---------------------------------------------------------------------- */

/* Calls with a pid argument; the other arguments are NULL or 0. */
static const struct {
    int number;
    unsigned pid;
} steering[] = {
    {SYS_prlimit64, 0},      {SYS_sched_setattr, 0}, {SYS_sched_setscheduler, 0},
    {SYS_sched_setparam, 0}, {SYS_setpriority, 1},   {SYS_ioprio_set, 1},
};

/* What the filter says to those calls of a process that the job may steer: a priority is not set,
 * and the call succeeds. */
static uint32_t answer_to_steering(size_t i)
{
    int number = steering[i].number;
    return number == SYS_prlimit64 || number == SYS_sched_setparam ? SECCOMP_RET_ALLOW : DENIED(0);
}

/* IOPRIO_WHO_PROCESS is 1, PRIO_PROCESS is 0: the other argument that counts. */
static uint32_t steer(const struct program *program, size_t i, uint64_t pid)
{
    uint64_t arguments[6] = {0};
    if (steering[i].number == SYS_ioprio_set)
        arguments[0] = 1;
    arguments[steering[i].pid] = pid;
    return action_of(program, (uint32_t)steering[i].number, arguments);
}

static void test_pids_of_a_jail(void **state)
{
    /* The kernel looks at the low half. */
    static const uint64_t own[] = {0, 100, 101, 1000, UINT32_MAX, GARBAGE, GARBAGE | 100};
    static const uint64_t of_jails[] = {
        1, 2, 3, 99, GARBAGE | 1, GARBAGE | 99, UINT64_C(0xFFFFFFFF00000002)};
    static struct program program;
    (void)state;
    assert_true(read_program(OWN_PIDS, &program));
    for (size_t i = 0; i < ARRAY_SIZE(steering); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(of_jails); j++)
            assert_int_equal(steer(&program, i, of_jails[j]), DENIED(EPERM));
        for (size_t j = 0; j < ARRAY_SIZE(own); j++)
            assert_int_equal(steer(&program, i, own[j]), answer_to_steering(i));
    }
    assert_int_equal(ACTION(&program, SYS_kill, UINT64_MAX), SECCOMP_RET_ALLOW);
}

static void test_pids_of_the_host(void **state)
{
    static const uint64_t others[] = {1,          2,           1000,          UINT32_MAX,
                                      UINT64_MAX, GARBAGE | 1, GARBAGE | 1000};
    static struct program program;
    (void)state;
    assert_true(read_program(SHARED_PIDS, &program));
    for (size_t i = 0; i < ARRAY_SIZE(steering); i++) {
        assert_int_equal(steer(&program, i, 0), answer_to_steering(i));
        for (size_t j = 0; j < ARRAY_SIZE(others); j++)
            assert_int_equal(steer(&program, i, others[j]), DENIED(EPERM));
    }
    assert_int_equal(ACTION(&program, SYS_kill, UINT64_MAX), DENIED(EPERM));
    assert_int_equal(ACTION(&program, SYS_kill, UINT32_MAX), DENIED(EPERM));
    assert_int_equal(ACTION(&program, SYS_kill, GARBAGE | UINT32_MAX), DENIED(EPERM));
    assert_int_equal(ACTION(&program, SYS_kill, 1000), SECCOMP_RET_ALLOW);
    assert_int_equal(ACTION(&program, SYS_kill, 0), SECCOMP_RET_ALLOW);
}

/* Groups and users as a whole, whichever pids there are. */
static void test_groups_of_processes(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        assert_int_equal(ACTION(&program, SYS_setpriority, PRIO_PGRP, 0), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_setpriority, PRIO_USER, 0), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_setpriority, GARBAGE | PRIO_USER, 0), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_setpriority, PRIO_PROCESS, 0), DENIED(0));
        assert_int_equal(ACTION(&program, SYS_ioprio_set, 2, 0), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioprio_set, 3, 0), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioprio_set, GARBAGE | 3, 0), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioprio_set, 1, 0), DENIED(0));
    }
}

#define IOPRIO(class, level) (((uint64_t)(class) << 13) | (level))

/* Whatever a process asks for itself, the kernel never sees it. */
static void test_priorities(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (int nice = -40; nice <= 40; nice++) {
            uint32_t expected = DENIED((uint32_t)(nice < 0 ? EACCES : 0));
            uint64_t low = (uint32_t)nice;
            assert_int_equal(ACTION(&program, SYS_setpriority, 0, 0, (uint64_t)nice), expected);
            assert_int_equal(ACTION(&program, SYS_setpriority, 0, 0, low), expected);
            assert_int_equal(ACTION(&program, SYS_setpriority, 0, 0, GARBAGE | low), expected);
        }
        for (uint64_t policy = 0; policy < 16; policy++) {
            bool is_ordinary =
                policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
            uint32_t expected = DENIED((uint32_t)(is_ordinary ? 0 : EPERM));
            uint64_t reset = SCHED_RESET_ON_FORK | policy;
            assert_int_equal(ACTION(&program, SYS_sched_setscheduler, 0, policy), expected);
            assert_int_equal(ACTION(&program, SYS_sched_setscheduler, 0, reset), expected);
            assert_int_equal(ACTION(&program, SYS_sched_setscheduler, 0, GARBAGE | policy),
                             expected);
        }
        assert_int_equal(ACTION(&program, SYS_sched_setscheduler, 0, UINT64_MAX), DENIED(EPERM));
        for (uint64_t class = 0; class < 8; class ++) {
            uint32_t expected = DENIED((uint32_t)(class == 1 ? EPERM : 0));
            assert_int_equal(ACTION(&program, SYS_ioprio_set, 1, 0, IOPRIO(class, 0)), expected);
            assert_int_equal(ACTION(&program, SYS_ioprio_set, 1, 0, IOPRIO(class, 7)), expected);
            assert_int_equal(ACTION(&program, SYS_ioprio_set, 1, 0, GARBAGE | IOPRIO(class, 0)),
                             expected);
        }
        assert_int_equal(ACTION(&program, SYS_sched_setattr, 0, PASS), DENIED(0));
    }
}

/* What programs make of these answers: no call fails that asks for less, and none has an effect. */
static int try_priorities(void)
{
    static const int policies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE};
    struct sched_param none = {0}, real_time = {.sched_priority = 1};
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = {.size = sizeof(attr), .policy = SCHED_IDLE}, now = {0};
    int before = getpriority(PRIO_PROCESS, 0);
    long io = syscall(SYS_ioprio_get, 1, 0);
    if (load(OWN_PIDS) != 0)
        return 1;
    errno = 0;
    CHECK(nice(1) == before && errno == 0);
    CHECK(setpriority(PRIO_PROCESS, 0, 19) == 0 && setpriority(PRIO_PROCESS, getpid(), 19) == 0);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, 0, -1), EACCES);
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        CHECK(sched_setscheduler(0, policies[i], &none) == 0);
        CHECK(pthread_setschedparam(pthread_self(), policies[i], &none) == 0);
    }
    CHECK_ERRNO(sched_setscheduler(0, SCHED_FIFO, &real_time), EPERM);
    CHECK_ERRNO(sched_setscheduler(0, SCHED_RR, &real_time), EPERM);
    CHECK(sched_setparam(0, &none) == 0);
    CHECK(syscall(SYS_sched_setattr, 0, &attr, 0) == 0);
    CHECK(syscall(SYS_ioprio_set, 1, 0, IOPRIO(3, 0)) == 0);
    CHECK_ERRNO(syscall(SYS_ioprio_set, 1, 0, IOPRIO(1, 0)), EPERM);
    CHECK(getpriority(PRIO_PROCESS, 0) == before && sched_getscheduler(0) == SCHED_OTHER);
    CHECK(syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0) == 0);
    CHECK(now.policy == SCHED_OTHER && now.nice == before);
    CHECK(syscall(SYS_ioprio_get, 1, 0) == io);
    return 0;
}

static int try_pids_of_a_jail(void)
{
    struct rlimit limit;
    cpu_set_t cpus;
    if (load(OWN_PIDS) != 0)
        return 1;
    CHECK_ERRNO(syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, NULL, &limit), EPERM);
    CHECK_ERRNO(syscall(SYS_prlimit64, GARBAGE | 1, RLIMIT_NOFILE, NULL, &limit), EPERM);
    CHECK_ERRNO(syscall(SYS_setpriority, PRIO_PROCESS, GARBAGE | 1, 19), EPERM);
    CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0);
    CHECK(syscall(SYS_prlimit64, getpid(), RLIMIT_NOFILE, NULL, &limit) == 0);
    CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
    CHECK_ERRNO(sched_setaffinity(0, sizeof(cpus), &cpus), EPERM);
    /* A kernel without core scheduling says EINVAL. */
    CHECK_ERRNO(prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0), EPERM);
    CHECK_ERRNO(syscall(SYS_prctl, GARBAGE | PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0), EPERM);
    CHECK(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) == 0);
    CHECK_ERRNO(setpriority(PRIO_USER, 0, 19), EPERM);
    CHECK_ERRNO(setpriority(PRIO_PGRP, 0, 19), EPERM);
    return 0;
}

static int try_pids_of_the_host(void)
{
    struct rlimit limit;
    if (load(SHARED_PIDS) != 0)
        return 1;
    CHECK_ERRNO(syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, &limit), EPERM);
    CHECK_ERRNO(syscall(SYS_prlimit64, GARBAGE | (unsigned)getpid(), RLIMIT_NOFILE, NULL, &limit),
                EPERM);
    CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_ERRNO(syscall(SYS_setpriority, PRIO_PROCESS, getpid(), 19), EPERM);
    CHECK_ERRNO(syscall(SYS_kill, -1, 0), EPERM);
    CHECK_ERRNO(syscall(SYS_kill, GARBAGE | UINT32_MAX, 0), EPERM);
    CHECK(kill(getpid(), 0) == 0);
    return 0;
}

/* --- sockets ------------------------------------------------------------------------------ */

#define NAMED OWN_PIDS
#define UNNAMED (LAYERS_ALL & ~LAYER_BIT(LAYER_MOUNT_NAMESPACE))
#define NETWORKED (LAYERS_ALL & ~LAYER_BIT(LAYER_NETWORK) & ~LAYER_BIT(LAYER_NET_NAMESPACE))

static void test_sockets(void **state)
{
    static const uint32_t unnamed[] = {UNNAMED, LAYERS_ALL & ~LAYER_BIT(LAYER_NET_NAMESPACE),
                                       LAYER_BIT(LAYER_SECCOMP) | LAYER_BIT(LAYER_NETWORK)};
    static struct program program;
    (void)state;
    assert_true(read_program(NAMED, &program));
    for (uint64_t family = 0; family <= 100; family++) {
        uint32_t expected = family == AF_UNIX ? SECCOMP_RET_ALLOW : DENIED(EPERM);
        assert_int_equal(ACTION(&program, SYS_socket, family, SOCK_STREAM), expected);
        assert_int_equal(ACTION(&program, SYS_socketpair, family, SOCK_STREAM), expected);
        /* A family that is not AF_UNIX to the kernel must not look like it. */
        if (family != AF_UNIX) {
            assert_int_equal(ACTION(&program, SYS_socket, GARBAGE | family), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_socketpair, GARBAGE | family), DENIED(EPERM));
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(unnamed); i++) {
        assert_true(read_program(unnamed[i], &program));
        for (uint64_t family = 0; family <= 100; family++) {
            uint32_t expected = family == AF_UNIX ? SECCOMP_RET_ALLOW : DENIED(EPERM);
            assert_int_equal(ACTION(&program, SYS_socket, family, SOCK_STREAM), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_socketpair, family, SOCK_STREAM), expected);
        }
    }
    assert_true(read_program(NETWORKED, &program));
    for (uint64_t family = 0; family <= 100; family++) {
        assert_int_equal(ACTION(&program, SYS_socket, family), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_socketpair, family), SECCOMP_RET_ALLOW);
    }
}

static int try_sockets(void *argument)
{
    static const int families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET,    AF_ALG,    AF_VSOCK,
                                   AF_XDP,  AF_KEY,   AF_TIPC,    AF_BLUETOOTH, AF_UNSPEC, 300};
    uint32_t layers = *(const uint32_t *)argument;
    int pair[2];
    char byte = 'x';
    if (load(layers) != 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(families) && layers != NETWORKED; i++) {
        CHECK_ERRNO(socket(families[i], SOCK_DGRAM, 0), EPERM);
        CHECK_ERRNO(socket(families[i], SOCK_RAW, 0), EPERM);
        CHECK_ERRNO(socketpair(families[i], SOCK_STREAM, 0, pair), EPERM);
        CHECK_ERRNO(syscall(SYS_socket, GARBAGE | (unsigned)families[i], SOCK_STREAM, 0), EPERM);
    }
    if (layers == UNNAMED) {
        CHECK_ERRNO(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
    } else {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(fd >= 0);
    }
    if (layers == NETWORKED) {
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(fd >= 0);
    }
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(write(pair[0], &byte, 1) == 1 && read(pair[1], &byte, 1) == 1 && byte == 'x');
    return 0;
}

static void test_try_sockets(void **state)
{
    uint32_t sets[] = {NAMED, UNNAMED, NETWORKED};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        run_scenario(try_sockets, &sets[i]);
}

/* --- set-id files and terminals ----------------------------------------------------------- */

/* One of a call's six arguments. */
static uint32_t with_argument(const struct program *program, int number, unsigned index,
                              uint64_t value, unsigned other, uint64_t other_value)
{
    uint64_t arguments[6] = {0};
    arguments[other] = other_value;
    arguments[index] = value;
    return action_of(program, (uint32_t)number, arguments);
}

static void test_set_id(void **state)
{
    static const struct {
        int number;
        unsigned mode;
    } makers[] = {{SYS_chmod, 1}, {SYS_fchmod, 1},  {SYS_fchmodat, 2}, {SYS_creat, 1},
                  {SYS_mkdir, 1}, {SYS_mkdirat, 2}, {SYS_mknod, 1},    {SYS_mknodat, 2}};
    static const uint64_t set_id[] = {04000, 02000, 06000, 04755, 02755, 07777, GARBAGE | 04000};
    static const uint64_t plain[] = {0, 0777, 01777, GARBAGE | 0644, S_IFREG | 0644, S_IFIFO};
    static struct program program, in_view;
    (void)state;
    assert_true(read_program(NO_VIEW, &program));
    assert_true(read_program(OWN_PIDS, &in_view));
    for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
        int number = makers[i].number;
        unsigned at = makers[i].mode;
        /* The mounts of a view are nosuid. */
        assert_int_equal(with_argument(&in_view, number, at, 06755, 5, 0), SECCOMP_RET_ALLOW);
        for (size_t j = 0; j < ARRAY_SIZE(set_id); j++)
            assert_int_equal(with_argument(&program, number, at, set_id[j], 5, 0), DENIED(EPERM));
        for (size_t j = 0; j < ARRAY_SIZE(plain); j++)
            assert_int_equal(with_argument(&program, number, at, plain[j], 5, 0),
                             SECCOMP_RET_ALLOW);
    }
}

/* The mode of open counts only if the call may create a file: with O_CREAT or O_TMPFILE. */
static void test_set_id_by_open(void **state)
{
    static const uint64_t making[] = {O_CREAT, O_CREAT | O_EXCL | O_WRONLY, GARBAGE | O_CREAT,
                                      O_TMPFILE | O_WRONLY, O_TMPFILE | O_RDWR | O_EXCL};
    static const uint64_t reading[] = {O_RDONLY, O_RDWR | O_TRUNC, O_DIRECTORY, O_PATH,
                                       O_RDONLY | O_CLOEXEC | O_NOFOLLOW};
    static struct program program;
    (void)state;
    assert_true(read_program(NO_VIEW, &program));
    for (unsigned at = 1; at <= 2; at++) {
        int number = at == 1 ? SYS_open : SYS_openat;
        for (size_t i = 0; i < ARRAY_SIZE(making); i++) {
            for (uint64_t bit = 02000; bit <= 04000; bit <<= 1)
                if (with_argument(&program, number, at + 1, bit | 0755, at, making[i]) !=
                    DENIED(EPERM))
                    fail_msg("call %d, flags %#lo, mode %#lo", number, making[i], bit | 0755);
            assert_int_equal(with_argument(&program, number, at + 1, 01777, at, making[i]),
                             SECCOMP_RET_ALLOW);
        }
        /* Without them, that register may contain anything. */
        for (size_t i = 0; i < ARRAY_SIZE(reading); i++)
            assert_int_equal(with_argument(&program, number, at + 1, UINT64_MAX, at, reading[i]),
                             SECCOMP_RET_ALLOW);
    }
}

static int try_set_id(void)
{
    char path[] = "/tmp/test_filter.XXXXXX";
    struct stat st;
    int fd = mkostemp(path, O_CLOEXEC);
    CHECK(fd >= 0 && unlink(path) == 0 && mkdir(path, 0700) == 0 && chdir(path) == 0);
    if (load(NO_VIEW) != 0)
        return 1;
    CHECK_ERRNO(fchmod(fd, 04755), EPERM);
    CHECK_ERRNO(fchmod(fd, 02755), EPERM);
    CHECK(fchmod(fd, 01777) == 0 && fchmod(fd, 0755) == 0);
    CHECK_ERRNO(chmod(".", 02700), EPERM);
    CHECK_ERRNO(open("a", O_WRONLY | O_CREAT | O_CLOEXEC, 04755), EPERM);
    CHECK_ERRNO(creat("a", 04755), EPERM);
    CHECK_ERRNO(mkdir("a", 02755), EPERM);
    CHECK_ERRNO(mknod("a", S_IFREG | 04755, 0), EPERM);
    CHECK_ERRNO(open(".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 04755), EPERM);
    CHECK_ERRNO(syscall(452 /* fchmodat2 */, AT_FDCWD, ".", 04755, 0), ENOSYS);
    _cleanup_close_ int made = open("a", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    CHECK(made >= 0 && fstat(made, &st) == 0 && (st.st_mode & 06000) == 0);
    CHECK(fstat(fd, &st) == 0 && (st.st_mode & 06000) == 0);
    CHECK(unlink("a") == 0 && rmdir(path) == 0);
    close_fd(fd);
    return 0;
}

static void test_personality(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        assert_int_equal(ACTION(&program, SYS_personality, 0), SECCOMP_RET_ALLOW);
        for (unsigned bit = 0; bit < 32; bit++)
            assert_int_equal(ACTION(&program, SYS_personality, 1u << bit), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_personality, UINT32_MAX), DENIED(EPERM));
    }
}

static void test_terminals(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, TIOCSTI), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, GARBAGE | TIOCSTI), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, TIOCSETD), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, GARBAGE | TIOCSETD), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, TIOCCONS), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, TIOCVHANGUP), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, TIOCSCTTY), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, TIOCLINUX), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, GARBAGE | TIOCLINUX), DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, TCGETS), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, FIONREAD), SECCOMP_RET_ALLOW);
    }
}

static void test_inode_flags(void **state)
{
    static const uint64_t requests[] = {FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR,
                                        FS_IOC_SETVERSION, FS_IOC32_SETVERSION};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
            assert_int_equal(ACTION(&program, SYS_ioctl, 0, requests[i]), DENIED(EPERM));
            assert_int_equal(ACTION(&program, SYS_ioctl, 0, GARBAGE | requests[i]), DENIED(EPERM));
        }
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, FS_IOC_GETFLAGS), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, FS_IOC_FSGETXATTR), SECCOMP_RET_ALLOW);
    }
}

/* A pseudo-terminal of its own, into whose input nothing can be inserted. */
static int try_terminals(void)
{
    char letter = 'x', link[] = "l";
    _cleanup_close_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0)
        SKIP("there is no pseudo-terminal to be had");
    if (load(OWN_PIDS) != 0)
        return 1;
    CHECK_ERRNO(syscall(SYS_ioctl, master, TIOCSTI, &letter), EPERM);
    CHECK_ERRNO(syscall(SYS_ioctl, master, GARBAGE | TIOCSTI, &letter), EPERM);
    CHECK_ERRNO(syscall(SYS_ioctl, master, TIOCLINUX, link), EPERM);
    return 0;
}

/* --- others' files ------------------------------------------------------------------------ */

static void test_watching(void **state)
{
    static const struct {
        uint64_t command;
        unsigned error;
    } commands[] = {
        {F_NOTIFY, EPERM},
        {F_SETLEASE, EPERM},
        {1040 /* F_SETDELEG */, EPERM},
        {F_OFD_SETLK, EINVAL},
        {F_OFD_SETLKW, EINVAL},
        {F_SET_RW_HINT, EINVAL},
        {F_SET_FILE_RW_HINT, EINVAL},
    };
    static const uint64_t others[] = {F_DUPFD,    F_GETFD,  F_SETFD,     F_GETFL,        F_SETFL,
                                      F_SETLK,    F_GETLK,  F_SETLKW,    F_OFD_GETLK,    F_SETOWN,
                                      F_GETLEASE, F_SETSIG, F_ADD_SEALS, F_DUPFD_CLOEXEC};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
            uint64_t command = commands[i].command;
            uint32_t denied = DENIED(commands[i].error);
            assert_int_equal(ACTION(&program, SYS_fcntl, 0, command), denied);
            assert_int_equal(ACTION(&program, SYS_fcntl, 0, GARBAGE | command), denied);
        }
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
            assert_int_equal(ACTION(&program, SYS_fcntl, 0, others[i]), SECCOMP_RET_ALLOW);
    }
}

/* Done, without the kernel. */
static void test_evicting(void **state)
{
    static const uint64_t others[] = {POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL,
                                      POSIX_FADV_WILLNEED, POSIX_FADV_NOREUSE};
    static const uint64_t advice = POSIX_FADV_DONTNEED;
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        assert_int_equal(ACTION(&program, SYS_fadvise64, 0, 0, 0, advice), DENIED(0));
        assert_int_equal(ACTION(&program, SYS_fadvise64, 0, 0, 0, GARBAGE | advice), DENIED(0));
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
            assert_int_equal(ACTION(&program, SYS_fadvise64, 0, 0, 0, others[i]),
                             SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_madvise, 0, 0, GARBAGE | MADV_PAGEOUT), DENIED(0));
        assert_int_equal(ACTION(&program, SYS_madvise, 0, 0, MADV_COLD), DENIED(0));
        assert_int_equal(ACTION(&program, SYS_madvise, 0, 0, MADV_WILLNEED), SECCOMP_RET_ALLOW);
    }
}

static void test_writing(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        assert_int_equal(ACTION(&program, SYS_msync, 0, 4096, MS_SYNC), DENIED(0));
        assert_int_equal(ACTION(&program, SYS_msync, 0, 4096, MS_SYNC | MS_INVALIDATE), DENIED(0));
        assert_int_equal(ACTION(&program, SYS_msync, 0, 4096, MS_ASYNC), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_ioctl, 0, GARBAGE | FS_IOC_FIEMAP),
                         DENIED(EOPNOTSUPP));
    }
}

/* Options that nobody has reviewed do not exist, but for three that begin elsewhere. */
static void test_new_options(void **state)
{
    static const uint64_t unknown[] = {77,
                                       78 /* PR_FUTEX_HASH */,
                                       79,
                                       1000,
                                       INT32_MAX,
                                       UINT32_MAX,
                                       PR_SET_VMA - 1,
                                       PR_SET_PTRACER + 1};
    static const uint64_t known[] = {PR_SET_PDEATHSIG, PR_SET_NAME, 76, PR_SET_VMA,
                                     PR_SET_PTRACER,   0x41555856 /* PR_GET_AUXV */};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
            assert_int_equal(ACTION(&program, SYS_prctl, unknown[i]), DENIED(EINVAL));
            assert_int_equal(ACTION(&program, SYS_prctl, GARBAGE | unknown[i]), DENIED(EINVAL));
        }
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
            assert_int_equal(ACTION(&program, SYS_prctl, known[i]), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_getpid, 78), SECCOMP_RET_ALLOW);
    }
}

/* --- filters, limits ---------------------------------------------------------------------- */

static void test_filters(void **state)
{
    static const uint64_t options[] = {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
                                       SO_ATTACH_REUSEPORT_EBPF};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
            assert_int_equal(
                ACTION(&program, SYS_setsockopt, 3, GARBAGE | SOL_SOCKET, GARBAGE | options[i]),
                DENIED(ENOPROTOOPT));
            assert_int_equal(ACTION(&program, SYS_setsockopt, 3, 6 /* TCP */, options[i]),
                             SECCOMP_RET_ALLOW);
            assert_int_equal(ACTION(&program, SYS_getsockopt, 3, SOL_SOCKET, options[i]),
                             SECCOMP_RET_ALLOW);
        }
        assert_int_equal(ACTION(&program, SYS_setsockopt, 3, SOL_SOCKET, SO_SNDBUF),
                         SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER),
                         DENIED(EINVAL));
        assert_int_equal(ACTION(&program, SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT),
                         SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_prctl, PR_GET_SECCOMP, SECCOMP_MODE_FILTER),
                         SECCOMP_RET_ALLOW);
    }
}

/* The limit of core dumps stays, and who sets it hears that it is set. */
static void test_core_limit(void **state)
{
    static const uint64_t high = UINT64_C(1) << 32; /* a pointer whose low half is 0 */
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        assert_int_equal(ACTION(&program, SYS_setrlimit, GARBAGE | RLIMIT_CORE, high), DENIED(0));
        assert_int_equal(ACTION(&program, SYS_setrlimit, RLIMIT_AS, high), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_getrlimit, RLIMIT_CORE, high), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_prlimit64, 0, GARBAGE | RLIMIT_CORE, high, 0),
                         DENIED(0));
        assert_int_equal(ACTION(&program, SYS_prlimit64, 0, RLIMIT_CORE, high, high),
                         DENIED(EPERM));
        assert_int_equal(ACTION(&program, SYS_prlimit64, 0, RLIMIT_CORE, 0, high),
                         SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_prlimit64, 0, RLIMIT_NOFILE, high, high),
                         SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_prlimit64, 1, RLIMIT_CORE, high, 0), DENIED(EPERM));
    }
}

/* --- memory ------------------------------------------------------------------------------- */

/* Files without a name are allowed only where a control group bounds what they take. */
static void test_memory_files(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++)
        for (unsigned bounds = 0; bounds < 2; bounds++) {
            bool may = bounds && layer_in(layer_sets[s], LAYER_CGROUP);
            assert_true(read_with(layer_sets[s], bounds, &program));
            assert_int_equal(ACTION(&program, SYS_memfd_create, 1, 1),
                             may ? SECCOMP_RET_ALLOW : DENIED(ENOSYS));
            assert_int_equal(ACTION(&program, SYS_memfd_create, 1, MFD_HUGETLB), DENIED(ENOSYS));
            assert_int_equal(ACTION(&program, 447 /* memfd_secret */, 1), DENIED(ENOSYS));
        }
}

/* Huge pages of the host's pool: either refusal will do where both rules apply. */
static void test_huge_pages(void **state)
{
    static const uint64_t types[] = {MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE | 21 << MAP_HUGE_SHIFT};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++)
        for (unsigned bounds = 0; bounds < 2; bounds++) {
            assert_true(read_with(layer_sets[s], bounds, &program));
            for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                uint64_t flags = types[i] | MAP_ANONYMOUS | MAP_HUGETLB;
                uint32_t action = ACTION(&program, SYS_mmap, 0, 4096, PROT_READ, flags, -1);
                assert_true(action == DENIED(ENOMEM) ||
                            (types[i] == MAP_SHARED && action == DENIED(ENOTSUP)));
            }
        }
}

static void test_merging(void **state)
{
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        assert_true(read_program(layer_sets[s], &program));
        assert_int_equal(ACTION(&program, SYS_madvise, 0, 0, GARBAGE | MADV_MERGEABLE),
                         DENIED(EINVAL));
        assert_int_equal(ACTION(&program, SYS_madvise, 0, 0, MADV_HUGEPAGE), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_madvise, 0, 0, MADV_DONTNEED), SECCOMP_RET_ALLOW);
        assert_int_equal(ACTION(&program, SYS_prctl, GARBAGE | 67, 1), DENIED(EINVAL));
        assert_int_equal(ACTION(&program, SYS_prctl, PR_SET_NAME, 67), SECCOMP_RET_ALLOW);
    }
}

/* Memory that processes share without a file is allowed only there, too. */
static void test_shared_memory(void **state)
{
    static const uint64_t shared[] = {MAP_SHARED, MAP_SHARED_VALIDATE, MAP_SHARED | MAP_NORESERVE,
                                      GARBAGE | MAP_SHARED};
    static struct program program;
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++)
        for (unsigned bounds = 0; bounds < 2; bounds++) {
            bool may = bounds && layer_in(layer_sets[s], LAYER_CGROUP);
            assert_true(read_with(layer_sets[s], bounds, &program));
            for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
                uint64_t flags = shared[i] | MAP_ANONYMOUS;
                assert_int_equal(ACTION(&program, SYS_mmap, 0, 4096, PROT_READ, flags, -1),
                                 may ? SECCOMP_RET_ALLOW : DENIED(ENOTSUP));
                assert_int_equal(ACTION(&program, SYS_mmap, 0, 4096, PROT_READ, shared[i], 3),
                                 SECCOMP_RET_ALLOW);
            }
            assert_int_equal(ACTION(&program, SYS_mmap, 0, 4096, PROT_READ,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1),
                             SECCOMP_RET_ALLOW);
        }
}

/* --- what must go on ---------------------------------------------------------------------- */

static void *answer(void *argument)
{
    *(int *)argument = 42;
    return NULL;
}

static int run_processes(void)
{
    int status, answered = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(3);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
    pthread_t thread; /* libc tries clone3 first */
    CHECK(pthread_create(&thread, NULL, answer, &answered) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && answered == 42);
    char *argv[] = {(char *)(uintptr_t) "true", NULL}, *envp[] = {NULL};
    CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK((pid = vfork()) >= 0);
    if (pid == 0)
        _exit(4);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
    CHECK(kill(getpid(), 0) == 0 && kill(0, 0) == 0 && setsid() > 0);
    return 0;
}

static int use_descriptors(void)
{
    int fds[2];
    char byte = 'x';
    uint64_t one = 1;
    CHECK(pipe2(fds, O_CLOEXEC) == 0 && write(fds[1], &byte, 1) == 1);
    struct pollfd poll_fd = {.fd = fds[0], .events = POLLIN};
    CHECK(poll(&poll_fd, 1, 1000) == 1 && read(fds[0], &byte, 1) == 1);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    CHECK(send(fds[0], &byte, 1, 0) == 1 && recv(fds[1], &byte, 1, 0) == 1);
    int event = eventfd(0, EFD_CLOEXEC), epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(write(event, &one, sizeof(one)) == sizeof(one));
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &(struct epoll_event){.events = EPOLLIN}) == 0);
    CHECK(epoll_wait(epoll, &(struct epoll_event){0}, 1, 1000) == 1);
    CHECK(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) >= 0);
    return 0;
}

static int use_files(void)
{
    char path[] = "/tmp/test_filter.XXXXXX", name[64];
    CHECK(mkdtemp(path) != NULL);
    (void)snprintf(name, sizeof(name), "%s/file", path);
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, "text", 4) == 4 && fchmod(fd, 0755) == 0 && flock(fd, LOCK_EX) == 0);
    CHECK(fcntl(fd, F_SETLK, &(struct flock){.l_type = F_WRLCK}) == 0);
    void *mapped = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(mapped != MAP_FAILED && memcmp(mapped, "text", 4) == 0);
    CHECK(utimensat(AT_FDCWD, name, NULL, 0) == 0 && ftruncate(fd, 2) == 0 && fsync(fd) == 0);
    FILE *stream = tmpfile(); /* O_TMPFILE with a plain mode */
    CHECK(stream && fputs("x", stream) >= 0 && fclose(stream) == 0);
    close_fd(fd);
    CHECK(unlink(name) == 0 && rmdir(path) == 0);
    return 0;
}

static int ordinary_things(void *argument)
{
    struct timespec now;
    struct rlimit limit;
    if (load(*(const uint32_t *)argument) != 0)
        return 1;
    if (run_processes() != 0 || use_descriptors() != 0 || use_files() != 0)
        return 1;
    CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0 &&
          nanosleep(&(struct timespec){0, 1}, NULL) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(sched_yield() == 0 && getpriority(PRIO_PROCESS, 0) >= -20);
    return 0;
}

static void test_ordinary_things(void **state)
{
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(layer_sets); s++) {
        uint32_t layers = layer_sets[s];
        run_scenario(ordinary_things, &layers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_memory_is_sealed),
        SCENARIO(no_descriptor),
        cmocka_unit_test(test_every_number),
        cmocka_unit_test(test_pass),
        cmocka_unit_test(test_foreign_instruction_sets),
        cmocka_unit_test(test_try_refused),
        SCENARIO(int80),
        SCENARIO(x32),
        cmocka_unit_test(test_namespaces),
        SCENARIO(try_namespaces),
        cmocka_unit_test(test_pids_of_a_jail),
        cmocka_unit_test(test_pids_of_the_host),
        cmocka_unit_test(test_groups_of_processes),
        cmocka_unit_test(test_priorities),
        SCENARIO(try_priorities),
        SCENARIO(try_pids_of_a_jail),
        SCENARIO(try_pids_of_the_host),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_try_sockets),
        cmocka_unit_test(test_set_id),
        cmocka_unit_test(test_set_id_by_open),
        SCENARIO(try_set_id),
        cmocka_unit_test(test_personality),
        cmocka_unit_test(test_terminals),
        SCENARIO(try_terminals),
        cmocka_unit_test(test_inode_flags),
        cmocka_unit_test(test_watching),
        cmocka_unit_test(test_evicting),
        cmocka_unit_test(test_new_options),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_core_limit),
        cmocka_unit_test(test_memory_files),
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_ordinary_things),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
