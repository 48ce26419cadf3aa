/* SPDX-License-Identifier: MIT */
/* Injects input into a terminal: the one on stdin, stdout or stderr, /dev/tty, and a new
 * pseudo-terminal.
 * Stopped by: filesystem (no /dev/ptmx, no /dev/tty), seccomp. */
#include "attack.h"

#include <sys/ioctl.h>

static void type_into(int fd, const char *name)
{
    char key = ' ';
    if (ioctl(fd, TIOCSTI, &key) == 0)
        succeeded("typed into %s", name);
    barred("TIOCSTI on %s", name);
}

int main(void)
{
    type_into(0, "stdin");
    type_into(1, "stdout");
    type_into(2, "stderr");
    int fd = open("/dev/tty", O_RDWR);
    if (fd < 0)
        barred("/dev/tty");
    else
        type_into(fd, "/dev/tty");
    (void)setsid();
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) {
        barred("posix_openpt");
        all_barred();
    }
    int zero = 0;
    (void)ioctl(master, TIOCSPTLCK, &zero);
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR);
    if (slave < 0) {
        barred("the slave of a pseudo terminal");
        all_barred();
    }
    (void)ioctl(slave, TIOCSCTTY, 0);
    type_into(slave, "a terminal of its own");
    all_barred();
}
