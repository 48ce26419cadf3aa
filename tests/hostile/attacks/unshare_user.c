/* SPDX-License-Identifier: MIT */
/* Makes a user namespace by unshare(), to have every capability in it.
 * Stopped by: seccomp, user_namespace (in which the job may make no further one). */
#include "attack.h"

int main(void)
{
    if (enter_new_namespaces(0))
        succeeded("a user namespace, as root of it");
    all_barred();
}
