/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/batch/engine.h"
#include "client/cli/files.h"
#include "client/connection/connect.h"
#include "client/grade/transcript.h"
#include "client/terminal/text.h"
#include "proto/printer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Maximum bytes of a line beyond the frame that its job fits into: ids, and what is around. */
#define LINE_MORE_MAX ((size_t)64 << 10)

struct replay_options {
    struct engine_options engine;
};

struct replaying {
    struct input input;
    struct jobline_policy policy;
    uint64_t passes, diverged, others; /* replays by how they ended */
    uint64_t unreplayable;             /* lines that say why */
};

/* --- from lines to jobs ------------------------------------------------------------------- */

/* Returns 1 for a job; 0 for a line that cannot be replayed, which is named and counted. */
static int take_line(struct replaying *replaying, const char *text, size_t n,
                     struct engine_job *ret, struct fault *fault)
{
    _cleanup_json_ json_t *line = NULL;
    _cleanup_bytes_ struct bytes id = BYTES_NULL;
    struct transcript transcript;
    int r = json_read_object(text, n, &line, fault);
    if (r == 0)
        r = transcript_read(line, &transcript, fault);
    if (r == 0 && transcript.reason) {
        complain("%s: not replayable: %s", json_string_value(transcript.id), transcript.reason);
        replaying->unreplayable++;
        return 0;
    }
    if (r == 0)
        r = bytes_copy(json_string_value(transcript.id), json_string_length(transcript.id), &id);
    if (r == 0)
        r = jobline_from_object(transcript.job, &id, &replaying->policy, &ret->submission, fault);
    return r < 0 ? r : 1;
}

static enum input_state next_job(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct replaying *replaying = arg;
    const struct input *input = &replaying->input;
    for (;;) {
        const char *text;
        size_t n;
        struct fault why = FAULT_NULL;
        enum input_state state = input_next(&replaying->input, &text, &n, fault);
        if (state != INPUT_LINE)
            return state;
        if (jobline_blank(text, n))
            continue;
        (void)fault_set(&ret->place, "%s:%" PRIu64, input->name, input->line_no);
        int r = take_line(replaying, text, n, ret, &why);
        if (r > 0)
            return INPUT_LINE;
        if (r < 0) {
            (void)fault_set(fault, "%s: %s", ret->place.text,
                            why.text[0] ? why.text : strerror(-r));
            return INPUT_WRONG;
        }
    }
}

/* --- answers ------------------------------------------------------------------------------ */

static void count(struct replaying *replaying, const json_t *answer)
{
    const char *verdict = json_string_value(json_object_get(answer, "verdict"));
    if (verdict && strcmp(verdict, "pass") == 0)
        replaying->passes++;
    else if (verdict && strcmp(verdict, "diverged") == 0)
        replaying->diverged++;
    else
        replaying->others++;
}

/* Names a replay that is no pass. */
static void complain_about(const struct message *message)
{
    const char *id = message_text(message, "id"), *verdict = message_text(message, "verdict");
    if (message->type != MESSAGE_RESULT) {
        complain("%s: not judged: %s: %s", id, message_text(message, "code"),
                 message_text(message, "message"));
        return;
    }
    struct score_parts parts = message_score(message);
    const char *detail =
        json_string_value(json_object_get(json_array_get(parts.failure_modes, 0), "detail"));
    if (!parts.passed)
        complain("%s: %s%s%s", id, verdict ? verdict : "no verdict", detail ? ": " : "",
                 detail ? detail : "");
}

/* The line is the message as it came. */
static int answer_line(void *arg, struct message *message, _unused_ json_t *note,
                       struct bytes *ret_line)
{
    count(arg, message->object);
    complain_about(message);
    return json_print(message->object, ret_line);
}

static void recount(void *arg)
{
    struct replaying *replaying = arg;
    replaying->passes = replaying->diverged = replaying->others = 0;
}

