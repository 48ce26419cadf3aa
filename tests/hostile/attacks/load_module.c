/* SPDX-License-Identifier: MIT */
/* Loads a module without any code, and removes one that does not exist.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

int main(void)
{
    must_not_get_in(syscall(SYS_init_module, "", 0, ""), "init_module");
    must_not_get_in(syscall(SYS_finit_module, -1, "", 0), "finit_module");
    must_not_get_in(syscall(SYS_delete_module, "rubricd_no_such_module", O_NONBLOCK),
                    "delete_module");
    all_barred();
}
