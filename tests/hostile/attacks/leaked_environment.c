/* SPDX-License-Identifier: MIT */
/* Looks for variables in its environment other than the four of every job.
 * Stopped by: env. */
#include "attack.h"

int main(void)
{
    static const char *const known[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONHASHSEED=0",
                                        "PYTHONIOENCODING=utf-8"};
    for (char **variable = environ; *variable; variable++) {
        bool expected = false;
        for (size_t i = 0; i < COUNT_OF(known); i++)
            expected = expected || strcmp(*variable, known[i]) == 0;
        if (!expected)
            succeeded("the environment has %.60s", *variable);
    }
    refused("the environment has nothing but the four variables");
}
