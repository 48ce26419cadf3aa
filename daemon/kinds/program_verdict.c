/* SPDX-License-Identifier: MIT */
#include "outcome.h"
#include "program.h"

#include "daemon/pool/collected.h"
#include "proto/shortage.h"
#include "proto/utf8.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* What a checker's exit status says: those of testlib.h. */
enum {
    CHECKER_OK = 0,
    CHECKER_WRONG_ANSWER = 1,
    CHECKER_PRESENTATION = 2,
    CHECKER_FAIL = 3,
    CHECKER_DIRT = 4,
    CHECKER_POINTS = 7,
    CHECKER_UNEXPECTED_END = 8,
};

void program_result_deinit(struct program_result *result)
{
    difference_deinit(&result->difference);
    bytes_deinit(&result->text);
    bytes_deinit(&result->note);
}

const char *program_verdict_name(enum program_verdict verdict)
{
    static const char *const names[] = {
        [PROGRAM_PASS] = "pass",
        [PROGRAM_WRONG_ANSWER] = "wrong_answer",
        [PROGRAM_RUNTIME_ERROR] = "runtime_error",
        [PROGRAM_TIMEOUT] = "timeout",
        [PROGRAM_MEMORY] = "memory",
        [PROGRAM_OUTPUT_LIMIT] = "output_limit",
        [PROGRAM_COMPILE_ERROR] = "compile_error",
        [PROGRAM_ERROR] = "error",
    };
    return names[verdict];
}

/* --- texts -------------------------------------------------------------------------------- */

/* Keeps the beginning of TEXT, as valid UTF-8, as far as there is room for it. 0 or -ENOMEM. */
static int keep_text(struct program_run *run, const char *text, size_t n, size_t max,
                     struct bytes *ret)
{
    size_t length, room = MIN(max, PROGRAM_DETAILS_MAX - run->details);
    if (n == 0 || room == 0)
        return 0;
    char *copy = utf8_replace(text, MIN(n, room), &length);
    if (!copy)
        return -ENOMEM;
    length = utf8_cut(copy, length, room);
    copy[length] = '\0';
    run->details += length;
    bytes_deinit(ret);
    *ret = (struct bytes){.data = copy, .length = length};
    return 0;
}

/* Keeps both ends of TEXT if it is longer than MAX: one runtime names the failure first, another
 * last. 0 or -ENOMEM. */
static int keep_ends(struct program_run *run, const char *text, size_t n, size_t max,
                     struct bytes *ret)
{
    static const char gap[7] = "\n[...]\n"; /* without a NUL */
    char both[MAX(PROGRAM_STDERR_MAX, PROGRAM_NOTE_MAX)];
    assert(max <= sizeof(both));
    if (n <= max)
        return keep_text(run, text, n, max, ret);
    size_t head = utf8_cut(text, n, max / 2), tail = max - head - sizeof(gap);
    for (int i = 0; i < 3 && ((unsigned char)text[n - tail] & 0xc0) == 0x80; i++)
        tail--; /* begin with a whole character */
    memcpy(both, text, head);
    memcpy(both + head, gap, sizeof(gap));
    memcpy(both + head + sizeof(gap), text + n - tail, tail);
    return keep_text(run, both, head + sizeof(gap) + tail, max, ret);
}

/* Keeps what the program under test wrote to stderr. 0 or -ENOMEM. */
static int keep_stderr(struct program_run *run, const struct slot_result *result,
                       const struct outcome *outcome, struct program_result *test)
{
    if (result->end == SLOT_END_NOT_STARTED)
        return keep_text(run, outcome->stderr_text, outcome->stderr_length, PROGRAM_STDERR_MAX,
                         &test->text);
    return keep_ends(run, result->err->data, result->err->length, PROGRAM_STDERR_MAX, &test->text);
}

