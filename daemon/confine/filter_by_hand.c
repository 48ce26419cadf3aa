/* SPDX-License-Identifier: MIT */
#include "filter_by_hand.h"

#include "daemon/jail/enclosure.h"
#include "proto/util.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* The newest system call known when this list was written. Newer ones do not exist for jobs until
 * somebody has reviewed them. */
#define NEWEST_KNOWN 450

/* The newest option of prctl() known when this was written, but for those that begin elsewhere. */
#define NEWEST_PRCTL 76

#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_CLASS(class) ((uint32_t)(class) << 13)
#define IOPRIO_CLASS_REAL_TIME IOPRIO_CLASS(1)

#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856 /* since Linux 6.4 */
#endif

/* Writes the part that refuses all system calls above a number, in any architecture. */
static int write_newer(int fd)
{
    static const struct sock_filter newer[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST_KNOWN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    return write(fd, newer, sizeof(newer)) == (ssize_t)sizeof(newer) ? 0 : -errno;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_HALF 0
#else
#define LOW_HALF 4
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define LOAD_ARGUMENT(index)           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
             offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t) + LOW_HALF)
/* How many instructions to skip if the value is K, and if it is not. */
#define IF(k, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (then), (otherwise))
#define IF_LEAST(k, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (k), (then), (otherwise))
#define IF_BITS(k, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), (then), (otherwise))
#define KEEP(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (bits))
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

/* Writes the part about the calls that steer a process. A job may steer its own processes: in a pid
 * namespace of their own, those whose pids the jail and its twin do not take; elsewhere only the
 * one that calls. The jail's identity may be the job's, so the kernel would permit more.
 *
 * No process of a job changes its priority. One of the lowest priority that holds a lock of the
 * kernel, while others of the job occupy the CPUs, holds up whoever needs that lock: a neighbour,
 * the daemon, the jail. The kernel lends such a holder no priority.
 *
 * What any process may ask for is answered as done, since programs ask (nice, ionice, runtimes) and
 * few would go on after a refusal. What takes a right gets the kernel's refusal. So does a policy
 * that is not known here, which may come after the ordinary one (SCHED_EXT). What sched_setattr()
 * asks for is in memory, where a filter cannot see it; it would also give the others longer slices.
 *
 * The rules overlap and differ in their answers, for which libseccomp has no order. */
static int write_processes(int fd, bool own_pids)
{
    /* Two instructions, which the answer to a pid that is not the job's follows. */
    const struct sock_filter if_not_itself = IF(0, 2, 0),
                             and_not_own =
                                 own_pids
                                     ? (struct sock_filter)IF_LEAST(ENCLOSURE_PIDS_OF_JOB, 1, 0)
                                     : (struct sock_filter)IF(0, 0, 0);
    const struct sock_filter processes[] = {
        LOAD(arch),
        IF(seccomp_arch_native(), 1, 0),
        ANSWER(ENOSYS), /* as libseccomp's program would */
        LOAD(nr),

        IF(SYS_setpriority, 0, 11),
        LOAD_ARGUMENT(0),
        IF(PRIO_PROCESS, 1, 0), /* not whole groups and users */
        ANSWER(EPERM),
        LOAD_ARGUMENT(1),
        if_not_itself,
        and_not_own,
        ANSWER(EPERM),
        LOAD_ARGUMENT(2),
        IF_BITS(UINT32_C(1) << 31, 0, 1), /* negative */
        ANSWER(EACCES),
        ANSWER(0),

        IF(SYS_ioprio_set, 0, 12),
        LOAD_ARGUMENT(0),
        IF(IOPRIO_WHO_PROCESS, 1, 0),
        ANSWER(EPERM),
        LOAD_ARGUMENT(1),
        if_not_itself,
        and_not_own,
        ANSWER(EPERM),
        LOAD_ARGUMENT(2),
        KEEP(IOPRIO_CLASS(7)),
        IF(IOPRIO_CLASS_REAL_TIME, 0, 1),
        ANSWER(EPERM),
        ANSWER(0),

        IF(SYS_sched_setscheduler, 0, 11),
        LOAD_ARGUMENT(0),
        if_not_itself,
        and_not_own,
        ANSWER(EPERM),
        LOAD_ARGUMENT(1),
        KEEP(~(uint32_t)SCHED_RESET_ON_FORK),
        IF(SCHED_NORMAL, 3, 0),
        IF(SCHED_BATCH, 2, 0),
        IF(SCHED_IDLE, 1, 0),
        ANSWER(EPERM),
        ANSWER(0),

        IF(SYS_sched_setattr, 0, 5),
        LOAD_ARGUMENT(0),
        if_not_itself,
        and_not_own,
        ANSWER(EPERM),
        ANSWER(0),

        /* The latter changes nothing of a process that is not of real time. */
        IF(SYS_prlimit64, 1, 0),
        IF(SYS_sched_setparam, 0, 4),
        LOAD_ARGUMENT(0),
        if_not_itself,
        and_not_own,
        ANSWER(EPERM),
    };
    return write(fd, processes, sizeof(processes)) == (ssize_t)sizeof(processes) ? 0 : -errno;
}

/* Writes the part about prctl(): newer options do not exist for jobs until somebody has reviewed
 * them, like newer system calls. One has the kernel make a table of any size, which nobody counts
 * (PR_FUTEX_HASH). */
static int write_prctl(int fd)
{
    static const struct sock_filter options[] = {
        LOAD(nr),
        IF(SYS_prctl, 0, 6),
        LOAD_ARGUMENT(0),
        IF_LEAST(NEWEST_PRCTL + 1, 0, 4),
        IF(PR_SET_VMA, 3, 0),
        IF(PR_SET_PTRACER, 2, 0),
        IF(PR_GET_AUXV, 1, 0),
        ANSWER(EINVAL),
    };
    return write(fd, options, sizeof(options)) == (ssize_t)sizeof(options) ? 0 : -errno;
}

int filter_by_hand(int fd, bool own_pids)
{
    int r = write_newer(fd);
    if (r == 0)
        r = write_processes(fd, own_pids);
    return r == 0 ? write_prctl(fd) : r;
}
