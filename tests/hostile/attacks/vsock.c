/* SPDX-License-Identifier: MIT */
/* Opens a vsock, which reaches the hypervisor and ignores network namespaces.
 * Stopped by: seccomp. */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    if (socket(AF_VSOCK, SOCK_STREAM, 0) >= 0)
        succeeded("socket(AF_VSOCK, SOCK_STREAM)");
    barred("socket(AF_VSOCK, SOCK_STREAM)");
    if (socket(AF_VSOCK, SOCK_DGRAM, 0) >= 0)
        succeeded("socket(AF_VSOCK, SOCK_DGRAM)");
    barred("socket(AF_VSOCK, SOCK_DGRAM)");
    all_barred();
}
