/* SPDX-License-Identifier: MIT */
#pragma once
/* All results of a report, a few dozen bytes each, so that a million of them fit: what they come to
 * is computed when all are there, for a later line may take the place of an earlier one. Pure. */

#include "case_digest.h"
#include "examples.h"
#include "facts.h"
#include "intern.h"
#include "line.h"

/* Files, task classes and populations are told apart up to these numbers; more are an error. */
#define RESULTS_FILES_MAX 65535
#define RESULTS_CLASSES_MAX 1000
#define RESULTS_POPULATIONS_MAX 64
/* Distinct failure modes and error codes; what comes after is counted as one. */
#define RESULTS_CODES_MAX 1000
/* Sets of failure modes that came together. */
#define RESULTS_MODE_SETS_MAX 60000
#define RESULTS_OTHERS "(others)"

#define POPULATION_NONE UINT16_MAX

struct result {
    double score; /* NAN: none */
    double cost_usd;
    uint32_t case_no;
    uint32_t sample;
    uint32_t wall_ms, queue_ms; /* LINE_MS_UNKNOWN */
    uint16_t file_no;
    uint16_t class_no;
    uint16_t population;
    uint16_t modes; /* number of its set of failure modes; of its code, where it is an error */
    enum line_state state;
    bool is_first; /* sample, whose name is that of the case */
};

/* What was confined alike. */
struct population {
    json_t *isolation; /* class, layers, digest; NULL: the lines do not say */
    bool shared;
    uint64_t n;
};

struct results {
    struct result *items;
    size_t n, room;
    uint32_t *slots; /* number + 1 of the item whose case, file and sample hash there; 0: none */
    size_t n_slots;  /* a power of two */

    struct intern cases;
    struct case_digest *case_digests; /* by number of the case */
    size_t digests_room;
    uint32_t *next_sample; /* for lines that are not numbered */
    size_t samples_room;

    struct intern classes;
    struct intern populations_index;
    struct population populations[RESULTS_POPULATIONS_MAX];
    struct intern codes;     /* "SEVERITY\0CODE" */
    struct intern mode_sets; /* numbers of codes, uint16_t each */
    struct intern errors;    /* codes of errors */
    struct worst worst;      /* failed */
    struct firsts of_codes;  /* by number in `codes` */
    struct firsts of_errors; /* by number in `errors` */
    struct facts facts;
    uint64_t changed_cases; /* lines whose case had another digest before */

    uint64_t earlier_attempts;
    double cost_of_earlier; /* and of what was replaced */
    uint64_t replaced;      /* results whose id came again in the same file */
};

#define RESULTS_NULL   \
    {                  \
        .items = NULL, \
    }

void results_deinit(struct results *results);
#define _cleanup_results_ _cleanup_(results_deinit)

/* Adds LINE of file FILE_NO, which is no LINE_NOTE. 1: it took the place of one with the same id in
 * the same file. -EFBIG with FAULT: too many of something; -ENOMEM. */
int results_add(struct results *results, const struct line *line, uint16_t file_no,
                struct fault *fault);

/* The severity and the code of a failure mode. */
const char *results_code(const struct results *results, uint16_t code, const char **ret_severity);

/* The codes in set MODES; returns how many. */
#define RESULTS_MODES_MAX 64
size_t results_mode_set(const struct results *results, uint16_t modes,
                        uint16_t ret[RESULTS_MODES_MAX]);

/* "a1", or "a1#2" where a case has several results, as batch names them. NULL when memory runs out.
 */
json_t *results_name(const struct results *results, uint32_t item);

/* How many populations have results. */
size_t results_populations(const struct results *results);
