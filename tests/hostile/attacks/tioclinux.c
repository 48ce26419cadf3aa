/* SPDX-License-Identifier: MIT */
/* Calls TIOCLINUX, which can paste text into the console. Asks only for the state of the shift
 * keys. Stopped by: filesystem (no terminal), user_namespace, seccomp. */
#include "attack.h"

#include <sys/ioctl.h>

int main(void)
{
    static const char *const devices[] = {"/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1"};
    char request = 6; /* TIOCL_GETSHIFTSTATE */
    for (int fd = 0; fd < 3; fd++) {
        if (ioctl(fd, TIOCLINUX, &request) >= 0)
            succeeded("TIOCLINUX on descriptor %d", fd);
        barred("TIOCLINUX on descriptor %d", fd);
    }
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        int fd = open(devices[i], O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0 && ioctl(fd, TIOCLINUX, &request) >= 0)
            succeeded("TIOCLINUX on %s", devices[i]);
        barred("TIOCLINUX on %s", devices[i]);
    }
    all_barred();
}
