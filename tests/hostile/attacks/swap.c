/* SPDX-License-Identifier: MIT */
/* Turns on swapping to a file that does not exist.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

#include <sys/swap.h>

int main(void)
{
    must_not_get_in(swapon("/nonexistent/rubricd", 0), "swapon");
    must_not_get_in(swapoff("/nonexistent/rubricd"), "swapoff");
    all_barred();
}
