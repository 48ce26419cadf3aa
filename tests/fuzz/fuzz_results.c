/* SPDX-License-Identifier: MIT */
/* Fuzz target: the files that the client reads, all as the same text: results of a batch or of
 * grade (to continue a run, and to report on it), jobs of a batch, a data set, samples,
 * transcripts, and messages of a daemon.
 *
 * Holds for any bytes: the ledger counts each id once, and a file without the lines that later ones
 * replace has the same last lines; a message is the same whether its end is shared with the one
 * before or not; a job that is taken makes a frame that reads back with its id; a report in any
 * form is UTF-8 without control characters, and the JSON one reads back; what is refused says why.
 */
#include "tests/fuzz/fuzz.h"

#include "client/batch/jobline.h"
#include "client/batch/ledger.h"
#include "client/grade/dataset.h"
#include "client/grade/gradejob.h"
#include "client/grade/sample.h"
#include "client/grade/transcript.h"
#include "client/report/formats.h"
#include "client/report/runreport.h"
#include "proto/utf8.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define RESAMPLES 8
#define FRAME_MAX 4096

/* --- results of a run that is continued ------------------------------------------------------ */

struct visits {
    struct ledger ledger;
    uint64_t count, last_number;
    json_t *seen; /* ids, if each may come but once */
    struct bytes text;
};

static int on_line(const struct result_line *line, void *arg)
{
    struct visits *visits = arg;
    CHECK(line->number > visits->last_number && line->text[line->length - 1] == '\n');
    CHECK(line->object && line->run && line->id && (line->answered || !line->passed));
    CHECK(memchr(line->text, '\n', line->length) == line->text + line->length - 1);
    visits->last_number = line->number;
    visits->count++;
    if (visits->seen) {
        CHECK(!json_object_getn(visits->seen, line->id, line->id_length));
        (void)json_object_setn_new_nocheck(visits->seen, line->id, line->id_length, json_true());
        char *text = realloc(visits->text.data, visits->text.length + line->length);
        CHECK(text);
        memcpy(text + visits->text.length, line->text, line->length);
        visits->text = (struct bytes){text, visits->text.length + line->length};
    }
    return ledger_add_line(&visits->ledger, line);
}

static void visits_deinit(struct visits *visits)
{
    ledger_deinit(&visits->ledger);
    json_decref(visits->seen);
    bytes_deinit(&visits->text);
}

/* Removes the lines that later ones replace from a copy of the file at PATH, of N bytes. */
static void check_compact(const char *text, size_t n, const struct visits *last)
{
    char path[] = "/dev/shm/fuzz-results.XXXXXX";
    struct visits after = {.ledger = LEDGER_NULL, .seen = json_object()};
    struct fault fault = FAULT_NULL;
    off_t end;
    int fd = mkostemp(path, O_CLOEXEC);
    CHECK(fd >= 0 && write(fd, text, n) == (ssize_t)n);
    close_fd(fd);
    CHECK(resultfile_compact(path, &fault) == 0);
    CHECK(resultfile_read(path, false, on_line, &after, &end, &fault) == 0);
    CHECK(after.count == last->count && after.ledger.superseded == 0);
    CHECK(after.text.length == last->text.length && end == (off_t)after.text.length);
    CHECK(after.text.length == 0 ||
          memcmp(after.text.data, last->text.data, after.text.length) == 0);
    (void)unlink(path);
    visits_deinit(&after);
}

static void check_resume(const char *text, size_t n)
{
    char path[40];
    struct visits all = {.ledger = LEDGER_NULL},
                  last = {.ledger = LEDGER_NULL, .seen = json_object()};
    struct fault fault = FAULT_NULL;
    off_t end = -1;
    _cleanup_close_ int fd = memfd_create("fuzz.jsonl", MFD_CLOEXEC);
    CHECK(fd >= 0 && (n == 0 || write(fd, text, n) == (ssize_t)n));
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int r = resultfile_read(path, false, on_line, &all, &end, &fault);
    CHECK(r == 0 ? !*fault.text : r == -EINVAL && strncmp(fault.text, path, strlen(path)) == 0);
    if (r == 0) {
        CHECK(end >= 0 && end <= (off_t)n && (end == 0 || text[end - 1] == '\n'));
        CHECK(resultfile_read(path, true, on_line, &last, &end, &fault) == 0);
        uint64_t ids = 0;
        for (size_t i = 0; i < LEDGER_KINDS; i++) {
            CHECK(i == LEDGER_NOTHING || all.ledger.lines[i] == last.ledger.lines[i]);
            ids += i == LEDGER_NOTHING ? 0 : all.ledger.lines[i];
        }
        CHECK(ids == last.count && all.count == last.count + all.ledger.superseded);
        if (all.ledger.superseded > 0)
            check_compact(text, n, &last);
    }
    visits_deinit(&all);
    visits_deinit(&last);
}

