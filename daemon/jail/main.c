/* SPDX-License-Identifier: MIT */
/* rubricd-jail: the jail that is linked with libc alone and executes every job. */
#include "jail.h"

int main(int argc, char **argv)
{
    return jail_main(argc, argv, NULL);
}
