/* SPDX-License-Identifier: MIT */
/* Opens the root directory of the underlying file system by a guessed handle, which bypasses
 * mounts. Stopped by: user_namespace (no CAP_DAC_READ_SEARCH over the host), seccomp. */
#include "attack.h"

int main(void)
{
    struct {
        struct file_handle header;
        unsigned char bytes[8];
    } handle = {.header = {.handle_bytes = 8, .handle_type = 1}, .bytes = {2, 0, 0, 0, 0, 0, 0, 0}};
    static const char *const places[] = {"/usr", ".", "/"};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        int mount_fd = open(places[i], O_RDONLY | O_DIRECTORY);
        if (mount_fd < 0)
            continue;
        must_not_get_in(syscall(SYS_open_by_handle_at, mount_fd, &handle, O_RDONLY),
                        "open_by_handle_at");
    }
    all_barred();
}
