/* SPDX-License-Identifier: MIT */
#pragma once
/* Selects jobs of the input by --filter and --limit. */

#include "jobline.h"

#include "client/cli/options.h"

struct selection {
    const struct text_list *filters; /* borrowed */
    uint64_t limit;                  /* cases; 0: all */
    bool numbered;                   /* ids are TASK:NUMBER, and a pattern may be for TASK alone */
    uint64_t cases;                  /* so far */
};

/* Borrows FILTERS. -EINVAL with FAULT if one of them has no pattern, or names an unknown key. */
int selection_init(struct selection *ret, const struct text_list *filters, uint64_t limit,
                   struct fault *fault);

/* Whether there is neither a filter nor a limit. */
bool selection_is_all(const struct selection *selection);

/* Whether all filters let the job pass. */
bool selection_wants(const struct selection *selection, const struct submission *submission);

/* Counts the job; false if it begins a case beyond the limit. */
bool selection_count(struct selection *selection, const struct submission *submission);