static void recounted(void *arg, const struct result_line *line, struct summary *summary)
{
    const struct message message = {
        .type = line->answered ? MESSAGE_RESULT : MESSAGE_ERROR,
        .object = line->object,
    };
    count(arg, line->object);
    if (line->answered) {
        struct score_parts parts = message_score(&message);
        summary_add_result(summary, &parts);
    } else {
        summary_add_error(summary, message_text(&message, "code"), NULL, NULL);
    }
}

/* --- the command -------------------------------------------------------------------------- */

static void put_counts(const struct replaying *replaying)
{
    uint64_t all =
        replaying->passes + replaying->diverged + replaying->others + replaying->unreplayable;
    complain("%" PRIu64 " transcript%s: %" PRIu64 " pass, %" PRIu64 " diverged, %" PRIu64
             " not replayable, %" PRIu64 " not judged",
             all, text_plural(all), replaying->passes, replaying->diverged, replaying->unreplayable,
             replaying->others);
}

static enum exit_status replay(const struct globals *globals, const struct replay_options *options,
                               const struct text_list *files)
{
    _cleanup_(engine_deinit) struct engine engine = ENGINE_NULL;
    int connected = connect_session(globals, CONNECT_OR_START, &engine.session);
    if (connected < 0)
        return connect_status(globals, connected);
    if (engine_open(&engine, &options->engine, files->items, files->n) < 0)
        return STATUS_USAGE;
    struct replaying replaying = {.policy.max_frame = engine.session.max_frame};
    if (input_init(&replaying.input, files->items, files->n,
                   engine.session.max_frame + LINE_MORE_MAX) < 0) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    struct engine_work work = {
        .arg = &replaying,
        .input = &replaying.input,
        .next = next_job,
        .answer = answer_line,
        .recount = recount,
        .recounted = recounted,
    };
    work.cases = input_count(files->items, files->n, &work.about);
    engine_run(&engine, &work);
    input_deinit(&replaying.input);
    put_counts(&replaying);
    return ending_status(&engine.ending, globals->no_fail);
}

static enum exit_status run_replay(const struct globals *globals, const void *options_,
                                   const struct text_list *files)
{
    const struct replay_options *options = options_;
    struct fault fault = FAULT_NULL;
    for (size_t i = 0; i < files->n; i++) {
        if (file_check_readable(files->items[i], &fault) < 0) {
            complain("%s", fault.text);
            return STATUS_USAGE;
        }
    }
    return replay(globals, options, files);
}

const struct command command_replay = {
    .name = "replay",
    .arguments = "FILE...",
    .argument_value = VALUE_FILE,
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "judge passes again from their transcripts, without the code",
    .description =
        "Each line of each FILE (\"-\": standard input; a .gz file is inflated) is a pass\n"
        "as `rubricctl grade --transcripts` writes it: its job and the transcript of how\n"
        "it was judged. The tests run again, in a jail and in a Python in which no line\n"
        "of the code is run. Each question that they ask of the code must be the\n"
        "recorded one, byte for byte. They then get the recorded answer.\n"
        "\n"
        "A replay ends in `pass`: the recorded answers satisfy the tests in FILE. Or it\n"
        "is `diverged`: the transcript, the code or the tests are not what they were, or\n"
        "the tests do not pass. Compare the tests in FILE with those of the data set if\n"
        "somebody else wrote it. A replay cannot notice an answer that was changed into\n"
        "another one that satisfies the tests as well.\n"
        "\n"
        "Passes that cannot be replayed (threads, files that the code wrote, addresses,\n"
        "a transcript that is too large) are named with the reason, and counted.\n"
        "\n"
        "Each answer becomes one line on standard output (or in the file that --output\n"
        "names), as with `rubricctl batch`. Standard error names whatever is not a pass,\n"
        "and its last line counts them all.\n",
    .examples = "  rubricctl grade --dataset D.jsonl --samples S.jsonl --transcripts T.jsonl\n"
                "  rubricctl replay --embedded T.jsonl > replays.jsonl\n"
                "  rubricctl replay -o /dev/null T.jsonl && echo all of them hold\n",
    .exits = engine_exits,
    .options_size = sizeof(struct replay_options),
    .shared = {engine_specs, ENGINE_SPECS, offsetof(struct replay_options, engine)},
    .run = run_replay,
};
