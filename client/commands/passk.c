/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "passk_results.h"

#include "client/batch/input.h"
#include "client/batch/jobline.h"
#include "client/cli/files.h"
#include "client/grade/taskid.h"
#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

/* Maximum bytes of a line of results, which holds a sample that came in a frame. */
#define LINE_BYTES_MAX ((size_t)64 << 20)
/* Lines named on stderr that replace others. */
#define LINES_NAMED 10

struct passk_options {
    const char *ks;
    bool json;
};

struct reading {
    struct input input;
    struct passk_results results;
    struct tally *tally;
    uint64_t replaced; /* lines */
};

static void reading_deinit(struct reading *reading)
{
    input_deinit(&reading->input);
    passk_results_deinit(&reading->results);
}

/* Reads `passed` of a line of results, or of the BenchScore in a `result` message. */
static int grade_of(const json_t *line, enum grade *ret, struct fault *fault)
{
    const char *type = json_string_value(json_object_get(line, "type"));
    const json_t *passed = json_object_get(line, "passed");
    if (!passed)
        passed = json_object_get(json_object_get(line, "score"), "passed");
    if (json_is_null(passed) || (!passed && type && strcmp(type, "error") == 0))
        *ret = GRADE_NONE;
    else if (json_is_boolean(passed))
        *ret = json_is_true(passed) ? GRADE_PASSED : GRADE_FAILED;
    else
        return fault_set(fault, "passed: expected a boolean, got %s", json_type_name(passed));
    return 0;
}

static bool is_used(const char *name, size_t n)
{
    static const char *const used[] = {"task_id", "passed", "score", "type"};
    return json_name_is_among(name, n, used, ARRAY_SIZE(used));
}

/* Says that the line read last is that of a sample of ID which an earlier one is of, too. */
static void tell_replaced(struct reading *reading, const char *id)
{
    if (++reading->replaced <= LINES_NAMED)
        complain("%s:%" PRIu64 ": \"%s\" occurs earlier in this file; the last line counts",
                 reading->input.name, reading->input.line_no, id);
    else if (reading->replaced == LINES_NAMED + 1)
        complain("%s: more lines like these follow", reading->input.name);
}

static int add_line(struct reading *reading, const char *text, size_t n, struct fault *fault)
{
    _cleanup_json_ json_t *line = NULL;
    char id[TASK_ID_MAX + 1];
    enum grade grade = GRADE_NONE;
    int r = jobline_read_object(text, n, is_used, &line, fault);
    if (r == 0)
        r = task_id_of(line, id, fault);
    if (r == 0)
        r = grade_of(line, &grade, fault);
    if (r < 0)
        return r;
    ssize_t task = tally_task(reading->tally, id);
    if (task < 0)
        return (int)task;
    r = passk_results_add(&reading->results, line, reading->input.next_file, (size_t)task, id,
                          grade);
    if (r > 0)
        tell_replaced(reading, id);
    return r < 0 ? r : 0;
}

static void take_line(struct reading *reading, const char *text, size_t n)
{
    struct fault fault = FAULT_NULL;
    if (jobline_blank(text, n))
        return;
    int r = add_line(reading, text, n, &fault);
    if (r == 0)
        return;
    complain("%s:%" PRIu64 ": %s", reading->input.name, reading->input.line_no,
             fault.text[0] ? fault.text : strerror(-r));
    reading->tally->unusable++;
}

static void read_results(struct reading *reading)
{
    for (;;) {
        const char *text;
        size_t n;
        struct fault fault = FAULT_NULL;
        switch (input_next_blocking(&reading->input, &text, &n, &fault)) {
        case INPUT_LINE:
            take_line(reading, text, n);
            break;
        case INPUT_WRONG:
            complain("%s", fault.text);
            reading->tally->unusable++;
            break;
        case INPUT_WAIT: /* never */
        case INPUT_END:
            return;
        }
    }
}

static enum exit_status run_passk(_unused_ const struct globals *globals, const void *options_,
                                  const struct text_list *files)
{
    const struct passk_options *options = options_;
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    _cleanup_(reading_deinit) struct reading reading = {
        .input = INPUT_NULL, .results = PASSK_RESULTS_NULL, .tally = &tally};
    _cleanup_free_ const char **once = NULL;
    size_t n = 0;
    struct passk_ks ks;
    struct fault fault = FAULT_NULL;
    if (passk_parse_ks(options->ks, &ks, &fault) < 0) {
        complain("%s", fault.text);
        return STATUS_USAGE;
    }
    if (tally_init(&tally) < 0 || files_once(files, &once, &n) < 0 ||
        input_init(&reading.input, once, n, LINE_BYTES_MAX) < 0) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    read_results(&reading);
    if (tally.n == 0) {
        complain("no results found");
        return STATUS_USAGE;
    }
    if (passk_results_count(&reading.results, &tally) < 0 ||
        tally_print(stdout, &tally, &ks, options->json) < 0)
        complain("out of memory");
    const struct ending ending = {
        .bad_input = tally.unusable > 0,
        .errors = tally.not_graded > 0,
    };
    return ending_status(&ending, false);
}

static const struct option_spec passk_specs[] = {
    {
        .letter = 'k',
        .name = "k",
        .argument = "K,...",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct passk_options, ks),
        .help =
            "compute pass@k for these k (default: those of 1, 10 and 100 that the samples allow)",
    },
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct passk_options, json),
        .help = "print pass@k and the counts behind it as a JSON object",
    },
};

const struct command command_passk = {
    .name = "passk",
    .arguments = "RESULTS...",
    .argument_value = VALUE_FILE,
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "compute pass@k from existing results",
    .description =
        "Each line of each RESULTS (\"-\": standard input; a .gz file is inflated) is the\n"
        "result of one sample: task_id and passed, as rubricctl grade and the harness of\n"
        "HumanEval write them. A `result` message with a task_id added works as well. All\n"
        "files count together. Of lines of one file with the same task_id and the same\n"
        "sample (or id, of a message), the last one counts, as in a report; a file that is\n"
        "given twice counts once. passk needs no daemon.\n"
        "\n"
        "If c of n samples for a task are correct, k samples drawn at random contain a\n"
        "correct one with probability 1 - C(n-c, k) / C(n, k). pass@k is the mean of that\n"
        "over all tasks, and is computed if each has at least k samples. A sample whose\n"
        "passed is null was not graded: n does not include it, and pass@k is labelled\n"
        "incomplete. Other labels count the tasks with verdicts of mode `shared`, which\n"
        "the code could have forged, and those whose reference solution fails the tests.\n",
    .examples = "  rubricctl passk samples.jsonl_results.jsonl\n"
                "  rubricctl passk --k 1,5,20 --json a_results.jsonl b_results.jsonl.gz\n",
    .exits = "  0    pass@k was computed, whatever it is\n"
             "  2    wrong usage, or a line that could not be used\n"
             "  4    some samples were not graded\n"
             "  If several apply, 2.\n",
    .options = passk_specs,
    .n_options = ARRAY_SIZE(passk_specs),
    .options_size = sizeof(struct passk_options),
    .run = run_passk,
};
