/* SPDX-License-Identifier: MIT */
/* Leaves a POSIX message queue for the next job. Arguments: plant or find, a name.
 * Stopped by: rlimits (RLIMIT_MSGQUEUE is 0), the ipc namespace if the jail empties it, seccomp. */
#include "plant.h"

#include <mqueue.h>

int main(int argc, char **argv)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 16};
    char name[64];
    bool plant = is_step(argc, argv, "plant");
    (void)snprintf(name, sizeof(name), "/%s", argument(argc, argv, 2));
    mqd_t queue = mq_open(name, plant ? O_RDWR | O_CREAT : O_RDWR, 0666, &attributes);
    if (queue == (mqd_t)-1) {
        barred("mq_open");
        all_barred();
    }
    if (plant)
        planted();
    (void)mq_unlink(name);
    succeeded("the next job found the queue");
}
