/* SPDX-License-Identifier: MIT */
/* rubricd-jail: the jail that needs nothing but libc; its jobs are executed. */
#include "jail.h"

int main(int argc, char **argv)
{
    return jail_main(argc, argv, NULL);
}
