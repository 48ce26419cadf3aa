/* SPDX-License-Identifier: MIT */
/* Sets the names of the host and of its domain, to values that change nothing.
 * Stopped by: user_namespace (no CAP_SYS_ADMIN), seccomp. */
#include "attack.h"

int main(void)
{
    char name[256] = "";
    (void)gethostname(name, sizeof(name) - 1);
    must_not_get_in(sethostname(name, strlen(name)), "sethostname");
    must_not_get_in(syscall(SYS_setdomainname, name, 100000),
                    "setdomainname"); /* too long: EINVAL if permitted */
    all_barred();
}
