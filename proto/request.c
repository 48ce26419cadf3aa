/* SPDX-License-Identifier: MIT */
#include "request.h"
#include "jobfields.h"
#include "json_parse.h"
#include "printer.h"
#include "program_tests.h"
#include "salvage.h"
#include "session_request.h"
#include "terminal.h"

#include <string.h>

static void job_spec_free_pointer(struct job_spec **spec)
{
    *spec = job_spec_free(*spec);
}

void request_deinit(struct request *request)
{
    bytes_deinit(&request->id);
    free(request->share);
    request->share = NULL;
    request->job = job_spec_free(request->job);
    request->tests = program_tests_unref(request->tests);
    bytes_deinit(&request->text);
    bytes_deinit(&request->input);
    session_wish_deinit(&request->wish);
}

/* --- submit ------------------------------------------------------------------------------- */

static int decode_kind(const json_t *job, enum job_kind_id *ret, struct fault *fault)
{
    const json_t *value = json_object_get(job, "kind");
    if (!value)
        return fault_set(fault, "job.kind: missing");
    int r = field_check_type(value, FIELD_TEXT, "job.kind", fault);
    if (r < 0)
        return r;
    enum job_kind_id found = job_kind_find(json_string_value(value));
    if (found < JOB_KIND_COUNT) {
        *ret = found;
        return 0;
    }
    return fault_set(fault, "job.kind: unknown kind \"%.*s\"", SHOWN(json_string_value(value)));
}

static int decode_priority(const json_t *value, int *ret, struct fault *fault)
{
    json_int_t priority = json_integer_value(value); /* 0 if absent */
    if (priority < -JOB_PRIORITY_MAX || priority > JOB_PRIORITY_MAX)
        return fault_set(fault, "job.priority: expected an integer from -%d to %d",
                         JOB_PRIORITY_MAX, JOB_PRIORITY_MAX);
    *ret = (int)priority;
    return 0;
}

static int decode_job(const json_t *job, const struct request_policy *policy,
                      const struct json_places *places, struct job_spec **ret, struct fault *fault)
{
    enum job_kind_id id = 0;
    const json_t *values[JOB_FIELDS_MAX] = {NULL};
    int r = decode_kind(job, &id, fault);
    if (r < 0)
        return r;
    const struct job_kind *kind = job_kind_get(id);
    r = fields_decode(job, "job", kind->fields, kind->field_count, values, fault);
    if (r < 0)
        return r;

    _cleanup_(job_spec_free_pointer) struct job_spec *spec = calloc(1, sizeof(*spec));
    if (!spec)
        return -ENOMEM;
    spec->kind = id;
    spec->limits = policy->defaults[id];
    r = decode_priority(values[JOB_FIELD_PRIORITY], &spec->priority, fault);
    if (r == 0 && values[JOB_FIELD_LIMITS])
        r = job_decode_limits(values[JOB_FIELD_LIMITS], policy, spec, fault);
    if (r == 0)
        r = kind->decode(values, policy, places, spec, fault);
    if (r == 0)
        *ret = TAKE_PTR(spec);
    return r;
}

static int decode_id(const json_t *value, struct bytes *ret, struct fault *fault)
{
    size_t length = json_string_length(value);
    if (length == 0 || length > REQUEST_ID_MAX)
        return fault_set(fault, "id: expected 1 to %d bytes, got %zu", REQUEST_ID_MAX, length);
    return job_copy_string(value, ret);
}

/* Copies the name of a share to *RET. Does nothing if the request names none: VALUE is NULL then.
 */
static int decode_share(const json_t *value, char **ret, struct fault *fault)
{
    size_t length = json_string_length(value);
    if (!value)
        return 0;
    if (length == 0 || length > REQUEST_SHARE_MAX)
        return fault_set(fault, "share: expected 1 to %d bytes, got %zu", REQUEST_SHARE_MAX,
                         length);
    *ret = strdup(json_string_value(value));
    return *ret ? 0 : -ENOMEM;
}

