/* SPDX-License-Identifier: MIT */
#pragma once
/* --filter and --limit: which jobs of the input are wanted at all. */

#include "jobline.h"

#include "client/cli/options.h"

struct selection {
    const struct text_list *filters; /* borrowed */
    uint64_t limit;                  /* cases; 0: all */
    uint64_t cases;                  /* so far */
};

/* -EINVAL with FAULT where one of the FILTERS, which are borrowed, is none. */
int selection_init(struct selection *ret, const struct text_list *filters, uint64_t limit,
                   struct fault *fault);

/* Whether all filters let the job pass. */
bool selection_wants(const struct selection *selection, const struct submission *submission);

/* Counts the job; false where it begins a case that is one too many. */
bool selection_count(struct selection *selection, const struct submission *submission);
