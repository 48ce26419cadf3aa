/* SPDX-License-Identifier: MIT */
#pragma once
/* All results of a report, at a few dozen bytes each, so that a million fit into memory. Numbers
 * are computed once all are there, because a later line may replace an earlier one. Pure. */

#include "case_digest.h"
#include "examples.h"
#include "facts.h"
#include "intern.h"
#include "line.h"
#include "spool.h"

/* More files, task classes or populations are an error. */
#define RESULTS_FILES_MAX 65535
#define RESULTS_CLASSES_MAX 1000
#define RESULTS_POPULATIONS_MAX 64
/* Further distinct failure modes, and further error codes, are counted together as RESULTS_OTHERS.
 */
#define RESULTS_CODES_MAX 1000
/* Distinct sets of failure modes of one result. */
#define RESULTS_MODE_SETS_MAX 60000
#define RESULTS_OTHERS "(others)"

#define POPULATION_NONE UINT16_MAX

struct result {
    double score; /* NAN if there is none */
    double cost_usd;
    uint32_t case_no;
    uint32_t sample;
    uint32_t wall_ms, queue_ms; /* LINE_MS_UNKNOWN */
    uint64_t said;              /* place in the spool, if it did not pass and there is one */
    uint16_t file_no;
    uint16_t class_no;
    uint16_t population; /* POPULATION_NONE for an error */
    uint16_t modes;      /* number of its set of failure modes; for an error, of its code */
    enum line_state state;
    bool is_first; /* sample, which has the name of the case */
};

/* The results of jobs that were isolated in the same way. */
struct population {
    json_t *isolation; /* class, layers, digest; NULL if the lines do not say */
    bool shared;       /* the graded code could have forged the verdicts */
    uint64_t n;        /* results */
};

struct results {
    struct result *items;
    size_t n, room;
    uint32_t *slots; /* hash table of case, file and sample: number + 1 of an item; 0: free */
    size_t n_slots;  /* a power of two */

    struct intern cases;
    struct case_digest *case_digests; /* by number of the case */
    size_t digests_room;
    uint32_t *next_sample; /* of unnumbered lines, by number of the case */
    size_t samples_room;

    struct intern classes;
    struct intern populations_index;
    struct population populations[RESULTS_POPULATIONS_MAX];
    struct intern codes;     /* "SEVERITY\0CODE" */
    struct intern mode_sets; /* arrays of uint16_t: numbers in `codes` */
    struct intern errors;    /* codes of errors */
    struct worst worst;      /* of those that failed */
    struct firsts of_codes;  /* by number in `codes` */
    struct firsts of_errors; /* by number in `errors` */
    struct facts facts;
    struct spool *spool;    /* borrowed; NULL: only the examples are kept */
    uint64_t changed_cases; /* lines whose case had another digest in an earlier line */

    uint64_t earlier_attempts;
    double cost_of_earlier; /* of earlier attempts and replaced results, in USD */
    uint64_t replaced;      /* results whose id occurs again later in the same file */
};

#define RESULTS_NULL   \
    {                  \
        .items = NULL, \
    }

void results_deinit(struct results *results);
#define _cleanup_results_ _cleanup_(results_deinit)

/* Adds LINE, which is not a LINE_NOTE, of file FILE_NO. Returns 1 if it replaces a line with the
 * same id in the same file, else 0; -EFBIG with FAULT if there are too many of something, -EIO with
 * FAULT if the spool is full; -ENOMEM. */
int results_add(struct results *results, const struct line *line, uint16_t file_no,
                struct fault *fault);

/* Returns a failure mode's code and, unless RET_SEVERITY is NULL, sets its severity. */
const char *results_code(const struct results *results, uint16_t code, const char **ret_severity);

#define RESULTS_MODES_MAX 64
/* Copies the codes of set MODES; returns how many there are. */
size_t results_mode_set(const struct results *results, uint16_t modes,
                        uint16_t ret[RESULTS_MODES_MAX]);

/* Makes the name of a result as batch does: "a1", or "a1#2" for further samples of a case. NULL
 * when memory runs out. */
json_t *results_name(const struct results *results, uint32_t item);

/* Returns how many populations have results. */
size_t results_populations(const struct results *results);