/* --- reports --------------------------------------------------------------------------------- */

static void check_form(const struct report_format *form, const struct report_view *view)
{
    _cleanup_free_ char *text = NULL, *valid = NULL;
    size_t length = 0, valid_length = 0;
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream && form->write(stream, view) == 0 && fclose(stream) == 0);
    valid = utf8_replace(text, length, &valid_length);
    CHECK(valid && valid_length == length && memcmp(text, valid, length) == 0);
    for (size_t i = 0; i < length; i++)
        CHECK((unsigned char)text[i] >= 0x20 || strchr("\t\n\r", text[i]));
    CHECK(strlen(text) == length);
    if (strcmp(form->name, "json") == 0) {
        _cleanup_json_ json_t *object = NULL;
        struct fault fault = FAULT_NULL;
        CHECK(json_read_object(text, length, &object, &fault) == 0);
        CHECK(json_object_size(object) == json_object_size(view->report));
    }
}

static void check_report(struct results *results)
{
    const struct runreport_file file = {.name = "fuzz.jsonl", .lines = results->n};
    const struct runreport_options options = {
        .bootstrap = {.resamples = RESAMPLES, .confidence = 0.95},
        .mix = true,
        .list_cases = true,
        .version = "0",
        .files = &file,
        .n_files = 1,
    };
    worst_sort(&results->worst);
    _cleanup_json_ json_t *report = runreport_make(results, &options);
    CHECK(report);
    free(runreport_mixed(results, NULL));
    const struct report_view view = {.report = report, .results = results, .columns = 80};
    for (size_t i = 0; i < FORMATS_N; i++)
        check_form(&report_formats[i], &view);
    for (uint32_t i = 0; i < results->n; i++) {
        _cleanup_json_ json_t *name = results_name(results, i);
        CHECK(json_is_string(name));
    }
}

static void add_to_report(const char *text, size_t n, struct results *results)
{
    _cleanup_json_ json_t *object = NULL;
    struct line line = {.state = LINE_NOTE};
    struct fault fault = FAULT_NULL;
    int r = jobline_read_object(text, n, line_uses, &object, &fault);
    if (r == 0)
        r = line_decode(object, &line, &fault);
    CHECK(r == 0 ? !*fault.text : (r == -EINVAL || r == -EBADMSG) && *fault.text);
    if (r < 0 || line.state == LINE_NOTE)
        return;
    CHECK(line.id && line.id_length > 0);
    r = results_add(results, &line, 0, &fault);
    CHECK(r == 0 || r == 1 || (r == -EFBIG && *fault.text));
}

/* --- messages -------------------------------------------------------------------------------- */

static int decode_message(const char *text, size_t n, struct message_tail *tail,
                          struct message *ret)
{
    struct fault fault = FAULT_NULL;
    struct bytes payload = BYTES_NULL;
    CHECK(bytes_copy(text, n, &payload) == 0);
    int r = message_decode(&payload, tail, ret, &fault);
    CHECK(r == 0 || ((r == -EINVAL || r == -EBADMSG) && *fault.text));
    return r;
}

/* TAIL is of the line before. */
static void check_message(const char *text, size_t n, struct message_tail *tail)
{
    struct message_tail own = MESSAGE_TAIL_NULL;
    _cleanup_message_ struct message alone = MESSAGE_NULL, shared = MESSAGE_NULL,
                                     again = MESSAGE_NULL;
    int r = decode_message(text, n, &own, &alone);
    CHECK(decode_message(text, n, tail, &shared) == r &&
          decode_message(text, n, tail, &again) == r);
    message_tail_deinit(&own);
    if (r < 0)
        return;
    CHECK(json_equal(alone.object, shared.object) && json_equal(alone.object, again.object));
    CHECK(alone.type == shared.type && alone.type == again.type);
    if (alone.type != MESSAGE_RESULT)
        return;
    struct score_parts parts = message_score(&alone);
    CHECK(parts.reason || json_is_object(json_object_get(alone.object, "score")));
}

/* --- input of batch and grade ---------------------------------------------------------------- */