/* Drops the excerpts if there is no room for them: the verdict and the line stay. */
static void keep_difference(struct program_run *run, struct program_result *result)
{
    struct difference *difference = &result->difference;
    size_t n = difference->got.length + difference->expected.length;
    result->has_difference = true;
    if (n <= PROGRAM_DETAILS_MAX - run->details) {
        run->details += n;
        return;
    }
    bytes_deinit(&difference->got);
    bytes_deinit(&difference->expected);
}

/* --- how a program ended ------------------------------------------------------------------ */

/* Tells whether the runtime itself says that it ran out of memory. An exit status alone does not,
 * if the runtime has words for it: a program may end with any. */
static bool says_memory(const struct language *language, const struct outcome *outcome,
                        const struct bytes *err)
{
    const struct string_list *messages = &language->memory_messages;
    bool has_status = language->memory_status > 0;
    if (outcome->success || outcome->limit != LIMIT_NONE)
        return false;
    if (has_status && outcome->exit_code != (int)language->memory_status)
        return false;
    for (size_t i = 0; i < messages->count; i++)
        if (program_has_line(err, messages->item[i]))
            return true;
    return has_status && messages->count == 0;
}

static enum program_verdict verdict_of(const struct program_unit *unit,
                                       const struct outcome *outcome, const struct bytes *err)
{
    if (outcome->limit == LIMIT_WALL_CLOCK || outcome->limit == LIMIT_CPU)
        return PROGRAM_TIMEOUT;
    if (outcome->limit == LIMIT_MEMORY)
        return PROGRAM_MEMORY;
    if (outcome->limit == LIMIT_OUTPUT)
        return PROGRAM_OUTPUT_LIMIT;
    if (outcome->success)
        return PROGRAM_PASS;
    return says_memory(unit->language, outcome, err) ? PROGRAM_MEMORY : PROGRAM_RUNTIME_ERROR;
}

/* Makes the outcome of a step. Of a program that the kernel refuses to execute stderr says so. */
static int read_end(const struct slot_result *result, struct outcome *ret)
{
    char *text;
    int r = outcome_from_result(result, result->limits, ret);
    if (r < 0 || result->end != SLOT_END_NOT_STARTED)
        return r;
    int n = asprintf(&text, "the program cannot be executed: %s", strerror(result->error));
    if (n < 0)
        return -ENOMEM;
    free(ret->stderr_text);
    ret->stderr_text = text;
    ret->stderr_length = (size_t)n;
    ret->signal = 0;
    return 0;
}

static void describe_end(const struct slot_result *result, const struct outcome *outcome,
                         struct program_result *ret)
{
    ret->usage = usage_from_result(result, 0);
    ret->exit_code = outcome->exit_code;
    ret->signal = outcome->signal;
    ret->limit = outcome->limit;
}

/* Keeps what the reply says of the process that decided the verdict; of the last one if none has.
 */
static void keep_outcome(struct program_run *run, struct outcome *outcome)
{
    if (run->is_decided)
        return;
    outcome_deinit(&run->outcome);
    run->outcome = TAKE_STRUCT(*outcome, OUTCOME_NULL);
}

/* --- compilers ---------------------------------------------------------------------------- */

/* Keeps what a compiler wrote: its stderr, and its stdout behind it. */
static int keep_words(struct program_run *run, const struct slot_result *result, struct bytes *ret)
{
    _cleanup_free_ char *words = NULL;
    size_t err = MIN(result->err->length, PROGRAM_COMPILE_OUTPUT_MAX);
    size_t out = MIN(result->out->length, PROGRAM_COMPILE_OUTPUT_MAX - err);
    if (err + out == 0)
        return 0;
    words = malloc(err + out);
    if (!words)
        return -ENOMEM;
    if (err > 0)
        memcpy(words, result->err->data, err);
    if (out > 0)
        memcpy(words + err, result->out->data, out);
    return keep_text(run, words, err + out, PROGRAM_COMPILE_OUTPUT_MAX, ret);
}

/* Tells whether there is a file among what was collected: 1 or 0, or a negative errno. What was
 * left out, as a name that is not there or is a link's, is none. */
