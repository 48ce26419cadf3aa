/* SPDX-License-Identifier: MIT */
/* Makes segment descriptors, a part of the kernel with a history of bugs.
 * Stopped by: seccomp. */
#include "attack.h"

int main(void)
{
    char table[64];
    must_not_get_in(syscall(SYS_modify_ldt, 0, table, sizeof(table)), "modify_ldt");
    all_barred();
}
