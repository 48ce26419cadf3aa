/* SPDX-License-Identifier: MIT */
/* Plants files with names that a careless cleaner fails to remove.
 * Stopped by: tempdir. */
#include "plant.h"

int main(int argc, char **argv)
{
    static const char *const names[] = {
        PLANT "-rf", "-rf",     "--",     "*",     "~",        " ",    "\n",
        "\033[2J",   "..plant", ".plant", "...",   "\xff\xfe", "a\tb", "$(touch x)",
        "`id`",      "'",       "\"",     "job-1", "slot-0",   "%s%n",
    };
    char name[256];
    if (!is_step(argc, argv, "plant")) {
        for (size_t i = 0; i < COUNT_OF(names); i++)
            if (access(names[i], F_OK) == 0)
                succeeded("the next job found name %zu", i);
        find_plants();
    }
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (mkdir(names[i], 0) < 0)
            unclear("mkdir %s: %s", names[i], errno_name(errno));
    (void)memset(name, 'x', sizeof(name) - 1);
    name[255] = '\0';
    (void)memcpy(name, PLANT, strlen(PLANT));
    if (open(name, O_WRONLY | O_CREAT, 0) < 0)
        unclear("a name of 255 bytes: %s", errno_name(errno));
    planted();
}
