/* SPDX-License-Identifier: MIT */
/* Leaves a System V semaphore for the next job. Arguments: plant or find, a key.
 * Stopped by: the ipc namespace if the jail empties it, seccomp. */
#include "plant.h"

#include <sys/ipc.h>
#include <sys/sem.h>

int main(int argc, char **argv)
{
    key_t key = (key_t)argument_number(argc, argv, 2);
    bool plant = is_step(argc, argv, "plant");
    int id = semget(key, 1, plant ? IPC_CREAT | 0666 : 0);
    if (id < 0) {
        barred("semget");
        all_barred();
    }
    if (plant)
        planted();
    (void)semctl(id, 0, IPC_RMID);
    succeeded("the next job found the semaphore");
}
