/* SPDX-License-Identifier: MIT */
#include "grade_tasks.h"

#include "client/grade/langname.h"
#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

/* Tasks without a sample or an assertion, and records that cannot be used for the same reason, that
 * are named one by one. */
#define NAMED_MAX 3

const char *grade_tasks_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "stdin" : path;
}

/* Counts so many kinds of complaints. Of a further kind it names each record. */
#define KINDS_MAX 16

/* Records that cannot be used, and how many there are of each kind. */
struct complaints {
    uint64_t unusable;
    size_t kinds;
    struct {
        uint64_t count;
        char why[FAULT_MAX];
    } of[KINDS_MAX];
};

static void tell_of_others(const struct complaints *complaints)
{
    for (size_t i = 0; i < complaints->kinds; i++)
        if (complaints->of[i].count > NAMED_MAX)
            complain("%" PRIu64 " more records: %s", complaints->of[i].count - NAMED_MAX,
                     complaints->of[i].why);
}

/* Counts a record of the kind WHY, and returns how many there are. */
static uint64_t count_kind(struct complaints *complaints, const char *why)
{
    size_t i = 0;
    while (i < complaints->kinds && strcmp(complaints->of[i].why, why) != 0)
        i++;
    if (i == KINDS_MAX)
        return 1;
    if (i == complaints->kinds) {
        (void)snprintf(complaints->of[i].why, sizeof(complaints->of[i].why), "%s", why);
        complaints->kinds++;
    }
    return ++complaints->of[i].count;
}

/* Names the first few records that have the same fault, and counts the others. */
static void complain_record(void *arg, const char *what)
{
    static const char no_json[] = "not JSON";
    struct complaints *complaints = arg;
    const char *why = strstr(what, ": ");
    why = why ? why + 2 : what;
    complaints->unusable++;
    /* Where the parser stopped, and at what, makes no other kind. */
    bool is_no_json = strncmp(why, no_json, strlen(no_json)) == 0;
    if (count_kind(complaints, is_no_json ? no_json : why) <= NAMED_MAX)
        complain("%s", what);
}

/* Names the first tasks whose tests can fail by nothing but an exception. */
static void tell_of_no_assertion(const struct dataset *dataset, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < dataset->n; i++) {
        const struct task *task = &dataset->tasks[i];
        if (!task_asserts_nothing(task))
            continue;
        if (n++ < NAMED_MAX)
            complain("%s:%" PRIu64 ": task \"%s\": no test of it has an assertion: whatever raises "
                     "nothing passes",
                     name, task->line, task->id);
    }
    if (n > NAMED_MAX)
        complain("%s: %zu more tasks whose tests have no assertion", name, n - NAMED_MAX);
}

int grade_tasks_read(const char *path, const struct dataset_options *options, struct dataset *ret,
                     uint64_t *unusable, struct fault *fault)
{
    struct complaints complaints = {.unusable = 0};
    int r = dataset_read(path, options, complain_record, &complaints, ret, fault);
    tell_of_others(&complaints);
    *unusable += complaints.unusable;
    if (r == 0)
        tell_of_no_assertion(ret, grade_tasks_name(path));
    if (r == 0 && ret->n == 0)
        r = fault_set(fault, "%s: no task in it can be used", grade_tasks_name(path));
    return r;
}

int grade_tasks_describe(const struct task *task, uint64_t number, struct submission *ret)
{
    _cleanup_submission_ struct submission submission = SUBMISSION_NULL;
    int r = jobline_default_id(task->id, number, &submission.id);
    if (r < 0)
        return r;
    submission.run = json_pack("{s:s%,s:s}", "case_id", submission.id.data, submission.id.length,
                               "kind", task_is_program(task) ? "program" : "code_exec");
    if (!submission.run)
        return -ENOMEM;
    *ret = TAKE_STRUCT(submission, SUBMISSION_NULL);
    return 0;
}

/* Why TASK, of which no sample was asked for, is not there. */
static enum tally_absence find_absence(const struct task *task, const struct selection *selection)
{
    _cleanup_submission_ struct submission submission = SUBMISSION_NULL;
    bool is_reached = selection->limit == 0 || selection->cases < selection->limit;
    if (task->samples > 0)
        return selection_is_all(selection) ? TALLY_PRESENT : TALLY_UNSELECTED;
    if (!is_reached || (grade_tasks_describe(task, 0, &submission) == 0 &&
                        !selection_wants(selection, &submission)))
        return TALLY_UNSELECTED;
    return TALLY_SAMPLELESS;
}