static int has_file(int fd)
{
    _cleanup_collected_ struct collected collected = COLLECTED_NULL;
    struct collected_file file = {.is_left_out = true};
    int r = collected_init(&collected, fd);
    while (r >= 0 && file.is_left_out && (r = collected_next(&collected, &file)) > 0)
        ;
    return r;
}

/* Says why a compiler that ended well has made nothing to run. NULL: it has, as HAS_FILE and FITS
 * say. */
static const char *why_no_artefact(const struct slot_result *result, bool has_file, bool fits)
{
    if (result->collect_error == EFBIG || (result->collect_error == 0 && !fits))
        return "what the compiler made is larger than disk_bytes of the tests";
    if (result->collect_error == E2BIG)
        return "the compiler made too many files";
    if (result->collect_error == ENAMETOOLONG)
        return "the compiler made a file with too long a name";
    if (result->collect_error == ECHILD)
        return "the compiler left processes that took too long to end";
    bool is_whole = result->collect_error == 0; /* else a shortage may be why there is nothing */
    return has_file || !is_whole ? NULL : "the compiler made nothing to run";
}

static int not_kept(int error, enum error_code *ret_code, struct fault *fault)
{
    *ret_code = ERROR_INTERNAL;
    return fault_set(fault, "what the compiler made could not be kept: %s", strerror(-error));
}

static int take_artefact(struct program_unit *unit, const struct slot_result *result,
                         enum error_code *ret_code, struct fault *fault)
{
    int error = result->collect_error;
    if (error == 0) {
        unit->artefact = fcntl(result->collected, F_DUPFD_CLOEXEC, 3);
        error = unit->artefact < 0 ? errno : 0;
    }
    return error == 0 ? 1 : not_kept(-error, ret_code, fault);
}

/* A program of the task that does not compile is the client's mistake, no verdict. */
static int refuse_checker(struct program_run *run, const struct slot_result *result,
                          const struct outcome *outcome, const char *why)
{
    char what[80];
    _cleanup_bytes_ struct bytes words = BYTES_NULL;
    int r = keep_words(run, result, &words);
    if (r < 0)
        return r;
    outcome_describe(outcome, what, sizeof(what));
    if (asprintf(&run->refusal, "job.%s: does not compile: %s%s%s",
                 run->interacts ? "interactor" : "checker", why ? why : what,
                 words.length > 0 ? ": " : "", words.length > 0 ? words.data : "") < 0) {
        run->refusal = NULL; /* undefined after a failure */
        return -ENOMEM;
    }
    run->is_decided = true;
    return 0;
}

static int take_words(struct program_run *run, const struct slot_result *result,
                      struct outcome *outcome, const char *why)
{
    run->has_compiled = true;
    describe_end(result, outcome, &run->compiled);
    int r = keep_words(run, result, &run->compiled.text);
    if (r == 0 && why && run->compiled.text.length == 0)
        r = keep_text(run, why, strlen(why), PROGRAM_COMPILE_OUTPUT_MAX, &run->compiled.text);
    if (r < 0 || !(why || !outcome->success))
        return r;
    run->compiled.verdict = PROGRAM_COMPILE_ERROR;
    keep_outcome(run, outcome);
    run->is_decided = true;
    return 0;
}

int program_take_compiler(struct program_run *run, struct program_unit *unit,
                          const struct slot_result *result, enum error_code *ret_code,
                          struct fault *fault)
{
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    int found = has_file(result->collected);
    if (found < 0)
        return not_kept(found, ret_code, fault);
    int fits = collected_fit(result->collected, unit->limits.of[LIMIT_DISK], run->caller.length);
    if (fits < 0)
        return not_kept(fits, ret_code, fault);
    int r = outcome_from_result(result, result->limits, &outcome);
    const char *why =
        r == 0 && outcome.success ? why_no_artefact(result, found > 0, fits > 0) : NULL;
    bool failed = r == 0 && (why || !outcome.success);
    if (failed && unit == &run->checker)
        return refuse_checker(run, result, &outcome, why);
    if (r == 0 && unit == &run->program)
        r = take_words(run, result, &outcome, why);
    if (r < 0)
        return r;
    return failed ? 0 : take_artefact(unit, result, ret_code, fault);
}

