/* SPDX-License-Identifier: MIT */
/* Gets access to the I/O ports of the machine.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

#include <sys/io.h>

int main(void)
{
    must_not_get_in(iopl(3), "iopl");
    must_not_get_in(ioperm(0x80, 1, 1), "ioperm");
    all_barred();
}
