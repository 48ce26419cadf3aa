/* SPDX-License-Identifier: MIT */
/* Makes an io_uring, whose operations bypass a filter of system calls.
 * Stopped by: seccomp. */
#include "attack.h"

#include <linux/io_uring.h>

int main(void)
{
    struct io_uring_params parameters = {0};
    if (syscall(SYS_io_uring_setup, 4, &parameters) >= 0)
        succeeded("an io_uring");
    barred("io_uring_setup");
    all_barred();
}
