/* SPDX-License-Identifier: MIT */
/* Hangs up the terminal.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

int main(void)
{
    (void)setsid(); /* so that there is no terminal to hang up on success */
    must_not_get_in(vhangup(), "vhangup");
    all_barred();
}
