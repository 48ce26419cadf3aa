/* SPDX-License-Identifier: MIT */
/* Asks for the handle of a file: the first step to open a file below a mount that hides it.
 * Stopped by: seccomp. */
#include "attack.h"

int main(void)
{
    struct {
        struct file_handle header;
        unsigned char bytes[MAX_HANDLE_SZ];
    } handle = {.header = {.handle_bytes = MAX_HANDLE_SZ}};
    int mount_id;
    if (syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &handle, &mount_id, 0) == 0)
        succeeded("a handle of /usr");
    barred("name_to_handle_at");
    all_barred();
}
