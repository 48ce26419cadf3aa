/* SPDX-License-Identifier: MIT */
/* Takes contexts for asynchronous input and output, of which the host has a fixed number of events
 * (fs.aio-max-nr) for everybody. Stopped by: seccomp. */
#include "attack.h"

#include <linux/aio_abi.h>

int main(void)
{
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 64, &context) == 0)
        succeeded("64 of the host's events");
    barred("io_setup");
    if (errno == EAGAIN)
        succeeded("io_setup was let in, but the host has none left");
    all_barred();
}
