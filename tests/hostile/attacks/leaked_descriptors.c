/* SPDX-License-Identifier: MIT */
/* Looks for descriptors that are open beside 0, 1 and 2.
 * Stopped by: what is always in force, the descriptors are closed before the program starts. */
#include "attack.h"

int main(void)
{
    for (int fd = 3; fd < 65536; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            succeeded("descriptor %d is open", fd);
    refused("nothing is open but 0, 1 and 2: %s", errno_name(EBADF));
}
