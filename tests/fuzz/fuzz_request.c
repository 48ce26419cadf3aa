/* SPDX-License-Identifier: MIT */
/* Fuzz target: the payload of a frame that a client sends.
 *
 * Holds for any bytes: a request that is printed and read again is the same; so is one whose JSON
 * is printed and read again; what is refused names the member that is wrong, in UTF-8, and comes
 * with the id of the message. */
#include "tests/fuzz/fuzz.h"

#include "proto/base64.h"
#include "proto/printer.h"
#include "proto/program_tests.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "proto/utf8.h"

#include <string.h>

/* A longer name of a member is cut where it is shown (proto/fields.c). */
#define NAME_SHOWN_MAX 64

static struct request_policy make_policy(void)
{
    static const char *const names[] = {"LANG", "SEED"};
    struct request_policy policy = {.env_names = names,
                                    .env_name_count = ARRAY_SIZE(names),
                                    .allow_network = true,
                                    .lease_ms = 3600000,
                                    .lease_ceiling_ms = 86400000,
                                    .idle_ms = 600000,
                                    .idle_ceiling_ms = 3600000};
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        const struct job_kind *kind = job_kind_get(id);
        policy.defaults[id] = kind->defaults;
        policy.ceilings[id] = limits_ceiling_default;
        if (kind->wall_clock_ceiling > 0)
            policy.ceilings[id].of[LIMIT_WALL_CLOCK] = kind->wall_clock_ceiling;
    }
    policy.ceilings[JOB_SESSION].of[LIMIT_OUTPUT] = 10 * LIMIT_MIB;
    return policy;
}

/* --- printing a request ---------------------------------------------------------------------- */

static void set(json_t *object, const char *name, json_t *take_value)
{
    CHECK(json_object_set_new(object, name, take_value) == 0);
}

static json_t *string_of(const struct bytes *bytes)
{
    json_t *value = json_stringn(bytes->data, bytes->length);
    CHECK(value); /* it came as UTF-8 */
    return value;
}

static void set_if(json_t *object, const char *name, const struct bytes *bytes)
{
    if (bytes->data)
        set(object, name, string_of(bytes));
}

static void set_text_if(json_t *object, const char *name, const char *text)
{
    if (text)
        set(object, name, json_string(text));
}

static json_t *base64_of(const struct bytes *bytes)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    CHECK(base64_encode(bytes->data, bytes->length, &text) == 0);
    return json_pack("{s:s}", "base64", text.data);
}

static json_t *strings_of(char *const *strings)
{
    json_t *array = json_array();
    for (; *strings; strings++)
        CHECK(json_array_append_new(array, json_string(*strings)) == 0);
    return array;
}

/* The wall clock of a rubric is in its case. */
static json_t *print_limits(const struct job_spec *spec)
{
    json_t *limits = json_object();
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        uint64_t value = spec->limits.of[limit];
        if (spec->kind == JOB_RUBRIC && limit == LIMIT_WALL_CLOCK)
            continue;
        set(limits, limit_key(limit),
            limit_is_time(limit) ? json_real((double)value / 1000)
                                 : json_integer((json_int_t)value));
    }
    if (spec->kind == JOB_SANDBOX)
        set(limits, "allow_network", json_boolean(spec->network));
    for (enum limit limit = 0; spec->kind == JOB_SESSION && limit < LIMIT_COUNT; limit++)
        if (!(spec->session.limits_given & 1u << limit))
            (void)json_object_del(limits, limit_key(limit));
    return limits;
}

static void print_rubric(const struct rubric_spec *rubric, json_t *job)
{
    static const char *const words[] = {
        [SUT_OK] = "ok", [SUT_EXCEPTION] = "exception", [SUT_TIMEOUT] = "timeout"};
    struct fault fault = FAULT_NULL;
    json_t *input = NULL;
    CHECK(json_read_object(rubric->input.data, rubric->input.length, &input, &fault) == 0);
    CHECK(json_object_size(input) == 2 && json_object_update(job, input) == 0);
    json_decref(input);
    set_text_if(job, "task_class", rubric->task_class);
    set_text_if(job, "bench_root", rubric->bench_root);
    set_text_if(job, "rubric_digest", rubric->digest);
    set(job, "warm", json_boolean(!rubric->cold));
    json_t *sut = json_object();
    set(sut, "status", json_string(words[rubric->sut]));
    set_if(sut, "detail", &rubric->sut_detail);
    set(job, "sut", sut);
}

