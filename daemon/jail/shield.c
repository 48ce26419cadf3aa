/* SPDX-License-Identifier: MIT */
#include "shield.h"
#include "enclosure.h"

#include "proto/util.h"

#include <asm/sockios.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_HALF 0
#else
#define LOW_HALF 4
#endif

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define LOAD_ARGUMENT(index)           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
             offsetof(struct seccomp_data, args) + (index) * sizeof(uint64_t) + LOW_HALF)
/* How many instructions to skip if the value is K, and if it is not. */
#define IF(k, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (then), (otherwise))
#define IF_LEAST(k, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (k), (then), (otherwise))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* Refuses the call if its argument INDEX is a low pid, or the group of one, or everybody. */
#define KEEP_FROM(call, index)                                    \
    IF(SYS_##call, 0, 6), LOAD_ARGUMENT(index), IF(0, 2, 0),      \
        IF_LEAST((uint32_t) - (ENCLOSURE_PIDS_OF_JOB - 1), 2, 0), \
        IF_LEAST(ENCLOSURE_PIDS_OF_JOB, 0, 1), ALLOW, REFUSE

/* Refuses the call if its argument 1 is VALUE. */
#define REFUSE_REQUEST(call, value) \
    IF(SYS_##call, 0, 4), LOAD_ARGUMENT(1), IF((uint32_t)(value), 0, 1), REFUSE, LOAD_NUMBER

int shield_low_pids(uint64_t pass)
{
    /* The jail's filter already refuses other architectures' calls, so check no architecture. */
    static struct sock_filter instructions[] = {
        LOAD_NUMBER,
        KEEP_FROM(kill, 0),
        KEEP_FROM(tkill, 0),
        KEEP_FROM(tgkill, 0),
        KEEP_FROM(rt_sigqueueinfo, 0),
        KEEP_FROM(rt_tgsigqueueinfo, 0),
        KEEP_FROM(pidfd_open, 0),
        KEEP_FROM(setpgid, 1),           /* a signal to the own group would reach it then */
        IF(SYS_pidfd_send_signal, 0, 1), /* there are other ways to a pidfd */
        REFUSE,
        REFUSE_REQUEST(fcntl, F_SETOWN),
        REFUSE_REQUEST(fcntl, F_SETOWN_EX),
        REFUSE_REQUEST(ioctl, FIOSETOWN),
        REFUSE_REQUEST(ioctl, SIOCSPGRP),
        ALLOW,
    };
    struct sock_fprog program = {.len = ARRAY_SIZE(instructions), .filter = instructions};
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program, 0, 0, pass);
    return r < 0 ? -errno : 0;
}