/* --- tests -------------------------------------------------------------------------------- */

/* Compares what a call gave back with either value that is right. The difference told is that from
 * the first. */
static int compare_call(const struct program_test *test, const struct bytes *got,
                        struct difference *ret)
{
    struct difference other = {.differs = true};
    int r = program_compare_values(got, &test->output, ret);
    if (r < 0 || !ret->differs || !test->alternative.data)
        return r;
    r = program_compare_values(got, &test->alternative, &other);
    if (r == 0 && !other.differs) {
        difference_deinit(ret);
        *ret = other;
    } else if (r == 0) {
        difference_deinit(&other);
    }
    return r;
}

static int compare(const struct program_run *run, const struct job_spec *spec,
                   const struct slot_result *result, struct difference *ret)
{
    const struct program_spec *program = &spec->program;
    const struct program_test *test = &program->tests->test[run->judged];
    const struct bytes *expected = &test->output;
    if (!expected->data) { /* the exit status alone decides */
        *ret = (struct difference){.differs = false};
        return 0;
    }
    return program->call ? compare_call(test, result->out, ret)
                         : compare_outputs(&run->compare, result->out, expected, ret);
}

/* Counts the test that was judged. Returns whether another one follows. */
static int count(struct program_run *run, bool all)
{
    bool passed = run->results[run->judged].verdict == PROGRAM_PASS;
    run->passed += passed;
    if (!passed && run->failed == run->count)
        run->failed = run->judged;
    run->is_decided |= !passed;
    run->judged++;
    return run->judged < run->count && (passed || all);
}

int program_take_test(struct program_run *run, const struct job_spec *spec,
                      const struct slot_result *result)
{
    struct program_result *test = &run->results[run->judged];
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    int r = read_end(result, &outcome);
    if (r < 0)
        return r;
    describe_end(result, &outcome, test);
    test->verdict = verdict_of(&run->program, &outcome, result->err);
    if (test->verdict == PROGRAM_PASS && spec->program.checker) {
        keep_outcome(run, &outcome);
        return 1;
    }
    if (test->verdict == PROGRAM_PASS) {
        r = compare(run, spec, result, &test->difference);
        if (r < 0)
            return r;
        if (test->difference.differs) {
            test->verdict = PROGRAM_WRONG_ANSWER;
            keep_difference(run, test);
        }
    }
    if (test->verdict != PROGRAM_PASS)
        r = keep_stderr(run, result, &outcome, test);
    if (r < 0)
        return r;
    keep_outcome(run, &outcome);
    return count(run, spec->program.all);
}

int program_keep_files(struct program_run *run, const struct slot_result *result,
                       enum error_code *ret_code, struct fault *fault)
{
    int copy = -1;
    if (run->is_decided)
        return 0;
    if (result->collected > 0 && (copy = fcntl(result->collected, F_DUPFD_CLOEXEC, 3)) < 0) {
        int r = -errno;
        *ret_code = ERROR_INTERNAL;
        (void)fault_set(fault, "the files of a test could not be kept: %s", strerror(-r));
        return r;
    }
    close_fd(run->collected);
    run->collected = copy;
    run->collect_error = result->collect_error;
    return 0;
}

/* --- checkers ----------------------------------------------------------------------------- */

/* Reads the points of "points 0.5 because ...". */
static void read_points(const struct bytes *err, struct program_result *test)
{
    char text[64], *end;
    static const char word[] = "points ";
    size_t n = strlen(word);
    if (err->length <= n || memcmp(err->data, word, n) != 0)
        return;
    (void)snprintf(text, sizeof(text), "%.*s", (int)MIN(err->length - n, sizeof(text) - 1),
                   err->data + n);
    double points = strtod(text, &end);
    if (end == text || !isfinite(points))
        return;
    test->has_points = true;
    test->points = points;
}

