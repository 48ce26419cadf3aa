/* SPDX-License-Identifier: MIT */
#pragma once
/* The rules, each in the file that names its source. Inside the room only. */

#include "text.h"

/* Where two outputs differ. All parts are borrowed from what was compared. */
struct mismatch {
    const char *why;
    struct span got, expected; /* a line or a token of each; may be empty */
    const char *at;            /* in what the program wrote */
};

/* Each returns 1 with *ret if the outputs differ, 0 if they are equal, or -ENOMEM. */
int plain_exact(struct span got, struct span expected, struct mismatch *ret);
int plain_lines(struct span got, struct span expected, struct mismatch *ret);
int plain_tokens(struct span got, struct span expected, struct mismatch *ret);
int plain_float(struct span got, struct span expected, double absolute, double relative,
                struct mismatch *ret);
int livecodebench_compare(struct span got, struct span expected, struct mismatch *ret);
int apps_compare(struct span got, struct span expected, struct mismatch *ret);
int codecontests_compare(struct span got, struct span expected, struct mismatch *ret);