static json_t *print_file(const struct sandbox_file *file)
{
    char mode[8];
    json_t *object = base64_of(&file->content);
    (void)snprintf(mode, sizeof(mode), "%04o", file->mode);
    set(object, "mode", json_string(mode));
    return object;
}

static json_t *print_env(char *const *entries)
{
    json_t *env = json_object();
    for (char *const *entry = entries; entry && *entry; entry++) {
        const char *is = strchr(*entry, '=');
        _cleanup_free_ char *name = is ? strndup(*entry, (size_t)(is - *entry)) : NULL;
        CHECK(name);
        set(env, name, json_string(is + 1));
    }
    return env;
}

static void print_size(struct terminal_size size, json_t *object)
{
    CHECK(size.rows <= TERMINAL_SIZE_MAX && size.columns <= TERMINAL_SIZE_MAX);
    set(object, "rows", json_integer(size.rows));
    set(object, "columns", json_integer(size.columns));
}

/* A terminal excludes what would be the default of other fields. */
static void print_terminal(const struct job_terminal *terminal, json_t *job)
{
    json_t *object = json_object();
    print_size(terminal->size, object);
    set_text_if(object, "term", terminal->name);
    set(job, "terminal", object);
    (void)json_object_del(job, "stdin");
    (void)json_object_del(json_object_get(job, "limits"), limit_key(LIMIT_OUTPUT));
}

static void print_sandbox(const struct sandbox_spec *sandbox, bool streams, json_t *job)
{
    static const char *const runners[] = {[SANDBOX_SHELL] = "shell", [SANDBOX_PYTHON] = "python"};
    if (sandbox->program == SANDBOX_ARGV)
        set(job, "argv", strings_of(sandbox->argv));
    else
        set(job, sandbox->program == SANDBOX_SNIPPET ? "snippet" : "generation",
            string_of(&sandbox->text));
    if (sandbox->program != SANDBOX_ARGV)
        set(job, "runner", json_string(runners[sandbox->runner]));
    json_t *files = json_object();
    for (size_t i = 0; i < sandbox->file_count; i++)
        set(files, sandbox->files[i].name, print_file(&sandbox->files[i]));
    CHECK(json_object_size(files) == sandbox->file_count);
    set(job, "files", files);
    set(job, "stdin", base64_of(&sandbox->input));
    set(job, "env", print_env(sandbox->env));
    if (sandbox->readable)
        set(job, "readable", strings_of(sandbox->readable));
    CHECK(streams || !sandbox->terminal.is_wanted);
    set(job, "stream", json_boolean(streams));
    if (sandbox->terminal.is_wanted)
        print_terminal(&sandbox->terminal, job);
}

static void print_command(const struct session_spec *session, json_t *job)
{
    static const char *const paths[] = {[SESSION_WRITE] = "write", [SESSION_READ] = "read"};
    set(job, "session", json_integer((json_int_t)session->number));
    CHECK((session->argv != NULL) == (session->act == SESSION_EXEC));
    CHECK((session->path != NULL) == (session->act != SESSION_EXEC));
    CHECK(session->input.data && !session->common_env && session->mode <= 0777);
    if (session->act != SESSION_EXEC)
        set(job, paths[session->act], json_string(session->path));
    if (session->act == SESSION_WRITE) {
        set(job, "content", base64_of(&session->input));
        set(job, "mode", json_integer(session->mode));
        set(job, "append", json_boolean(session->append));
    } else if (session->act == SESSION_EXEC) {
        set(job, "argv", strings_of(session->argv));
        set(job, "stdin", base64_of(&session->input));
        set(job, "env", print_env(session->env));
        set_text_if(job, "cwd", session->cwd);
    }
}

static void print_wish(const struct session_wish *wish, json_t *message)
{
    json_t *limits = json_object();
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        set(limits, limit_key(limit),
            limit_is_time(limit) ? json_real((double)wish->limits.of[limit] / 1000)
                                 : json_integer((json_int_t)wish->limits.of[limit]));
    set(message, "limits", limits);
    set(message, "env", print_env(wish->env));
    set(message, "lease", json_real((double)wish->lease_ms / 1000));
    set(message, "idle", json_real((double)wish->idle_ms / 1000));
}

