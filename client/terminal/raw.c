/* SPDX-License-Identifier: MIT */
#include "raw.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* Somebody may type for ever. */
#define DROPS_MAX 1000

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

/* Reads what is there. A flush alone leaves what the kernel has not handed to the terminal yet. */
static void drop_typed(int fd)
{
    char dropped[4096];
    struct pollfd typed = {.fd = fd, .events = POLLIN};
    for (int i = 0; i < DROPS_MAX && poll(&typed, 1, 0) == 1 && (typed.revents & POLLIN); i++)
        if (read(fd, dropped, sizeof(dropped)) <= 0)
            return;
}

void raw_leave(struct raw *raw)
{
    if (!raw->is_on)
        return;
    raw->is_on = false;
    drop_typed(raw->fd);
    (void)tcsetattr(raw->fd, TCSAFLUSH, &raw->saved);
}