static int decode_submit(const json_t *message, const struct request_policy *policy,
                         const struct json_places *places, struct request *request,
                         struct fault *fault)
{
    enum { TYPE, ID, SHARE, JOB, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [ID] = {"id", FIELD_STRING, FIELD_REQUIRED},
        [SHARE] = {"share", FIELD_TEXT, FIELD_OPTIONAL},
        [JOB] = {"job", FIELD_OBJECT, FIELD_REQUIRED},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r == 0)
        r = decode_id(values[ID], &request->id, fault);
    if (r == 0)
        r = decode_share(values[SHARE], &request->share, fault);
    if (r == 0)
        r = decode_job(values[JOB], policy, places, &request->job, fault);
    return r;
}

/* --- put ---------------------------------------------------------------------------------- */

/* Copies the compact JSON text of VALUE as the client wrote it; where that is not known, as we
 * would. 0 or -ENOMEM. */
static int copy_text(const json_t *value, const struct json_places *places, struct bytes *ret)
{
    size_t n = json_place_length(places, value);
    if (n == 0)
        return json_print(value, ret);
    char *text = malloc(n);
    if (!text)
        return -ENOMEM;
    *ret = (struct bytes){.data = text, .length = json_place_copy(places, value, text)};
    return 0;
}

/* A digest that does not fit its tests is a mistake that later jobs would be judged by. */
static int check_digest(struct request *request, struct fault *fault)
{
    char found[PROGRAM_DIGEST_SIZE];
    program_digest(request->text.data, request->text.length, found);
    bytes_deinit(&request->text);
    return strcmp(found, request->digest) == 0 ? 0 : program_digest_refuse(found, fault);
}

/* Decodes which part of how many the tests are. */
static int decode_part(const json_t *part, const json_t *parts, struct request *request,
                       struct fault *fault)
{
    json_int_t number = json_integer_value(part), count = json_integer_value(parts);
    if (!part != !parts)
        return fault_set(fault, "%s: missing; part and parts go together", part ? "parts" : "part");
    if (!part)
        return 0;
    if (count < 1 || count > PROGRAM_TESTS_MAX)
        return fault_set(fault, "parts: expected 1 to %d", PROGRAM_TESTS_MAX);
    if (number < 1 || number > count)
        return fault_set(fault, "part: expected 1 to %d, the number of parts", (int)count);
    request->part = (unsigned)number;
    request->parts = (unsigned)count;
    return 0;
}

static int decode_put(const json_t *message, const struct request_policy *policy,
                      const struct json_places *places, struct request *request,
                      struct fault *fault)
{
    enum { TYPE, ID, SHARE, DIGEST, PART, PARTS, TESTS, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [ID] = {"id", FIELD_STRING, FIELD_OPTIONAL},
        [SHARE] = {"share", FIELD_TEXT, FIELD_OPTIONAL},
        [DIGEST] = {"digest", FIELD_TEXT, FIELD_REQUIRED},
        [PART] = {"part", FIELD_INTEGER, FIELD_OPTIONAL},
        [PARTS] = {"parts", FIELD_INTEGER, FIELD_OPTIONAL},
        [TESTS] = {"tests", FIELD_ARRAY, FIELD_REQUIRED},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r == 0 && values[ID])
        r = decode_id(values[ID], &request->id, fault);
    if (r == 0)
        r = decode_share(values[SHARE], &request->share, fault);
    if (r == 0)
        r = decode_part(values[PART], values[PARTS], request, fault);
    if (r == 0)
        r = program_digest_check(json_string_value(values[DIGEST]), "digest", fault);
    if (r == 0)
        r = copy_text(values[TESTS], places, &request->text);
    if (r < 0)
        return r;
    memcpy(request->digest, json_string_value(values[DIGEST]), PROGRAM_DIGEST_SIZE);
    if (request->parts == 0)
        r = check_digest(request, fault);
    if (r == 0)
        r = program_tests_decode(values[TESTS], "tests", &policy->ceilings[JOB_PROGRAM],
                                 &request->tests, fault);
    return r;
}

