/* SPDX-License-Identifier: MIT */
/* Opens every device that a host may have and a job does not need. Stopped by: filesystem (a /dev
 * of five devices), landlock. */
#include "attack.h"

int main(void)
{
    static const char *const devices[] = {
        "/dev/ptmx",    "/dev/tty",    "/dev/kmsg",     "/dev/mem",         "/dev/port",
        "/dev/console", "/dev/tty0",   "/dev/fuse",     "/dev/kvm",         "/dev/net/tun",
        "/dev/loop0",   "/dev/sda",    "/dev/vda",      "/dev/nvme0n1",     "/dev/hwrng",
        "/dev/rtc0",    "/dev/autofs", "/dev/pts/ptmx", "/dev/userfaultfd", "/dev/vsock",
        "/dev/mqueue",  "/dev/uinput", "/dev/snapshot",
    };
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        if (open(devices[i], O_RDONLY | O_NONBLOCK | O_NOCTTY) >= 0)
            succeeded("opened %s", devices[i]);
        barred("%s", devices[i]);
    }
    all_barred();
}