bool grade_tasks_leave_out(const struct dataset *dataset, const char *name,
                           const struct selection *selection, struct tally *tally)
{
    size_t n = 0;
    for (size_t i = 0; i < dataset->n; i++) {
        const struct task *task = &dataset->tasks[i];
        if (tally->tasks[i].asked > 0 || tally->tasks[i].refused)
            continue;
        enum tally_absence absence = find_absence(task, selection);
        tally_leave_out(tally, i, absence);
        if (absence != TALLY_SAMPLELESS)
            continue;
        if (name && n < NAMED_MAX)
            complain("%s:%" PRIu64 ": task \"%s\" has no sample", name, task->line, task->id);
        n++;
    }
    if (name && n > NAMED_MAX)
        complain("%s: %zu more tasks have no sample", name, n - NAMED_MAX);
    return n > 0;
}

void grade_tasks_tell_plus(const struct dataset *dataset, const char *name)
{
    size_t n = dataset->plus;
    if (n > 0)
        complain("%s: %zu task%s with the tests of EvalPlus (base and plus)", name, n,
                 text_plural(n));
}

/* --- the announcement --------------------------------------------------------------------- */

/* The tasks of one format in one language. */
struct group {
    const struct data_format *format;
    const char *language; /* NULL: that of the samples */
    size_t tasks, programs, forgeable, calls;
    uint64_t tests;
    double timeout_min_s, timeout_max_s;
    bool stop_all;
    const char *skipped; /* a member with tests that are not run; NULL: there is none */
};

/* Formats with tasks in more languages than that have further lines without their counts. */
#define GROUPS_MAX 64

static struct group *group_of(struct group *groups, size_t *n, const struct task *task)
{
    const char *language = task_is_program(task) ? task->language : "python";
    for (size_t i = 0; i < *n; i++)
        if (groups[i].format == task->format &&
            (groups[i].language == language ||
             (groups[i].language && language && strcmp(groups[i].language, language) == 0)))
            return &groups[i];
    if (*n == GROUPS_MAX)
        return &groups[GROUPS_MAX - 1];
    groups[*n] = (struct group){.format = task->format, .language = language};
    return &groups[(*n)++];
}

static void count(struct group *group, const struct task *task, double default_s)
{
    double limit_s = task->timeout_s > 0 ? task->timeout_s : task_is_program(task) ? 0 : default_s;
    group->timeout_min_s = group->tasks == 0 ? limit_s : MIN(group->timeout_min_s, limit_s);
    group->timeout_max_s = MAX(group->timeout_max_s, limit_s);
    group->tasks++;
    group->programs += task_is_program(task);
    group->forgeable += task->is_forgeable;
    group->calls += task->call != NULL;
    group->tests += task_is_program(task) ? json_array_size(task->tests)
                    : task->targets       ? json_array_size(task->targets)
                                          : 1;
    group->stop_all |= task->stop_all;
    for (const char *const *name = task->format->skips; name && *name && !group->skipped; name++)
        group->skipped = formats_has(task->object, *name) ? *name : NULL;
}

static void put_tests(FILE *out, const struct group *group)
{
    if (group->programs == 0) {
        (void)fprintf(out,
                      ", %" PRIu64 " test%s, judged in isolation where the reference passes so",
                      group->tests, text_plural(group->tests));
        return;
    }
    if (group->forgeable > 0) {
        (void)fputs(", by exit status: forgeable, the tests are a part of each program", out);
        return;
    }
    (void)fprintf(out, ", %" PRIu64 " test%s by standard input and output", group->tests,
                  text_plural(group->tests));
    if (group->calls > 0)
        (void)fprintf(out, ", of %zu task%s by calls of a function", group->calls,
                      text_plural(group->calls));
    (void)fputs(group->stop_all ? ", all are run" : ", up to the first failure", out);
}

static void put_group(FILE *out, const struct group *group, const char *language, double timeout_s)
{
    const char *said = group->language ? group->language : language;
    (void)fprintf(out, "%s%s, %s: %zu task%s", out == stderr ? "rubricctl: " : "",
                  group->format->title,
                  said ? langname_title(said) : "Python or what a sample says", group->tasks,
                  text_plural(group->tasks));
    put_tests(out, group);
    if (timeout_s > 0)
        (void)fprintf(out, ", %g s", timeout_s);
    else if (group->timeout_max_s > group->timeout_min_s)
        (void)fprintf(out, ", %g to %g s", group->timeout_min_s, group->timeout_max_s);
    else if (group->timeout_max_s > 0)
        (void)fprintf(out, ", %g s", group->timeout_max_s);
    if (group->skipped)
        (void)fprintf(out, "; not run, as in its own project: %s", group->skipped);
    (void)fputc('\n', out);
}

void grade_tasks_announce(FILE *out, const struct dataset *dataset, const char *language,
                          double timeout_s, double default_s)
{
    struct group groups[GROUPS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < dataset->n; i++)
        count(group_of(groups, &n, &dataset->tasks[i]), &dataset->tasks[i], default_s);
    for (size_t i = 0; i < n; i++)
        put_group(out, &groups[i], language, timeout_s);
    (void)fflush(out);
}
