/* SPDX-License-Identifier: MIT */
/* Calls kexec_load() without a kernel, which at most unloads one.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

int main(void)
{
    must_not_get_in(syscall(SYS_kexec_load, 0, 0, NULL, 0), "kexec_load");
    must_not_get_in(syscall(SYS_kexec_file_load, -1, -1, 0, "", 0), "kexec_file_load");
    all_barred();
}
