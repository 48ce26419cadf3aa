/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of the kind `program` share: a program that is compiled once and run on many
 * tests.
 *
 * Theory of operation. A job takes these steps, each a launch of its own in an empty work
 * directory:
 *
 *     compile -> compile the checker -> test 1 -> check 1 -> test 2 -> check 2 -> ...
 *
 * where a language that is not compiled, and a job without a checker, leave theirs out. An
 * interactor takes the place of the checker; each test is then a joined pair (jail/link.h) of the
 * program and the interactor, which alone gets the test's input and output. What a
 * compiler made is collected, kept as sealed memory, and given to each later step. A test gets its
 * input on stdin; what it should have answered stays in the daemon, which compares. A checker gets
 * the answer, but no process of the program is left by then, and nothing that one could read is
 * there when the next one starts.
 *
 * The files that come back (`collect`) are those of the test that decided the verdict: the first
 * that did not pass, or the last one if all passed. They are taken out when the program has ended,
 * before a checker runs.
 *
 * Without a checker the next test does not depend on the one before: it is sent ahead. */

#include "kind.h"

#include "conf/language.h"
#include "daemon/compare/compare.h"
#include "daemon/languages/languages.h"

/* Most bytes of a compiler's words in a result. */
#define PROGRAM_COMPILE_OUTPUT_MAX ((size_t)16 << 10)
/* Most bytes of the stderr of one test, and of what a checker said of one. */
#define PROGRAM_STDERR_MAX ((size_t)2048)
#define PROGRAM_NOTE_MAX ((size_t)512)
/* Most bytes of all such texts of one result, and of its differences; later tests go without. */
#define PROGRAM_DETAILS_MAX ((size_t)1 << 20)

enum program_verdict {
    PROGRAM_PASS,
    PROGRAM_WRONG_ANSWER,
    PROGRAM_RUNTIME_ERROR,
    PROGRAM_TIMEOUT,
    PROGRAM_MEMORY,
    PROGRAM_OUTPUT_LIMIT,
    PROGRAM_COMPILE_ERROR,
    PROGRAM_ERROR, /* the checker failed, not the program */
};

const char *program_verdict_name(enum program_verdict verdict);

/* What became of one test, or of the compiler. */
struct program_result {
    enum program_verdict verdict;
    struct usage usage;
    int exit_code;    /* -1: none */
    int signal;       /* 0: none */
    enum limit limit; /* LIMIT_NONE: none was exceeded */
    struct difference difference;
    struct bytes text;   /* the two ends of its stderr, or the beginning of a compiler's words */
    struct bytes note;   /* what the checker or the interactor said */
    bool has_difference; /* one that is told */
    bool has_points;
    double points; /* that this gave */
};

/* A program in some language: the one under test, or the checker. */
struct program_unit {
    const struct language *language; /* borrowed from the host */
    struct bytes code;               /* owned */
    char *source;                    /* owned: the name of its file */
    char *class_name;                /* owned: what has its entry point; NULL: no such thing */
    char **envp;                     /* owned */
    struct launch_file *files;       /* owned; the source, and what came with it; has room for
                                      * PROGRAM_EXTRA_FILES more */
    size_t file_count;
    struct limits compile_limits, limits;
    struct bytes script; /* on the stdin of its compiler; borrowed from its language */
    int artefact;        /* owned, sealed; -1: none yet, or it is not compiled */
};

#define PROGRAM_EXTRA_FILES 3

#define PROGRAM_UNIT_NULL \
    {                     \
        .artefact = -1    \
    }

/* What a unit is made of; borrowed. */
struct program_source {
    const char *path; /* of its member of the request, for messages: "job", "job.checker" */
    const char *language;
    const struct bytes *text, *prelude;
    bool is_generation;
    const struct sandbox_file *files;
    size_t file_count;
    const char *const *taken; /* NULL-terminated: names of what each test puts beside the source and
                               * its files; they matter to a language that has no compiler */
};

enum program_stage {
    PROGRAM_COMPILING,
    PROGRAM_COMPILING_CHECKER,
    PROGRAM_TESTING,
    PROGRAM_CHECKING,
};

/* What is kept of a job while it runs. */
struct program_run {
    const struct languages *languages; /* borrowed from the host */
    enum program_stage stage;          /* of the step that ends next */
    struct compare compare;
    struct program_unit program, checker; /* the latter without a language: there is none */
    bool interacts;                       /* `checker` is an interactor */
    char **command;                       /* owned: of the step that was planned last */
    char **joined_command;                /* owned: of the program beside an interactor */
    struct bytes input;                   /* likewise, where it is made for the step */
    struct bytes caller;                  /* program_call; borrowed */
    struct program_result compiled;
    bool has_compiled;              /* the compiler of the program has ended */
    struct program_result *results; /* of the tests */
    size_t count;                   /* of the tests */
    size_t planned, judged;         /* of these */
    size_t passed;
    size_t failed;          /* the first that did not pass; `count`: none */
    struct outcome outcome; /* of the process that decided the verdict; else of the last one */
    bool is_decided;        /* there is such a one: something failed */
    char *refusal;          /* owned: why there is no verdict at all; NULL: there will be one */
    int collected;          /* owned, sealed: files of the test that has decided so far; -1: none */
    int collect_error;      /* of these, as in struct slot_result */
    size_t details;         /* bytes of texts that are kept */
};

