/* SPDX-License-Identifier: MIT */
#pragma once
/* Passes on what a job writes, byte for byte. A reader that does not read must not keep a signal
 * waiting. */

#include <stddef.h>

/* Writes N bytes of DATA to FD, and waits for its reader as long as it takes. 0; -EINTR if WAKE_FD
 * (-1: none) is readable, and then a part may be written; -EPIPE if nobody reads FD any more;
 * another negative errno. */
int relay_write(int fd, const char *data, size_t n, int wake_fd);
