/* SPDX-License-Identifier: MIT */
#pragma once
/* How much memory the processes of a job take together, on hosts without a control group to tell
 * it. */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whose memory is counted: that of all processes but the jail. */
struct tree_memory {
    int proc;      /* a /proc of the jail's pid namespace that hides none */
    pid_t twin;    /* not counted either; 0: none */
    pid_t inner;   /* likewise: a template in the twin */
    uint64_t pass; /* see pass.h */
    bool (*is_same)(pid_t one, pid_t other, uint64_t pass); /* same_memory(), but in tests */
    uint64_t cpu_ms; /* CPU time that counting may take; 0: any */
};

/* What a job must not exceed in order to be counted. A job with much memory takes a tenth of it. */
#define TREE_MEMORY_CPU_MS 2000

/* Returns 1 if the processes have more than BYTES resident, swapped out or in page tables, and 0 if
 * not. Shared pages count once, and so does memory that several processes run in, if each is a
 * child of another. -EAGAIN: those that could be read have not; others could not be, or had ended.
 * A job can make counting take long: -EINTR as soon as one of the COUNT descriptors UNTIL is ready;
 * and 1 if it takes more than the CPU time that it may, since nobody would know what the processes
 * have got meanwhile. */
int tree_memory_exceeds(const struct tree_memory *tree, uint64_t bytes, struct pollfd *until,
                        nfds_t count);
