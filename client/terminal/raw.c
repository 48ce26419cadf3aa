/* SPDX-License-Identifier: MIT */
#include "raw.h"

#include <errno.h>

int raw_enter(struct raw *raw, int fd)
{
    struct termios now;
    if (tcgetattr(fd, &now) < 0)
        return -errno;
    if (!raw->is_on)
        raw->saved = now;
    raw->fd = fd;
    cfmakeraw(&now);
    if (tcsetattr(fd, TCSADRAIN, &now) < 0)
        return -errno;
    raw->is_on = true;
    return 0;
}

void raw_leave(struct raw *raw)
{
    if (!raw->is_on)
        return;
    raw->is_on = false;
    (void)tcsetattr(raw->fd, TCSAFLUSH, &raw->saved);
}