/* --- other messages --------------------------------------------------------------------------- */

static int decode_cancel(const json_t *message, struct request *request, struct fault *fault)
{
    enum { TYPE, ID, JOB_NO, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [ID] = {"id", FIELD_STRING, FIELD_OPTIONAL},
        [JOB_NO] = {"job_no", FIELD_INTEGER, FIELD_OPTIONAL},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r < 0)
        return r;
    if (!values[ID] == !values[JOB_NO])
        return fault_set(fault, "cancel: expected either id or job_no");
    if (values[ID])
        return decode_id(values[ID], &request->id, fault);
    if (json_integer_value(values[JOB_NO]) <= 0)
        return fault_set(fault, "job_no: expected an integer above 0");
    request->job_no = (uint64_t)json_integer_value(values[JOB_NO]);
    return 0;
}

static int decode_session_open(const json_t *message, const struct request_policy *policy,
                               struct request *request, struct fault *fault)
{
    enum { TYPE, ID, SHARE, LIMITS, ENV, LEASE, IDLE, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [ID] = {"id", FIELD_STRING, FIELD_REQUIRED},
        [SHARE] = {"share", FIELD_TEXT, FIELD_OPTIONAL},
        [LIMITS] = {"limits", FIELD_OBJECT, FIELD_NULLABLE},
        [ENV] = {"env", FIELD_OBJECT, FIELD_NULLABLE},
        [LEASE] = {"lease", FIELD_NUMBER, FIELD_NULLABLE},
        [IDLE] = {"idle", FIELD_NUMBER, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    const struct session_fields fields = {values[LIMITS], values[ENV], values[LEASE], values[IDLE]};
    if (r == 0)
        r = decode_id(values[ID], &request->id, fault);
    if (r == 0)
        r = decode_share(values[SHARE], &request->share, fault);
    return r < 0 ? r : session_wish_decode(&fields, policy, &request->wish, fault);
}

static int decode_session_close(const json_t *message, struct request *request, struct fault *fault)
{
    enum { TYPE, ID, SESSION, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [ID] = {"id", FIELD_STRING, FIELD_REQUIRED},
        [SESSION] = {"session", FIELD_INTEGER, FIELD_REQUIRED},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r == 0)
        r = decode_id(values[ID], &request->id, fault);
    return r < 0 ? r : session_decode_number(values[SESSION], "session", &request->session, fault);
}

/* These name the job by its number, so that an error about them is not the answer to the job. */
static int decode_input(const json_t *message, struct request *request, struct fault *fault)
{
    enum { TYPE, JOB_NO, BASE64, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [JOB_NO] = {"job_no", FIELD_INTEGER, FIELD_REQUIRED},
        [BASE64] = {"base64", FIELD_STRING, FIELD_REQUIRED},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r == 0)
        r = terminal_decode_job(values[JOB_NO], &request->job_no, fault);
    return r < 0 ? r : terminal_decode_input(values[BASE64], &request->input, fault);
}

static int decode_resize(const json_t *message, struct request *request, struct fault *fault)
{
    enum { TYPE, JOB_NO, ROWS, COLUMNS, FIELDS };
    static const struct field table[FIELDS] = {
        [TYPE] = {"type", FIELD_TEXT, FIELD_REQUIRED},
        [JOB_NO] = {"job_no", FIELD_INTEGER, FIELD_REQUIRED},
        [ROWS] = {"rows", FIELD_INTEGER, FIELD_REQUIRED},
        [COLUMNS] = {"columns", FIELD_INTEGER, FIELD_REQUIRED},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(message, "", table, FIELDS, values, fault);
    if (r == 0)
        r = terminal_decode_job(values[JOB_NO], &request->job_no, fault);
    return r < 0 ? r
                 : terminal_decode_size(values[ROWS], values[COLUMNS], "", &request->size, fault);
}

/* Decodes status, metrics, ping, drain or reload, which have no field but the type. */
static int decode_bare(const json_t *message, struct fault *fault)
{
    static const struct field table[] = {{"type", FIELD_TEXT, FIELD_REQUIRED}};
    const json_t *values[1];
    return fields_decode(message, "", table, 1, values, fault);
}

static int decode_type(const json_t *message, enum request_type *ret, struct fault *fault)
{
    static const char *const names[] = {
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
    const json_t *value = json_object_get(message, "type");
    if (!value)
        return fault_set(fault, "type: missing");
    int r = field_check_type(value, FIELD_TEXT, "type", fault);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(json_string_value(value), names[i]) == 0) {
            *ret = (enum request_type)i;
            return 0;
        }
    }
    return fault_set(fault, "type: unknown message type \"%.*s\"", SHOWN(json_string_value(value)));
}

static int decode(const json_t *message, const struct request_policy *policy,
                  const struct json_places *places, struct request *ret, struct fault *fault)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    int r = decode_type(message, &request.type, fault);
    if (r < 0)
        return r;
    switch (request.type) {
    case REQUEST_SUBMIT:
        r = decode_submit(message, policy, places, &request, fault);
        break;
    case REQUEST_CANCEL:
        r = decode_cancel(message, &request, fault);
        break;
    case REQUEST_PUT:
        r = decode_put(message, policy, places, &request, fault);
        break;
    case REQUEST_SESSION_OPEN:
        r = decode_session_open(message, policy, &request, fault);
        break;
    case REQUEST_SESSION_CLOSE:
        r = decode_session_close(message, &request, fault);
        break;
    case REQUEST_INPUT:
        r = decode_input(message, &request, fault);
        break;
    case REQUEST_RESIZE:
        r = decode_resize(message, &request, fault);
        break;
    case REQUEST_STATUS:
    case REQUEST_METRICS:
    case REQUEST_PING:
    case REQUEST_DRAIN:
    case REQUEST_RELOAD:
        r = decode_bare(message, fault);
        break;
    }
    if (r == 0) {
        *ret = request;
        request = (struct request)REQUEST_NULL;
    }
    return r;
}

int request_decode(const json_t *message, const struct request_policy *policy, struct request *ret,
                   struct fault *fault)
{
    return decode(message, policy, NULL, ret, fault);
}

/* --- a frame ------------------------------------------------------------------------------- */

/* Returns the `id` of a message that is wrong otherwise: borrowed, or NULL. */
static json_t *peek_id(const json_t *message)
{
    json_t *id = json_object_get(message, "id");
    size_t length = json_string_length(id);
    return json_is_string(id) && length > 0 && length <= REQUEST_ID_MAX ? id : NULL;
}

/* Adds to FAULT where in the message it is, AT bytes into it, and finds the id. */
static void explain(const char *text, size_t n, size_t at, json_t **ret_id, struct fault *fault)
{
    struct salvage salvage;
    struct fault what = *fault;
    salvage_read(text, n, at, REQUEST_ID_MAX, &salvage);
    *ret_id = salvage.id;
    fault_set(fault, "%s (byte %zu%s%s)", what.text, at, *salvage.path ? ", in " : "",
              salvage.path);
}

int request_read(const char *text, size_t n, const struct request_policy *policy,
                 struct request *ret, json_t **ret_id, struct fault *fault)
{
    _cleanup_json_ json_t *message = NULL;
    struct json_places places;
    size_t at;
    *ret_id = NULL;
    int r = json_read_bounded(text, n, REQUEST_OVERHEAD_MAX, &message, &places, &at, fault);
    if (r == -ENOMEM) { /* there may be enough for the id alone */
        struct salvage salvage;
        salvage_read(text, n, n, REQUEST_ID_MAX, &salvage);
        *ret_id = salvage.id;
    }
    if (r == -EBADMSG)
        explain(text, n, at, ret_id, fault);
    if (r == 0)
        r = decode(message, policy, &places, ret, fault);
    if (r < 0 && message)
        *ret_id = json_incref(peek_id(message));
    return r;
}