/* --- program_unit.c ----------------------------------------------------------------------- */

/* Prepares SOURCE in its language to be compiled and run. Negative with *ret_code and FAULT; the
 * caller calls program_unit_deinit() in any case. */
int program_unit_init(struct program_unit *unit, const struct program_source *source,
                      const struct kind_host *host, enum error_code *ret_code, struct fault *fault);

void program_unit_deinit(struct program_unit *unit);

static inline bool program_unit_is_compiled(const struct program_unit *unit)
{
    return unit->language->compile.count > 0;
}

/* Makes the command that compiles UNIT, or runs it, SOURCE (NULL: its own) in the place of its
 * source; the caller frees it with language_strings_free(). 0, -ENOMEM, or -ENOENT: there is no
 * such program. */
int program_unit_command(const struct program_unit *unit, enum language_command command,
                         const struct kind_host *host, const char *source, char ***ret);

/* --- program_steps.c ---------------------------------------------------------------------- */

/* What a checker or an interactor is given, in testlib's order; NULL-terminated. */
extern const char *const program_evidence[PROGRAM_EXTRA_FILES + 1];

/* Plan a step. 0, -ENOMEM, or -ENOENT: its program is gone. What they plan borrows from RUN and
 * SPEC. */
int program_plan_compiler(struct program_run *run, struct program_unit *unit,
                          const struct kind_host *host, struct kind_plan *plan);
int program_plan_test(struct program_run *run, const struct job_spec *spec,
                      const struct kind_host *host, struct kind_plan *plan);
int program_plan_check(struct program_run *run, const struct job_spec *spec,
                       const struct kind_host *host, const struct bytes *output,
                       struct kind_plan *plan);
int program_plan_interaction(struct program_run *run, const struct job_spec *spec,
                             const struct kind_host *host, struct kind_plan *plan);

/* --- program_verdict.c -------------------------------------------------------------------- */

/* Take the end of a step. 1: the job goes on; 0: it is over; negative with *ret_code and FAULT. */
int program_take_compiler(struct program_run *run, struct program_unit *unit,
                          const struct slot_result *result, enum error_code *ret_code,
                          struct fault *fault);
int program_take_test(struct program_run *run, const struct job_spec *spec,
                      const struct slot_result *result);
/* Keeps the files that a test has left, in the place of those of the test before, unless one has
 * failed already. Before its end is taken. 0, or negative with *ret_code and FAULT. */
int program_keep_files(struct program_run *run, const struct slot_result *result,
                       enum error_code *ret_code, struct fault *fault);
int program_take_check(struct program_run *run, const struct job_spec *spec,
                       const struct slot_result *result);
int program_take_interaction(struct program_run *run, const struct job_spec *spec,
                             const struct slot_result *result);

void program_result_deinit(struct program_result *result);

/* --- program_values.c --------------------------------------------------------------------- */

/* Compares what a function's caller wrote with the JSON text of the value that was expected. 0 or
 * -ENOMEM. */
int program_compare_values(const struct bytes *got, const struct bytes *expected,
                           struct difference *ret);

/* --- program_words.c ---------------------------------------------------------------------- */

/* Room for what program_words() writes, with its NUL. */
#define PROGRAM_WORDS_MAX 320

/* Writes the words of TEXT that say most of why a program ended, or does not compile, as one line:
 * the exception that it names, or else the first line that speaks of an error, or else the first
 * one that says something; with the lines behind it if it only announces them. "" if there are
 * none. */
void program_words(const struct bytes *text, bool is_compiler, char out[PROGRAM_WORDS_MAX]);

/* Tells whether a line of TEXT, without blanks at its end, is PATTERN, in which each `*` stands for
 * any text. */
bool program_has_line(const struct bytes *text, const char *pattern);

/* --- program_report.c --------------------------------------------------------------------- */

/* Makes the members of a result. NULL when memory runs out. */
json_t *program_tests_json(const struct program_run *run, const struct job_spec *spec);
json_t *program_compile_json(const struct program_run *run);
json_t *program_language_json(const struct program_run *run);

/* Makes the score. 0 or -ENOMEM. */
int program_score(const struct program_run *run, const struct job_spec *spec,
                  struct bench_score *ret);