static void print_code_exec(const struct code_exec_spec *code_exec, json_t *job)
{
    json_t *targets = json_array(), *names = json_array();
    set(job, code_exec->is_generation ? "generation" : "code", string_of(&code_exec->text));
    for (size_t i = 0; i < code_exec->target_count; i++)
        CHECK(json_array_append_new(targets, string_of(&code_exec->targets[i])) == 0);
    for (size_t i = 0; i < code_exec->name_count; i++)
        CHECK(json_array_append_new(names, json_string(code_exec->names[i])) == 0);
    CHECK((code_exec->target_count > 0) != (code_exec->test.data != NULL));
    CHECK(code_exec->entry_point || !code_exec->test.data);
    set(job, "targets", code_exec->targets ? targets : json_null());
    if (!code_exec->targets)
        json_decref(targets);
    set(job, "names", names);
    set_if(job, "test", &code_exec->test);
    set_text_if(job, "entry_point", code_exec->entry_point);
    set_if(job, "prelude", &code_exec->prelude);
    set_if(job, "test_setup", &code_exec->test_setup);
    set(job, "verdict", json_string(code_exec->shared ? "shared" : "isolated"));
    set(job, "warm", json_boolean(!code_exec->cold));
    set(job, "transcript", json_boolean(code_exec->transcript));
    CHECK(code_exec->is_replay == (code_exec->replay.data != NULL));
    if (code_exec->is_replay) {
        json_t *replay = base64_of(&code_exec->replay);
        set(job, "replay", json_incref(json_object_get(replay, "base64")));
        json_decref(replay);
    }
}

