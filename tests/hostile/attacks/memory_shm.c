/* SPDX-License-Identifier: MIT */
/* Allocates System V shared memory and attaches one piece at a time, so that a limit on address
 * space does not hold it. Argument: MiB. Stopped by: cgroup (memory.max), seccomp (no System V
 * shared memory). */
#include "attack.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#define PIECE (4 << 20)

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1), got = 0;
    int ids[4096];
    size_t count = 0;
    while (got < goal && count < COUNT_OF(ids)) {
        int id = shmget(IPC_PRIVATE, PIECE, 0600);
        void *piece = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
        if (id < 0 || piece == (void *)-1) {
            barred("shmget and shmat after %ld MiB", got);
            break;
        }
        (void)memset(piece, 1, PIECE);
        (void)shmdt(piece);
        ids[count++] = id;
        got += PIECE >> 20;
    }
    for (size_t i = 0; i < count; i++)
        (void)shmctl(ids[i], IPC_RMID, NULL);
    if (got >= goal)
        succeeded("%ld MiB of shared memory", got);
    all_barred();
}
