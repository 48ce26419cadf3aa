/* SPDX-License-Identifier: MIT */
/* Leaves a System V message queue with a message for the next job. Arguments: plant or find, a key.
 * Stopped by: the ipc namespace if the jail empties it, seccomp. */
#include "plant.h"

#include <sys/ipc.h>
#include <sys/msg.h>

int main(int argc, char **argv)
{
    struct {
        long type;
        char text[8];
    } message = {1, "hello"};
    key_t key = (key_t)argument_number(argc, argv, 2);
    bool plant = is_step(argc, argv, "plant");
    int id = msgget(key, plant ? IPC_CREAT | 0666 : 0);
    if (id < 0) {
        barred("msgget");
        all_barred();
    }
    if (plant) {
        if (msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) < 0)
            barred("msgsnd");
        planted();
    }
    (void)msgctl(id, IPC_RMID, NULL);
    succeeded("the next job found the queue");
}
