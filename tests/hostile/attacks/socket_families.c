/* SPDX-License-Identifier: MIT */
/* Opens sockets of every family and type except AF_UNIX. Each is a part of the kernel that jobs do
 * not need, for example AF_ALG. Stopped by: seccomp. */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    for (int family = 0; family < 64; family++) {
        if (family == AF_UNIX)
            continue;
        for (int type = 1; type <= 10; type++)
            for (int protocol = 0; protocol < 20; protocol += 19 / 2)
                if (socket(family, type, protocol) >= 0)
                    succeeded("socket(%d, %d, %d)", family, type, protocol);
    }
    barred("sockets of 63 families");
    all_barred();
}