static void check_job(const char *text, size_t n)
{
    const struct jobline_policy policy = {.bench_root = "/bench", .max_frame = FRAME_MAX};
    const struct bytes id = {.data = (char *)(uintptr_t) "jobs.jsonl:1", .length = 12};
    _cleanup_submission_ struct submission submission = SUBMISSION_NULL;
    _cleanup_json_ json_t *job = NULL, *object = NULL;
    struct fault fault = FAULT_NULL;
    int r = jobline_read_object(text, n, jobline_is_used, &job, &fault);
    if (r == 0)
        r = jobline_from_object(job, &id, &policy, &submission, &fault);
    CHECK(r == 0 || ((r == -EINVAL || r == -EBADMSG || r == -EMSGSIZE) && *fault.text));
    if (r < 0)
        return;
    CHECK(submission.payload.length <= FRAME_MAX && json_is_object(submission.run));
    CHECK(json_read_object(submission.payload.data, submission.payload.length, &object, &fault) ==
          0);
    const json_t *sent = json_object_get(object, "id");
    CHECK(json_string_length(sent) == submission.id.length &&
          memcmp(json_string_value(sent), submission.id.data, submission.id.length) == 0);
    CHECK(json_is_object(json_object_get(object, "job")));
}

static void check_sample(const char *text, size_t n)
{
    _cleanup_json_ json_t *object = NULL;
    struct sample sample;
    struct fault fault = FAULT_NULL;
    int r = jobline_read_object(text, n, sample_uses, &object, &fault);
    if (r == 0)
        r = sample_decode(object, &sample, &fault);
    CHECK(r == 0 ? *sample.task_id && json_is_string(sample.text) : *fault.text != '\0');
}

static void check_transcript(const char *text, size_t n)
{
    _cleanup_json_ json_t *object = NULL;
    struct transcript transcript = {.reason = NULL};
    struct fault fault = FAULT_NULL;
    if (json_read_object(text, n, &object, NULL) < 0)
        return;
    int r = transcript_read(object, &transcript, &fault);
    CHECK(r == 0 ? json_is_string(transcript.id) && json_is_object(transcript.job)
                 : r == -EINVAL && *fault.text);
}

static void on_wrong_record(void *arg, const char *what)
{
    size_t *wrong = arg;
    CHECK(strncmp(what, "fuzz.jsonl:", 11) == 0);
    ++*wrong;
}

/* Each form of sample becomes a job, whatever is in the text. */
static void check_jobs(const struct task *task, const char *text, size_t n)
{
    static const enum sample_form forms[] = {SAMPLE_COMPLETION, SAMPLE_SOLUTION, SAMPLE_GENERATION};
    const struct gradejob_policy policy = {.timeout_s = 0};
    _cleanup_json_ json_t *code = json_text(text, MIN(n, (size_t)4096));
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        const struct gradejob_code sample = {.form = forms[i], .text = code};
        _cleanup_json_ json_t *job = gradejob_make(task, &sample, &policy);
        const char *member = json_object_get(job, "code") ? "code" : "generation";
        CHECK(json_is_string(json_object_get(job, member)));
    }
}

static void check_dataset(const char *text, size_t n, const struct data_format *format)
{
    _cleanup_dataset_ struct dataset dataset = DATASET_NULL;
    const struct dataset_options options = {.format = format};
    size_t wrong = 0;
    CHECK(dataset_parse("fuzz.jsonl", text, n, &options, on_wrong_record, &wrong, &dataset) == 0);
    for (size_t i = 0; i < dataset.n; i++) {
        const struct task *task = &dataset.tasks[i];
        CHECK(dataset_find(&dataset, task->id) == (ssize_t)i);
        CHECK(json_is_string(task->test) || json_array_size(task->targets) > 0 ||
              json_array_size(task->tests) > 0);
        check_jobs(task, text, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = size > 0 ? (const char *)data : "", *end = text + size;
    struct message_tail tail = MESSAGE_TAIL_NULL;
    _cleanup_results_ struct results results = RESULTS_NULL;
    check_resume(text, size);
    check_dataset(text, size, NULL);
    check_dataset(text, size, &data_format_cruxeval_i);
    for (const char *line = text, *next; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((newline ? newline : end) - line);
        next = line + n + (newline ? 1 : 0);
        add_to_report(line, n, &results);
        check_message(line, n, &tail);
        check_job(line, n);
        check_sample(line, n);
        check_transcript(line, n);
    }
    if (results.n > 0)
        check_report(&results);
    message_tail_deinit(&tail);
    return 0;
}