static json_t *json_of(const struct bytes *text)
{
    json_error_t error;
    json_t *value = json_loadb(text->data, text->length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    CHECK(value);
    return value;
}

static json_t *print_test(const struct program_test *test, bool is_call)
{
    json_t *object = json_object();
    set(object, is_call ? "args" : "input",
        is_call ? json_of(&test->input) : base64_of(&test->input));
    set(object, is_call ? "expected" : "output",
        is_call ? json_of(&test->output) : base64_of(&test->output));
    set_text_if(object, "name", test->name);
    if (test->wall_clock > 0)
        set(object, "wall_clock", json_real((double)test->wall_clock / 1000));
    if (test->argv)
        set(object, "argv", strings_of(test->argv));
    return object;
}

static json_t *print_tests(const struct program_tests *tests)
{
    json_t *array = json_array();
    CHECK(tests->references == 1 && tests->count > 0 && tests->count <= PROGRAM_TESTS_MAX);
    for (size_t i = 0; i < tests->count; i++)
        CHECK(json_array_append_new(array, print_test(&tests->test[i], tests->is_call)) == 0);
    return array;
}

/* The digest is that of the tests as they are printed here. */
static void print_put(const struct program_tests *tests, json_t *message)
{
    char digest[PROGRAM_DIGEST_SIZE];
    json_t *array = print_tests(tests);
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    CHECK(json_print(array, &text) == 0);
    program_digest(text.data, text.length, digest);
    set(message, "digest", json_string(digest));
    set(message, "tests", array);
}

static json_t *print_files(const struct sandbox_file *file, size_t count)
{
    json_t *files = json_object();
    for (size_t i = 0; i < count; i++)
        set(files, file[i].name, print_file(&file[i]));
    CHECK(json_object_size(files) == count);
    return files;
}

static json_t *print_checker(const struct program_helper *checker)
{
    json_t *object = json_object();
    set(object, "language", json_string(checker->language));
    set_if(object, "code", &checker->code);
    set(object, "files", print_files(checker->files, checker->file_count));
    return object;
}

static json_t *print_compile_limits(const struct limits *limits)
{
    json_t *object = json_object();
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (limits->of[limit] > 0)
            set(object, limit_key(limit),
                limit_is_time(limit) ? json_real((double)limits->of[limit] / 1000)
                                     : json_integer((json_int_t)limits->of[limit]));
    return object;
}

static void print_program(const struct program_spec *program, json_t *job)
{
    set(job, "language", json_string(program->language));
    set(job, program->is_generation ? "generation" : "code", string_of(&program->text));
    set_if(job, "prelude", &program->prelude);
    set(job, "files", print_files(program->files, program->file_count));
    CHECK((program->tests != NULL) != (*program->digest != '\0'));
    set(job, "tests",
        program->tests ? print_tests(program->tests) : json_pack("{s:s}", "put", program->digest));
    CHECK(!program->tests || program->tests->is_call == (program->call != NULL));
    set_text_if(job, "compare", program->compare);
    set_text_if(job, "call", program->call);
    set(job, "stop", json_string(program->all ? "all" : "first_failure"));
    if (program->checker)
        set(job, "checker", print_checker(program->checker));
    set(job, "compile_limits", print_compile_limits(&program->compile_limits));
}

/* The kinds whose jobs print_request() prints. Jobs of the others are decoded twice instead. */
static const bool is_printed[JOB_KIND_COUNT] = {
    [JOB_RUBRIC] = true, [JOB_SANDBOX] = true, [JOB_CODE_EXEC] = true, [JOB_PROGRAM] = true};

/* Returns a message from which the same REQUEST is decoded, with no default left out. */
static json_t *print_request(const struct request *request)
{
    static const char *const types[] = {
        [REQUEST_SUBMIT] = "submit",
        [REQUEST_CANCEL] = "cancel",
        [REQUEST_STATUS] = "status",
        [REQUEST_METRICS] = "metrics",
        [REQUEST_PING] = "ping",
        [REQUEST_DRAIN] = "drain",
        [REQUEST_RELOAD] = "reload",
        [REQUEST_PUT] = "put",
        [REQUEST_SESSION_OPEN] = "session_open",
        [REQUEST_SESSION_CLOSE] = "session_close",
        [REQUEST_INPUT] = "input",
        [REQUEST_RESIZE] = "resize",
    };
    json_t *message = json_object();
    set(message, "type", json_string(types[request->type]));
    set_if(message, "id", &request->id);
    if (request->job_no > 0)
        set(message, "job_no", json_integer((json_int_t)request->job_no));
    CHECK((request->job != NULL) == (request->type == REQUEST_SUBMIT));
    CHECK((request->tests != NULL) == (request->type == REQUEST_PUT));
    if (request->tests)
        print_put(request->tests, message);
    if (request->type == REQUEST_SESSION_OPEN)
        print_wish(&request->wish, message);
    if (request->type == REQUEST_SESSION_CLOSE)
        set(message, "session", json_integer((json_int_t)request->session));
    if (request->type == REQUEST_RESIZE)
        print_size(request->size, message);
    if (request->type == REQUEST_INPUT) {
        json_t *input = base64_of(&request->input);
        CHECK(request->input.length > 0 && request->input.length <= TERMINAL_INPUT_MAX);
        CHECK(json_object_update(message, input) == 0);
        json_decref(input);
    }
    if (!request->job)
        return message;

    const struct job_spec *spec = request->job;
    json_t *job = json_object();
    set(job, "kind", json_string(job_kind_name(spec->kind)));
    set(job, "priority", json_integer(spec->priority));
    set(job, "limits", print_limits(spec));
    if (spec->kind == JOB_RUBRIC)
        print_rubric(&spec->rubric, job);
    else if (spec->kind == JOB_SANDBOX)
        print_sandbox(&spec->sandbox, spec->streams, job);
    else if (spec->kind == JOB_CODE_EXEC)
        print_code_exec(&spec->code_exec, job);
    else if (spec->kind == JOB_PROGRAM)
        print_program(&spec->program, job);
    else
        print_command(&spec->session, job);
    CHECK(job_spec_size(spec) < REQUEST_OVERHEAD_MAX);
    set(message, "job", job);
    return message;
}

/* --- oracles --------------------------------------------------------------------------------- */

/* Reads TEXT, which is fine, and prints what is read in full. */
static void read_and_print(const struct bytes *text, const struct request_policy *policy,
                           struct bytes *ret)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    _cleanup_json_ json_t *id = NULL, *printed = NULL;
    struct fault fault = FAULT_NULL;
    int r = request_read(text->data, text->length, policy, &request, &id, &fault);
    if (r < 0)
        (void)fprintf(stderr, "%.*s\n%s\n", (int)text->length, text->data, fault.text);
    CHECK(r == 0 && !id);
    printed = print_request(&request);
    CHECK(json_print(printed, ret) == 0);
}

/* Checks that MESSAGE, printed, is decoded to a job like that of REQUEST. */
static void check_decoded_again(const struct request *request, const json_t *message,
                                const struct request_policy *policy)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    _cleanup_request_ struct request again = REQUEST_NULL;
    _cleanup_json_ json_t *id = NULL;
    struct fault fault = FAULT_NULL;
    CHECK(json_print(message, &text) == 0);
    CHECK(request_read(text.data, text.length, policy, &again, &id, &fault) == 0 && !id);
    const struct job_spec *a = request->job, *b = again.job;
    CHECK(b && a->kind == b->kind && a->priority == b->priority && a->network == b->network &&
          a->streams == b->streams);
    CHECK(memcmp(&a->limits, &b->limits, sizeof(a->limits)) == 0);
    CHECK(job_spec_size(a) == job_spec_size(b));
}