static enum program_verdict verdict_of_checker(const struct outcome *outcome)
{
    if (outcome->limit != LIMIT_NONE)
        return PROGRAM_ERROR;
    switch (outcome->exit_code) {
    case CHECKER_OK:
        return PROGRAM_PASS;
    case CHECKER_WRONG_ANSWER:
    case CHECKER_PRESENTATION:
    case CHECKER_DIRT:
    case CHECKER_POINTS:
    case CHECKER_UNEXPECTED_END:
        return PROGRAM_WRONG_ANSWER;
    case CHECKER_FAIL:
    default:
        return PROGRAM_ERROR;
    }
}

/* Keeps what the checker said, or how it failed if it said nothing. */
static int keep_note(struct program_run *run, const struct slot_result *result,
                     const struct outcome *outcome, struct program_result *test)
{
    char what[80];
    const struct bytes *words = result->err->length > 0 ? result->err : result->out;
    if (result->end == SLOT_END_NOT_STARTED)
        return keep_text(run, outcome->stderr_text, outcome->stderr_length, PROGRAM_NOTE_MAX,
                         &test->note);
    if (test->verdict == PROGRAM_ERROR && (words->length == 0 || outcome->limit != LIMIT_NONE)) {
        outcome_describe(outcome, what, sizeof(what));
        return keep_text(run, what, strlen(what), PROGRAM_NOTE_MAX, &test->note);
    }
    return keep_ends(run, words->data, words->length, PROGRAM_NOTE_MAX, &test->note);
}

int program_take_check(struct program_run *run, const struct job_spec *spec,
                       const struct slot_result *result)
{
    struct program_result *test = &run->results[run->judged];
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    int r = read_end(result, &outcome);
    if (r < 0)
        return r;
    test->verdict = verdict_of_checker(&outcome);
    if (outcome.limit == LIMIT_NONE && outcome.exit_code == CHECKER_POINTS)
        read_points(result->err, test);
    r = keep_note(run, result, &outcome, test);
    return r < 0 ? r : count(run, spec->program.all);
}

/* --- interactors -------------------------------------------------------------------------- */

/* A test that was a joined pair, as seen from either program. */
struct interaction {
    struct slot_result program, interactor;
    struct outcome of_program, of_interactor;
    bool has_ended; /* the program, by itself */
};

static void deinit_interaction(struct interaction *interaction)
{
    outcome_deinit(&interaction->of_program);
    outcome_deinit(&interaction->of_interactor);
}

/* Which program a limit of both was met by: time by the program while it runs, and if it ended too
 * late; output by who wrote more. */
static bool is_programs_limit(const struct slot_result *result, bool has_ended)
{
    if (result->killed == SLOT_KILL_OUTPUT)
        return result->out->length >= result->err->length;
    return !has_ended || result->candidate.ended_ns > result->program_by_ns;
}

