/* SPDX-License-Identifier: MIT */
#pragma once
/* The BenchRunReport (proto/schema/bench-run-report.schema.json): all that is told of a run, as one
 * object; text, HTML and JUnit are made from it. Pure. */

#include "bootstrap.h"
#include "results.h"

#include "client/grade/passk.h"

struct runreport_file {
    const char *name;
    uint64_t lines; /* with results */
    uint64_t unusable;
    uint64_t duplicates; /* ids that came again; the last line counts */
};

struct runreport_options {
    struct bootstrap_options bootstrap;
    struct passk_ks ks; /* none: those that the samples allow */
    bool mix;
    bool list_cases;
    const char *version; /* of this program */
    const struct runreport_file *files;
    size_t n_files;
    const struct results *against; /* another run; NULL: none */
    const struct runreport_file *against_files;
    size_t n_against_files;
};

/* RESULTS, whose worst are sorted. NULL when memory runs out. */
json_t *runreport_make(const struct results *results, const struct runreport_options *options);

/* Why RESULTS (with those of AGAINST, which may be NULL) are no one population; to be freed, NULL
 * where they are. */
char *runreport_mixed(const struct results *results, const struct results *against);
