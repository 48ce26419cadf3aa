/* SPDX-License-Identifier: MIT */
#include "reply.h"
#include "base64.h"
#include "printer.h"

#include <string.h>

static const struct {
    const char *name;
    bool retriable;
} error_codes[] = {
    [ERROR_BAD_REQUEST] = {"bad_request", false},
    [ERROR_FRAME_TOO_LARGE] = {"frame_too_large", false},
    [ERROR_DENIED] = {"denied", false},
    [ERROR_CANCELLED] = {"cancelled", false},
    [ERROR_DRAINING] = {"draining", true},
    [ERROR_RUBRIC_NOT_FOUND] = {"rubric_not_found", false},
    [ERROR_ANOTHER_RUBRIC] = {"another_rubric", false},
    [ERROR_NOT_PERMITTED] = {"not_permitted", false},
    [ERROR_MODULE_NOT_FOUND] = {"module_not_found", false},
    [ERROR_LANGUAGE_NOT_FOUND] = {"language_not_found", false},
    [ERROR_TESTS_NOT_FOUND] = {"tests_not_found", true}, /* once they were put again */
    [ERROR_SESSION_ENDED] = {"session_ended", false},
    [ERROR_SESSION_BUSY] = {"session_busy", true},
    [ERROR_TOO_MANY_SESSIONS] = {"too_many_sessions", true},
    [ERROR_SANDBOX_FAILED] = {"sandbox_failed", true},
    [ERROR_STARVED] = {"starved", true},
    [ERROR_INTERNAL] = {"internal", true},
};

const char *error_code_name(enum error_code code)
{
    return error_codes[code].name;
}

bool error_code_retriable(enum error_code code)
{
    return error_codes[code].retriable;
}

json_t *limits_json(const struct limits *limits, enum limits_times times)
{
    _cleanup_json_ json_t *object = json_object();
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        json_int_t value = (json_int_t)limits->of[limit];
        bool scaled = limit_is_time(limit) && times == LIMITS_IN_SECONDS;
        json_t *number = scaled && value % 1000 != 0 ? json_real((double)value / 1000)
                                                     : json_integer(scaled ? value / 1000 : value);
        if (json_object_set_new(object, limit_key(limit), number) < 0)
            return NULL;
    }
    return TAKE_PTR(object);
}

void outcome_deinit(struct outcome *outcome)
{
    free(outcome->stderr_text);
    free(outcome->summary);
    *outcome = (struct outcome)OUTCOME_NULL;
}

/* Prints and consumes VALUE; NULL means that memory ran out while it was built. */
static int consume_print(json_t *value, struct bytes *ret)
{
    if (!value)
        return -ENOMEM;
    int r = json_print(value, ret);
    json_decref(value);
    return r;
}

static void name_integer(struct printer *printer, const char *name, int64_t value)
{
    printer_name(printer, name);
    printer_integer(printer, value);
}

/* Prints nothing if WORD is NULL. */
static void name_word(struct printer *printer, const char *name, const char *word)
{
    if (!word)
        return;
    printer_name(printer, name);
    printer_string(printer, word, strlen(word));
}

/* Prints nothing if there is no VALUE. */
static void name_value(struct printer *printer, const char *name, const json_t *value)
{
    if (!value)
        return;
    printer_name(printer, name);
    printer_value(printer, value);
}

/* Prints `null` if there is no number. */
static void name_known(struct printer *printer, const char *name, bool is_known, int64_t value)
{
    printer_name(printer, name);
    if (is_known)
        printer_integer(printer, value);
    else
        printer_word(printer, "null");
}

static void print_outcome(struct printer *printer, const struct outcome *outcome)
{
    const char *limit = limit_name(outcome->limit);
    printer_open(printer);
    printer_name(printer, "success");
    printer_boolean(printer, outcome->success);
    name_known(printer, "exit_code", outcome->exit_code >= 0, outcome->exit_code);
    name_known(printer, "signal", outcome->signal != 0, outcome->signal);
    if (limit)
        name_word(printer, "limit_exceeded", limit);
    else
        name_known(printer, "limit_exceeded", false, 0);
    printer_name(printer, "stderr");
    printer_string(printer, outcome->stderr_text,
                   outcome->stderr_text ? outcome->stderr_length : 0);
    name_word(printer, "summary", outcome->summary ? outcome->summary : "");
    printer_close(printer);
}

