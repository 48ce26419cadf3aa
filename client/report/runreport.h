/* SPDX-License-Identifier: MIT */
#pragma once
/* The BenchRunReport (proto/schema/bench-run-report.schema.json): everything about a run in one
 * JSON object, which the other forms of a report are made from. Pure. */

#include "bootstrap.h"
#include "results.h"

#include "client/grade/passk.h"

struct runreport_file {
    const char *name;
    uint64_t lines; /* with results */
    uint64_t unusable;
    uint64_t duplicates; /* lines whose id occurs earlier in the file */
};

struct runreport_options {
    struct bootstrap_options bootstrap;
    struct passk_ks ks; /* if empty, those that the samples allow */
    bool mix;           /* populations may be mixed */
    bool list_cases;
    const char *version; /* of this program */
    const struct runreport_file *files;
    size_t n_files;
    const struct results *against; /* another run, or NULL */
    const struct runreport_file *against_files;
    size_t n_against_files;
};

/* Makes the report on RESULTS; call worst_sort() on its worst before. NULL when memory runs out. */
json_t *runreport_make(const struct results *results, const struct runreport_options *options);

/* Lists the populations if RESULTS, together with those of AGAINST (may be NULL), are of more than
 * one: how many results each has, in which of the two, their first ids, and in which layers it
 * differs from the first. The caller frees the text. NULL if they are of one. */
char *runreport_mixed(const struct results *results, const struct results *against);