static void check_round_trip(const struct request *request, const json_t *message,
                             const struct request_policy *policy)
{
    if (request->job && !is_printed[request->job->kind]) {
        check_decoded_again(request, message, policy);
        return;
    }
    _cleanup_bytes_ struct bytes first = BYTES_NULL, second = BYTES_NULL, third = BYTES_NULL,
                                 compact = BYTES_NULL;
    _cleanup_json_ json_t *printed = print_request(request);
    CHECK(json_print(printed, &first) == 0);
    read_and_print(&first, policy, &second);
    CHECK(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);

    if (request->type == REQUEST_PUT)
        return; /* its digest is that of the text as it came */
    CHECK(json_print(message, &compact) == 0);
    read_and_print(&compact, policy, &third);
    CHECK(first.length == third.length && memcmp(first.data, third.data, first.length) == 0);
}

/* Whether TEXT begins with the path of a member of MESSAGE, or of one that it lacks. */
static bool names_a_member(const char *text, const json_t *message)
{
    static const char *const known[] = {"type",    "id",      "job_no", "job",    "cancel",
                                        "digest",  "session", "tests",  "base64", "rows",
                                        "columns", "part",    "parts"};
    json_t *walked = (json_t *)(uintptr_t)message;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        size_t n = strlen(known[i]);
        if (strncmp(text, known[i], n) == 0 && strchr(".[:", text[n]) && text[n])
            return true;
    }
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *key = json_object_iter_key(i);
        size_t n = utf8_cut(key, strlen(key), NAME_SHOWN_MAX);
        if (n == 0 ? strncmp(text, "\"\"", 2) == 0 : strncmp(text, key, n) == 0)
            return true;
    }
    return false;
}

/* What a client is told can be read, whatever bytes of its message it shows. */
static void check_answer(const json_t *id, const char *text)
{
    const struct bytes name = {(char *)(uintptr_t)json_string_value(id), json_string_length(id)};
    _cleanup_bytes_ struct bytes answer = BYTES_NULL;
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    CHECK(reply_error(id ? &name : NULL, 0, ERROR_BAD_REQUEST, text, &answer) == 0);
    CHECK(json_read_object(answer.data, answer.length, &object, &fault) == 0);
    CHECK(!id || json_equal(json_object_get(object, "id"), id));
    CHECK(json_string_length(json_object_get(object, "message")) > 0);
}

static void check_refusal(int r, const json_t *message, const json_t *id, const char *text)
{
    size_t length = strlen(text);
    _cleanup_free_ char *valid = utf8_replace(text, length, &length);
    CHECK(r == -EINVAL || r == -EPERM || r == -EBADMSG);
    CHECK(*text && valid && (r == -EBADMSG || strcmp(valid, text) == 0));
    check_answer(id, text);
    if (id)
        CHECK(json_is_string(id) && json_string_length(id) > 0 &&
              json_string_length(id) <= REQUEST_ID_MAX);
    if (!message) {
        CHECK(r != -EPERM);
        CHECK(strncmp(text, "JSON: ", 6) == 0 || strncmp(text, "expected an object", 18) == 0);
        return;
    }
    if (!names_a_member(text, message))
        (void)fprintf(stderr, "%s\n", text);
    CHECK(r != -EBADMSG && names_a_member(text, message));
    const json_t *own = json_object_get(message, "id");
    if (json_is_string(own) && json_string_length(own) > 0 &&
        json_string_length(own) <= REQUEST_ID_MAX)
        CHECK(id && json_equal(own, id));
    else
        CHECK(!id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct request_policy policy = make_policy();
    _cleanup_request_ struct request request = REQUEST_NULL;
    _cleanup_json_ json_t *id = NULL, *message = NULL;
    struct fault fault = FAULT_NULL;
    size_t at;

    int r = request_read((const char *)data, size, &policy, &request, &id, &fault);
    int same = json_read_bounded((const char *)data, size, REQUEST_OVERHEAD_MAX, &message, NULL,
                                 &at, NULL);
    CHECK(r != 0 || same == 0);
    if (r == 0)
        check_round_trip(&request, message, &policy);
    else
        check_refusal(r, message, id, fault.text);
    return 0;
}
