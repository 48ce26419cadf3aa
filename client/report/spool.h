/* SPDX-License-Identifier: MIT */
#pragma once
/* Why each result did not pass, in a file without a name: memory would not hold that of a million
 * results. Only a form of the report that shows all of them needs it. */

#include "examples.h"

#include "proto/fault.h"

#include <stdio.h>

struct spool {
    FILE *file;
    uint64_t end; /* bytes written */
};

#define SPOOL_NULL    \
    {                 \
        .file = NULL, \
    }

/* Makes the file in $TMPDIR, or else in /tmp. 0, or -EIO with FAULT. */
int spool_open(struct spool *spool, struct fault *fault);
void spool_close(struct spool *spool);
#define _cleanup_spool_ _cleanup_(spool_close)

/* Appends REASON and sets *RET to its place. 0, or -EIO with FAULT. */
int spool_put(struct spool *spool, const struct reason *reason, uint64_t *ret, struct fault *fault);

/* Reads the reason at AT. Either text is NULL if it was NULL; the caller frees both. 0, -EIO or
 * -ENOMEM. */
int spool_get(struct spool *spool, uint64_t at, char **ret_detail, char **ret_output);
