/* SPDX-License-Identifier: MIT */
/* Leaves System V shared memory for the next job. Arguments: plant or find, a key.
 * Stopped by: the ipc namespace, made with the pid_namespace, if the jail empties it; seccomp. */
#include "plant.h"

#include <sys/ipc.h>
#include <sys/shm.h>

int main(int argc, char **argv)
{
    key_t key = (key_t)argument_number(argc, argv, 2);
    bool plant = is_step(argc, argv, "plant");
    int id = shmget(key, 4096, plant ? IPC_CREAT | 0666 : 0);
    if (id < 0) {
        barred("shmget");
        all_barred();
    }
    if (plant)
        planted();
    (void)shmctl(id, IPC_RMID, NULL);
    succeeded("the next job found the segment");
}
