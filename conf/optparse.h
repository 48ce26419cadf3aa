/* SPDX-License-Identifier: MIT */
#pragma once
/* Parses a command line by tables of options. */

#include "optionspec.h"

#include "proto/fault.h"

/* The most options that one command line may know. */
#define OPTPARSE_OPTIONS_MAX 48
#define OPTPARSE_SETS_MAX 4

/* A table, and the struct that its values go to. */
struct option_set {
    const struct option_spec *specs;
    size_t n;
    void *target;
};

struct command_line {
    struct option_set sets[OPTPARSE_SETS_MAX]; /* unused ones are zero */
    bool stop_at_word; /* the first word that is not an option ends the options; otherwise words may
                        * stand between options */
    const char *hint;  /* ends the complaint about an unknown option: says where help is found */
};

/* Reads the options of ARGV, whose first word is the program or command, and moves the other words
 * to its end. Returns the index of the first of these, or ARGC if there is none or an option
 * that is `last` ended the reading. -EINVAL or -ENOMEM with FAULT. The caller frees lists with
 * optparse_deinit(), after a failure too. */
int optparse_read(const struct command_line *line, int argc, char **argv, struct fault *fault);

/* Frees the lists that the parser made in TARGET by the N SPECS. */
void optparse_deinit(const struct option_spec *specs, size_t n, void *target);

/* Appends ITEM, which stays the caller's. 0 or -ENOMEM. */
int text_list_add(struct text_list *list, const char *item);

void text_list_deinit(struct text_list *list);
