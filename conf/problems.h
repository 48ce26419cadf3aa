/* SPDX-License-Identifier: MIT */
#pragma once
/* The mistakes in a configuration, all of them, in the order of reading. */

#include <stddef.h>
#include <stdio.h>

/* One mistake. FILE is the file or directory with the mistake. LINE counts from 1; 0 means the file
 * as a whole. KEY is "[section] key" or "[section]", or NULL if the mistake concerns no key. All
 * strings are on the heap. */
struct config_problem {
    char *file;
    unsigned line;
    char *key;
    char *text;
};

struct config_problems {
    struct config_problem *item;
    size_t count;
};

#define CONFIG_PROBLEMS_NULL \
    {                        \
        .item = NULL         \
    }

/* Appends a mistake. Copies FILE and KEY (which may be NULL); takes *TAKE_TEXT and leaves NULL
 * there. 0, or -ENOMEM with everything as it was. */
int config_problems_add(struct config_problems *problems, const char *file, unsigned line,
                        const char *key, char **take_text);

/* Writes one line: "/etc/rubricd/rubricd.conf:12: [queue] jobs: expected ..., got 'lots'". */
void config_print_problem(FILE *stream, const struct config_problem *problem);

/* Frees everything and leaves an empty list. */
void config_problems_deinit(struct config_problems *problems);
#define _cleanup_config_problems_ _cleanup_(config_problems_deinit)