static void print_usage(struct printer *printer, const struct usage *usage)
{
    printer_open(printer);
    name_integer(printer, "wall_clock_ms", usage->wall_clock_ms);
    name_integer(printer, "cpu_ms", usage->cpu_ms);
    name_known(printer, "cpu_wait_ms", usage->cpu_wait_ms >= 0, usage->cpu_wait_ms);
    name_integer(printer, "max_rss_bytes", usage->max_rss_bytes);
    name_integer(printer, "queue_ms", usage->queue_ms);
    printer_close(printer);
}

static void print_deadline(struct printer *printer, const struct deadline *deadline)
{
    printer_open(printer);
    name_integer(printer, "moves", deadline->moves);
    name_integer(printer, "wall_clock_ms", deadline->wall_clock_ms);
    printer_close(printer);
}

/* Begins a message about a job. */
static void print_head(struct printer *printer, const char *type, const struct bytes *id,
                       uint64_t job_no)
{
    printer_open(printer);
    name_word(printer, "type", type);
    if (id) {
        printer_name(printer, "id");
        printer_string(printer, id->data, id->length);
    }
    if (job_no)
        name_integer(printer, "job_no", (int64_t)job_no);
}

static void print_stdout(struct printer *printer, const struct bytes *text, size_t max)
{
    size_t n = MIN(text->length, max);
    printer_name(printer, "stdout");
    if (n == 0) {
        printer_string(printer, "", 0);
        return;
    }
    _cleanup_json_ json_t *value = json_text(text->data, n);
    printer_value(printer, value);
}

void reply_print_step(struct printer *printer, const struct outcome *outcome,
                      const struct usage *usage, const struct bytes *out, size_t max)
{
    printer_open(printer);
    printer_name(printer, "outcome");
    print_outcome(printer, outcome);
    printer_name(printer, "usage");
    print_usage(printer, usage);
    print_stdout(printer, out, max);
    printer_close(printer);
}

void reply_files_deinit(struct reply_files *files)
{
    bytes_deinit(&files->files);
    bytes_deinit(&files->left_out);
}

static void print_files(struct printer *printer, const struct reply_files *files)
{
    printer_name(printer, "files");
    printer_bytes(printer, &files->files);
    printer_name(printer, "left_out");
    printer_bytes(printer, &files->left_out);
    printer_name(printer, "files_complete");
    printer_boolean(printer, files->are_complete);
}

/* Prints the digest NAME, or null in its place and the reason WHY_NOT. */
static void print_digest(struct printer *printer, const char *name, const char *digest,
                         const char *name_of_reason, const char *why_not)
{
    name_word(printer, name, digest);
    if (!why_not)
        return;
    _cleanup_json_ json_t *why = json_text(why_not, strlen(why_not));
    printer_name(printer, name);
    printer_word(printer, "null");
    printer_name(printer, name_of_reason);
    printer_value(printer, why);
}

/* Prints the fields that only some kinds of job have. */
static void print_optional(struct printer *printer, const struct reply_result *result)
{
    name_word(printer, "reason", result->reason);
    name_word(printer, "errno", result->errno_name);
    if (result->stdout_bytes)
        print_stdout(printer, result->stdout_bytes, REPLY_STDOUT_MAX);
    name_word(printer, "verdict", result->verdict);
    name_word(printer, "mode", result->mode);
    name_word(printer, "interpreter", result->interpreter);
    print_digest(printer, "rubric_digest", result->rubric_digest, "no_rubric_digest",
                 result->no_rubric_digest);
    print_digest(printer, "warm_class", result->warm_class, "no_warm_class", result->no_warm_class);
    name_value(printer, "assertions", result->assertions);
    name_value(printer, "transcript", result->transcript);
    name_value(printer, "language", result->language);
    name_value(printer, "compile", result->compile);
    name_value(printer, "tests", result->tests);
    if (result->steps && result->steps->data) {
        printer_name(printer, "steps");
        printer_bytes(printer, result->steps);
    }
    if (result->files && result->files->files.data)
        print_files(printer, result->files);
}