static int split(const struct program_run *run, const struct slot_result *result,
                 struct interaction *ret)
{
    static const struct bytes nothing = BYTES_NULL;
    const struct link_candidate *candidate = &result->candidate;
    const int status = candidate->wait_status;
    /* What killed the other may have killed it a moment before. */
    bool was_killed =
        result->killed != SLOT_KILL_NONE && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    ret->has_ended = candidate->end == LINK_CANDIDATE_ENDED && !was_killed;
    bool is_programs = is_programs_limit(result, ret->has_ended);
    ret->program = ret->interactor = *result;
    ret->program.limits = &run->program.limits;
    ret->program.killed = is_programs ? result->killed : SLOT_KILL_NONE;
    ret->program.wait_status = status;
    ret->program.evidence &= ~(1u << LIMIT_DISK); /* that of the interactor's */
    ret->program.evidence |= candidate->met_full_disk == 1 ? 1u << LIMIT_DISK : 0;
    ret->program.cpu_us = candidate->cpu_us;
    ret->program.max_rss_bytes = candidate->max_rss_bytes;
    ret->program.err = result->out;
    ret->program.out = ret->interactor.out = &nothing;
    ret->interactor.limits = &run->checker.limits;
    ret->interactor.killed = is_programs ? SLOT_KILL_NONE : result->killed;
    ret->interactor.cpu_us -= MIN(result->cpu_us, candidate->cpu_us);
    if (result->end == SLOT_END_NOT_STARTED) /* the interactor was not */
        ret->program.end = SLOT_END_EXITED;
    if (candidate->end == LINK_CANDIDATE_FAILED) {
        ret->program.end = SLOT_END_NOT_STARTED;
        ret->program.error = candidate->error;
    }
    int r = read_end(&ret->program, &ret->of_program);
    return r < 0 ? r : read_end(&ret->interactor, &ret->of_interactor);
}

/* Tells whether the program itself decides, whatever the interactor says. */
static bool is_programs_fault(const struct slot_result *result, const struct interaction *pair)
{
    const struct outcome *program = &pair->of_program;
    bool is_memory = program->limit == LIMIT_MEMORY && !pair->has_ended;
    if (pair->program.killed != SLOT_KILL_NONE || pair->program.end == SLOT_END_NOT_STARTED ||
        is_memory)
        return true;
    if (!pair->has_ended || program->success)
        return false;
    /* Who writes to somebody that has gone fails for that. */
    bool by_hang_up = program->signal == SIGPIPE && !pair->of_interactor.success;
    return !by_hang_up && (result->candidate.was_first || pair->of_interactor.success);
}

/* Sets the verdict of TEST, and keeps what the interactor has to say of it. */
static int judge_interaction(struct program_run *run, const struct slot_result *result,
                             const struct interaction *pair, struct program_result *test)
{
    static const char left[] = "the program ended while the interactor was still writing to it";
    bool is_left = result->candidate.was_first && pair->of_interactor.signal == SIGPIPE;
    if (is_programs_fault(result, pair)) {
        test->verdict = verdict_of(&run->program, &pair->of_program, pair->program.err);
        return keep_text(run, result->err->data, result->err->length, PROGRAM_NOTE_MAX,
                         &test->note);
    }
    test->verdict = is_left ? PROGRAM_WRONG_ANSWER : verdict_of_checker(&pair->of_interactor);
    if (pair->of_interactor.limit == LIMIT_NONE && pair->of_interactor.exit_code == CHECKER_POINTS)
        read_points(result->err, test);
    return is_left ? keep_text(run, left, strlen(left), PROGRAM_NOTE_MAX, &test->note)
                   : keep_note(run, &pair->interactor, &pair->of_interactor, test);
}

int program_take_interaction(struct program_run *run, const struct job_spec *spec,
                             const struct slot_result *result)
{
    struct program_result *test = &run->results[run->judged];
    _cleanup_(deinit_interaction) struct interaction pair = {.of_program = OUTCOME_NULL,
                                                             .of_interactor = OUTCOME_NULL};
    int r = split(run, result, &pair);
    if (r < 0)
        return r;
    r = judge_interaction(run, result, &pair, test);
    if (r < 0)
        return r;
    describe_end(&pair.program, &pair.of_program, test);
    if (test->verdict == PROGRAM_WRONG_ANSWER || test->verdict == PROGRAM_ERROR)
        test->limit = LIMIT_NONE;                       /* it did not come to that */
    if (!pair.has_ended && test->limit == LIMIT_NONE) { /* stopped, which says nothing of it */
        test->exit_code = -1;
        test->signal = 0;
    }
    if (test->verdict != PROGRAM_PASS)
        r = keep_stderr(run, &pair.program, &pair.of_program, test);
    if (r < 0)
        return r;
    keep_outcome(run, &pair.of_program);
    return count(run, spec->program.all);
}
