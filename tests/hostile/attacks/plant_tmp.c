/* SPDX-License-Identifier: MIT */
/* Leaves files in /tmp, /var/tmp and /dev/shm for the next job to find.
 * Stopped by: filesystem (private ones, emptied), landlock unless jobs may write to them. */
#include "plant.h"

int main(int argc, char **argv)
{
    static const char *const directories[] = {"/tmp", "/var/tmp", "/dev/shm"};
    char path[128];
    int made = 0;
    const char *token = argument(argc, argv, 2);
    bool plant = is_step(argc, argv, "plant");
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        /* A directory named by the token alone may belong to the test. */
        (void)snprintf(path, sizeof(path), "%s/%s-plant", directories[i], token);
        if (!plant && access(path, F_OK) == 0)
            succeeded("the next job found %s", path);
        int fd = plant ? open(path, O_WRONLY | O_CREAT, 0644) : -1;
        if (fd < 0)
            barred("%s", path);
        made += fd >= 0;
        (void)close(fd);
    }
    if (plant && made > 0)
        planted();
    all_barred();
}
