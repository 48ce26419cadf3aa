/* SPDX-License-Identifier: MIT */
/* Changes its personality: addresses that are not random, pages that can be executed.
 * Stopped by: seccomp. */
#include "attack.h"

#include <sys/personality.h>

int main(void)
{
    int now = personality(0xffffffff);
    if (personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC) >= 0)
        succeeded("personality %x became another", (unsigned)now);
    barred("personality");
    all_barred();
}