int reply_result(const struct reply_result *result, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    print_head(&printer, "result", result->id, result->job_no);
    name_word(&printer, "kind", result->kind);
    printer_name(&printer, "score");
    if (result->score)
        bench_score_print(result->score, &printer);
    else
        printer_word(&printer, "null");
    printer_name(&printer, "outcome");
    print_outcome(&printer, result->outcome);
    printer_name(&printer, "usage");
    print_usage(&printer, result->usage);
    if (result->deadline.moves > 0) {
        printer_name(&printer, "deadline");
        print_deadline(&printer, &result->deadline);
    }
    print_optional(&printer, result);
    printer_name(&printer, "isolation");
    printer_bytes(&printer, result->isolation);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int reply_started(const struct bytes *id, uint64_t job_no, unsigned slot, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    print_head(&printer, "started", id, job_no);
    name_integer(&printer, "slot", slot);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

static void name_seconds(struct printer *printer, const char *name, uint64_t ms)
{
    printer_name(printer, name);
    if (ms % 1000 == 0)
        printer_integer(printer, (int64_t)(ms / 1000));
    else
        printer_real(printer, (double)ms / 1000);
}

int reply_session_opened(const struct reply_session *session, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    _cleanup_json_ json_t *limits = limits_json(session->limits, LIMITS_IN_SECONDS);
    print_head(&printer, "session_opened", session->id, 0);
    name_integer(&printer, "session", (int64_t)session->number);
    name_seconds(&printer, "lease", session->lease_ms);
    name_seconds(&printer, "idle", session->idle_ms);
    printer_name(&printer, "limits");
    printer_value(&printer, limits);
    printer_name(&printer, "isolation");
    printer_bytes(&printer, session->isolation);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int reply_session_closed(const struct reply_session *session, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    print_head(&printer, "session_closed", session->id, 0);
    name_integer(&printer, "session", (int64_t)session->number);
    name_word(&printer, "reason", session->reason);
    name_integer(&printer, "commands", (int64_t)session->commands);
    name_integer(&printer, "age_ms", (int64_t)session->age_ms);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int reply_output(const struct reply_output *output, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    int r = base64_encode(output->data, output->length, &text);
    if (r < 0)
        return r;
    print_head(&printer, "output", output->id, output->job_no);
    name_word(&printer, "stream", output->stream);
    if (output->step >= 0)
        name_integer(&printer, "step", output->step);
    printer_name(&printer, "base64");
    printer_string(&printer, text.data, text.length);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int reply_input_taken(const struct bytes *id, uint64_t job_no, size_t n, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    print_head(&printer, "input_taken", id, job_no);
    name_integer(&printer, "bytes", (int64_t)n);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int reply_error(const struct bytes *id, uint64_t job_no, enum error_code code, const char *message,
                struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    _cleanup_json_ json_t *text = json_text(message, strlen(message));
    print_head(&printer, "error", id, job_no);
    name_word(&printer, "code", error_code_name(code));
    printer_name(&printer, "message");
    printer_value(&printer, text);
    printer_name(&printer, "retriable");
    printer_boolean(&printer, error_code_retriable(code));
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int reply_hello(const struct reply_hello *hello, struct bytes *ret)
{
    return consume_print(
        json_pack("{s:s,s:s,s:s,s:i,s:O,s:O,s:O,s:b,s:o*}", "type", "hello", "software", "rubricd",
                  "version", hello->version, "protocol", PROTOCOL_VERSION, "limits", hello->limits,
                  "isolation", hello->isolation, "interpreter", hello->interpreter, "warm_modules",
                  true, "shares", hello->may_share ? json_true() : NULL),
        ret);
}

int reply_pong(struct bytes *ret)
{
    return consume_print(json_pack("{s:s}", "type", "pong"), ret);
}

int reply_stored(const struct reply_stored *stored, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    print_head(&printer, "stored", stored->id->data ? stored->id : NULL, 0);
    name_word(&printer, "digest", stored->digest);
    name_integer(&printer, "tests", (int64_t)stored->count);
    name_integer(&printer, "bytes", (int64_t)stored->bytes);
    if (stored->parts > 0) {
        name_integer(&printer, "part", (int64_t)stored->part);
        name_integer(&printer, "parts", (int64_t)stored->parts);
    }
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

static json_t *strings(char *const *item, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_string(item[i])) < 0)
            return json_decref(array), NULL;
    return array;
}

int reply_reloaded(const struct reply_reloaded *reloaded, struct bytes *ret)
{
    return consume_print(json_pack("{s:s,s:I,s:o,s:o,s:s}", "type", "reloaded", "generation",
                                   (json_int_t)reloaded->generation, "changed",
                                   strings(reloaded->changed, reloaded->changed_count), "restart",
                                   strings(reloaded->restart, reloaded->restart_count), "digest",
                                   reloaded->digest),
                         ret);
}

int reply_bye(const char *reason, const char *message, struct bytes *ret)
{
    return consume_print(
        json_pack("{s:s,s:s,s:s}", "type", "bye", "reason", reason, "message", message), ret);
}
