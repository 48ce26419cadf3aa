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
    /* Stops the processes, and has them go on; NULL: nobody does. */
    void (*hold)(bool is_held);
    bool is_held;
    uint64_t held_since_ns;
    bool is_suspect; /* the last count needed them to be held, or should have had them held */
};

/* CPU time that counting may take. A count takes some 13 ms for each GiB that processes have
 * resident, also if they share it, for which there is TREE_MEMORY_CPU_MS_PER_GIB. */
#define TREE_MEMORY_CPU_MS 2000
#define TREE_MEMORY_CPU_MS_PER_GIB 30
#define TREE_MEMORY_CPU_MS_MAX 10000

/* A count that takes longer than this goes on while the processes are held: nobody would know what
 * they have got meanwhile. So does one of which the first, quick part has taken long, as on a host
 * whose CPUs the job itself keeps busy. */
#define TREE_MEMORY_HOLD_MS 200
#define TREE_MEMORY_SLOW_MS 50

/* Stops all processes of this process's own pid namespace but itself, or has them go on. */
void tree_memory_stop(bool is_held);

/* Holds the processes until tree_memory_let_go(), which returns for how many milliseconds they were
 * held; 0 if they were not. */
void tree_memory_hold(struct tree_memory *tree);
uint64_t tree_memory_let_go(struct tree_memory *tree);

/* Returns 1 if the processes have more than BYTES resident, swapped out or in page tables, and 0 if
 * not. Shared pages count once, and so does memory that several processes run in, if each is a
 * child of another. -EAGAIN: those that could be read have not; others could not be, or had ended.
 * A job can make counting take long: then the processes are held, and the caller has to let them
 * go; -EINTR as soon as one of the COUNT descriptors UNTIL is ready; 1 if it takes more than the
 * CPU time that it may. */
int tree_memory_exceeds(struct tree_memory *tree, uint64_t bytes, struct pollfd *until,
                        nfds_t count);
