/* SPDX-License-Identifier: MIT */
#include "jobline.h"
#include "runinfo.h"

#include "proto/printer.h"
#include "proto/request.h"
#include "proto/utf8.h"
#include "proto/util.h"

#include <inttypes.h>
#include <string.h>

void submission_deinit(struct submission *submission)
{
    bytes_deinit(&submission->id);
    bytes_deinit(&submission->payload);
    tests_deinit(&submission->tests);
    json_decref(submission->run);
    submission->run = NULL;
}

bool jobline_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
            return false;
    return true;
}

int jobline_default_id(const char *name, uint64_t line, struct bytes *ret)
{
    char number[24];
    size_t length, digits = (size_t)snprintf(number, sizeof(number), ":%" PRIu64, line);
    _cleanup_free_ char *shown = utf8_replace(name, strlen(name), &length);
    if (!shown)
        return -ENOMEM;
    size_t room = REQUEST_ID_MAX - digits, from = length > room ? length - room : 0;
    while (((unsigned char)shown[from] & 0xC0) == 0x80)
        from++;

    char id[REQUEST_ID_MAX + 1];
    int n = snprintf(id, sizeof(id), "%s%s", shown + from, number);
    return bytes_copy(id, (size_t)n, ret);
}

/* Counts the levels of nesting. The reader bounds the recursion: JSON_DEPTH_MAX. */
static size_t depth_of(json_t *value) // NOLINT(misc-no-recursion)
{
    size_t deepest = 0, of_item;
    if (!json_is_array(value) && !json_is_object(value))
        return 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        of_item = depth_of(json_array_get(value, i));
        deepest = MAX(deepest, of_item);
    }
    for (void *i = json_object_iter(value); i; i = json_object_iter_next(value, i)) {
        of_item = depth_of(json_object_iter_value(i));
        deepest = MAX(deepest, of_item);
    }
    return deepest + 1;
}

/* Takes `id` out of JOB, or copies DEFAULT_ID. */
static int take_id(json_t *job, const struct bytes *default_id, struct bytes *ret,
                   struct fault *fault)
{
    const json_t *id = json_object_get(job, "id");
    if (!id)
        return bytes_copy(default_id->data, default_id->length, ret);
    if (!json_is_string(id))
        return fault_set(fault, "id: expected a string, got %s", json_type_name(id));
    size_t length = json_string_length(id);
    if (length == 0 || length > REQUEST_ID_MAX)
        return fault_set(fault, "id: expected 1 to %d bytes, got %zu", REQUEST_ID_MAX, length);
    int r = bytes_copy(json_string_value(id), length, ret);
    if (r == 0)
        (void)json_object_del(job, "id");
    return r;
}

static int fill_bench_root(json_t *job, const char *bench_root)
{
    const char *kind = json_string_value(json_object_get(job, "kind"));
    const json_t *given = json_object_get(job, "bench_root");
    if (!bench_root || (given && !json_is_null(given)) || !kind ||
        strcmp(kind, job_kind_name(JOB_RUBRIC)) != 0)
        return 0;
    return json_object_set_new(job, "bench_root", json_string(bench_root)) < 0 ? -ENOMEM : 0;
}

static int print_submit(const struct bytes *id, const json_t *job, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    printer_open(&printer);
    printer_name(&printer, "type");
    printer_word(&printer, "\"submit\"");
    printer_name(&printer, "id");
    printer_string(&printer, id->data, id->length);
    printer_name(&printer, "job");
    printer_value(&printer, job);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int jobline_from_object(json_t *job, const struct bytes *default_id,
                        const struct jobline_policy *policy, struct submission *ret,
                        struct fault *fault)
{
    _cleanup_submission_ struct submission submission = SUBMISSION_NULL;
    int r = take_id(job, default_id, &submission.id, fault);
    if (r == 0)
        r = fill_bench_root(job, policy->bench_root);
    if (r < 0)
        return r;
    /* The message adds a level, so a daemon would name a place that is not in the file. */
    if (depth_of(job) >= JSON_DEPTH_MAX)
        return fault_set(fault, "nested deeper than %d levels", JSON_DEPTH_MAX - 1);

    submission.run = runinfo_make(job, &submission.id, policy->digests);
    if (!submission.run)
        return -ENOMEM;
    _cleanup_json_ json_t *own_tests = json_incref(json_object_get(job, "tests"));
    r = tests_take(job, policy->max_frame, &submission.tests, fault);
    if (r == 0)
        r = print_submit(&submission.id, job, &submission.payload);
    /* Other samples of the job are made of the same object. */
    if (submission.tests.text.data && json_object_set(job, "tests", own_tests) < 0)
        r = -ENOMEM;
    if (r < 0)
        return r;
    if (submission.payload.length > policy->max_frame) {
        (void)fault_set(fault, "too large: %zu bytes; the daemon takes at most %zu",
                        submission.payload.length, policy->max_frame);
        return -EMSGSIZE;
    }
    *ret = TAKE_STRUCT(submission, SUBMISSION_NULL);
    return 0;
}

int jobline_read_object(const char *text, size_t n, json_is_used *is_used, json_t **ret,
                        struct fault *fault)
{
    static const char place[] = "JSON: line 1 ";
    struct fault why = FAULT_NULL;
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* the byte order mark of editors on Windows */
        n -= 3;
    }
    int r = json_read_lenient(text, n, is_used, ret, &why);
    if (r == 0)
        return 0;
    /* The caller names the line of the file. */
    if (strncmp(why.text, place, strlen(place)) == 0)
        (void)fault_set(fault, "not JSON: %s", why.text + strlen(place));
    else
        (void)fault_set(fault, "%s", why.text);
    return r;
}

bool jobline_is_used(const char *name, size_t n)
{
    static const char notes[] = "metadata";
    return n != strlen(notes) || memcmp(name, notes, n) != 0;
}
