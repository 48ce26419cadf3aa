/* SPDX-License-Identifier: MIT */
/* Turns on process accounting, to a file that does not exist.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

int main(void)
{
    must_not_get_in(acct("/nonexistent/rubricd"), "acct");
    all_barred();
}
