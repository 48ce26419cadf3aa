/* SPDX-License-Identifier: MIT */
#pragma once
/* For attacks in two steps: "plant" leaves something behind, and "find" looks for it in a later job
 * of the same slot. Every planted name begins with PLANT. */
#include "attack.h"

#define PLANT "plant-"

static inline bool is_step(int argc, char **argv, const char *step)
{
    return strcmp(argument(argc, argv, 1), step) == 0;
}

/* Ends the first step, which has no verdict yet. */
_Noreturn static inline void planted(void)
{
    refused("not yet: it is planted, and the next job looks");
}

static inline void find_plants_in(const char *directory)
{
    DIR *entries = opendir(directory);
    if (!entries) {
        barred("opendir %s", directory);
        if (errno == EACCES && strcmp(directory, ".") == 0)
            succeeded("the working directory has been locked for the next job");
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(entries)))
        if (strncmp(entry->d_name, PLANT, strlen(PLANT)) == 0)
            succeeded("the next job found %s/%s", directory, entry->d_name);
    (void)closedir(entries);
}

/* Does the second step for files. */
_Noreturn static inline void find_plants(void)
{
    find_plants_in(".");
    find_plants_in("..");
    refused("nothing planted was found");
}
