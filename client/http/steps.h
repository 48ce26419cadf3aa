/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes a job of a program in some language: a sandbox job whose steps are the language's compiler,
 * if it has one, and the program. A `program` job would do the same and tell less: it compares the
 * output and does not hand it out, and no file comes back from it. Pure. */

#include "conf/language.h"
#include "proto/json.h"

/* Bytes of a name out of a request that a message shows. */
#define STEPS_NAME_SHOWN 64

/* The exit status of a step whose compiler or program is not there. */
#define STEPS_NO_PROGRAM 127

/* What the daemon's hello tells. */
struct steps_host {
    const json_t *limits; /* `limits` of the hello */
    const char *python;   /* interpreter.path */
};

/* Whether VALUE is a string with a NUL, at which C would end it. */
bool steps_has_nul(const json_t *value);

struct steps_plan {
    const struct language *language;
    const char *source;      /* the name of the program's file */
    json_t *files;           /* as in a job: from name to content, the program's among them */
    const json_t *sources;   /* names of more files to compile; NULL: none */
    const json_t *arguments; /* strings for the program; NULL: none */
    json_t *input;           /* its stdin, as in a job; NULL: empty */
    json_t *collect;         /* NULL: nothing comes back */
    /* 0: the language's own, or the daemon's default. */
    uint64_t compile_ms, run_ms;
    uint64_t compile_cpu_ms, run_cpu_ms;
    uint64_t compile_memory, run_memory;
};

/* Returns what STATUS, `languages` of the daemon's status, says of LANGUAGE; NULL: nothing. */
const json_t *steps_status_of(const struct language *language, const json_t *status);

/* Returns why the host lacks the language of ENTRY, which steps_status_of() found; NULL: it has it,
 * or ENTRY says nothing, or is NULL. Borrowed from ENTRY. */
const char *steps_why_not(const json_t *entry);

/* The name for the program's file if nobody gives one: "main.cpp", "Main.java". The caller frees
 * it. 0 or -ENOMEM. */
int steps_source_name(const struct language *language, char **ret);

/* Returns how many steps a job in LANGUAGE has: its compiler, if it has one, and the program. */
size_t steps_count(const struct language *language);

/* Makes the job. 0 with a new reference in *ret, or -ENOMEM. */
int steps_job(const struct steps_plan *plan, const struct steps_host *host, json_t **ret);

/* The ceiling of a limit of sandbox jobs, as requests give it; 0 if the hello has none. */
double steps_ceiling(const struct steps_host *host, const char *key);

/* How one step ended. Borrowed from the result. */
struct step_end {
    json_t *stdout_text, *stderr_text;
    const char *limit;          /* that it exceeded; NULL: none */
    json_t *exit_code, *signal; /* integer or null */
    json_int_t wall_clock_ms, cpu_ms, memory_bytes;
};

/* Finds how step I of a result ended. False if it did not run. */
bool steps_end(const json_t *result, size_t i, struct step_end *ret);
