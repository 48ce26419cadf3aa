/* SPDX-License-Identifier: MIT */
/* Theory of operation: every change of the mark is a compare and swap. A worker does not read the
 * mark first, because a new job has none: it writes, and reads only if the server says that there
 * is another one than it thought. So a change may come twice; the nonce of the start says whether
 * it is in the mark already. */
#include "task_private.h"

#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

static void go_on(struct task *task)
{
    if (task->state == TASK_MARKING)
        taskmark_start(task);
    else if (task->state == TASK_STARVING)
        taskmark_starve(task);
    else
        taskmark_take_back(task);
}

static void send_mark(struct task *task, bus_reply *reply)
{
    char subject[NAMES_SUBJECT_SIZE], expected[24];
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    const struct header headers[] = {{API_EXPECT, expected}, {NULL, NULL}};
    names_of_run(bus_fleet(task->bus), STREAM_MARKS, task->names.run, task->names.token, subject);
    (void)snprintf(expected, sizeof(expected), "%" PRIu64, task->mark_seq);
    if (marks_print(&task->mark, &text) == 0)
        task->request =
            bus_request(task->bus, subject, headers, text.data, text.length, reply, task);
}

static bool on_mark_read(void *arg, natsMsg *reply)
{
    struct task *task = arg;
    uint64_t seq = api_sequence(reply);
    struct mark mark = MARK_NULL;
    if (seq == 0 && api_status(reply) != 404)
        return true;
    if (marks_read(seq ? natsMsg_GetData(reply) : "",
                   seq ? (size_t)natsMsg_GetDataLength(reply) : 0, task->names.priority,
                   task->delivery.stream_seq, &mark) < 0)
        return true;
    mark_deinit(&task->mark);
    task->mark = mark;
    task->mark_seq = seq;
    task->request = 0;
    go_on(task);
    return false;
}

static void read_mark(struct task *task)
{
    char subject[NAMES_SUBJECT_SIZE], request[API_SUBJECT_SIZE];
    names_of_run(bus_fleet(task->bus), STREAM_MARKS, task->names.run, task->names.token, subject);
    api_direct_last(bus_fleet(task->bus), STREAM_MARKS, subject, request, sizeof(request));
    task->request = bus_request(task->bus, request, NULL, "", 0, on_mark_read, task);
}

/* Reads the answer to a change of the mark. Returns whether the change is to be sent again; sets
 * *RET if it is stored. */
static bool take_answer(struct task *task, natsMsg *reply, bool *ret)
{
    struct api_answer answer;
    api_read(reply, &answer);
    *ret = answer.outcome == API_OK;
    if (*ret) {
        task->mark_seq = answer.seq;
    } else if (answer.outcome != API_CONFLICT) {
        bus_complain(task->bus, "the mark of a job is not stored: %s; trying again%s", answer.text,
                     api_remedy(&answer));
        return true;
    }
    task->request = 0;
    if (!*ret)
        read_mark(task); /* an earlier start, or an earlier try of this very request */
    return false;
}

/* --- the start ---------------------------------------------------------------------------- */

static bool on_marked(void *arg, natsMsg *reply)
{
    bool is_stored;
    bool again = take_answer(arg, reply, &is_stored);
    if (is_stored)
        task_run(arg);
    return again;
}

/* Whether another host is to have the job first. */
static bool is_for_others(struct task *task)
{
    return marks_has_worker(task->mark.starved, task->worker) &&
           passes_by(task->passes, task->delivery.stream_seq, json_array_size(task->mark.starved),
                     monotonic_ms());
}

/* The message comes again after about a second, to whoever has asked first. The delay varies: two
 * workers ask at the same interval, and with a fixed delay the same worker would be first each
 * time. */
static void pass_by(struct task *task)
{
    char verb[48];
    unsigned long long delay_ms = 800 + strtoull(task->nonce, NULL, 16) % 400;
    (void)snprintf(verb, sizeof(verb), "-NAK {\"delay\":%llu000000}", delay_ms);
    task_settle(task, verb, TASK_PASSED);
}

/* --- too many starts ---------------------------------------------------------------------- */

/* Stands in `passes` for such a job, where a job that starves has the number of times. */
#define TOO_MANY_STARTS SIZE_MAX

json_t *tasks_held(const struct tasks *tasks)
{
    json_t *held = json_array();
    const struct task *task;
    LIST_FOREACH(task, tasks, link)
    {
        if (marks_find(task->mark.starts, task->nonce) >= 0)
            (void)json_array_append_new(held, json_string(task->nonce));
    }
    return held;
}

static bool is_among(const json_t *held, const char *nonce)
{
    for (size_t i = 0; i < json_array_size(held); i++) {
        const char *other = json_string_value(json_array_get(held, i));
        if (other && strcmp(other, nonce) == 0)
            return true;
    }
    return false;
}

static void look_at_next(struct task *task);

static bool on_host(void *arg, natsMsg *reply)
{
    struct task *task = arg;
    struct fault fault = FAULT_NULL;
    _cleanup_json_ json_t *about = NULL;
    const char *nonce = marks_nonce_at(task->mark.starts, task->looked_at);
    uint64_t seq = api_sequence(reply);
    if (seq == 0 && api_status(reply) != 404)
        return true;
    task->request = 0;
    if (seq > 0)
        (void)json_read_object(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &about,
                               &fault);
    if (is_among(json_object_get(about, "holds"), nonce)) {
        pass_by(task);
    } else {
        task->looked_at++;
        look_at_next(task);
    }
    return false;
}

static bool is_a_name(const char *worker)
{
    struct fault fault = FAULT_NULL;
    return names_check("worker", worker, NAMES_RUN_MAX, &fault) == 0;
}

static void look_at_next(struct task *task)
{
    char subject[NAMES_SUBJECT_SIZE], request[API_SUBJECT_SIZE];
    const char *fleet = bus_fleet(task->bus);
    const json_t *starts = task->mark.starts;
    while (task->looked_at < json_array_size(starts) &&
           !is_a_name(marks_worker_at(starts, task->looked_at)))
        task->looked_at++;
    if (task->looked_at >= json_array_size(starts)) {
        task_bury(task);
        return;
    }
    (void)snprintf(subject, sizeof(subject), "%s.hosts.%s", fleet,
                   marks_worker_at(starts, task->looked_at));
    api_direct_last(fleet, STREAM_HOSTS, subject, request, sizeof(request));
    task->request = bus_request(task->bus, request, NULL, "", 0, on_host, task);
}

/* Buries the job unless one of the workers that started it still has it. A worker that has lost its
 * server can neither say that it is in progress nor store the result. It names the starts that it
 * holds in its announcements, and has PASSES_MS to reconnect and announce this one. */
static void bury_or_wait(struct task *task)
{
    if (passes_by(task->passes, task->delivery.stream_seq, TOO_MANY_STARTS, monotonic_ms())) {
        pass_by(task);
        return;
    }
    task->looked_at = 0;
    look_at_next(task);
}

/* --- the start, again --------------------------------------------------------------------- */

/* Whether the job may be one that takes its worker down. Alone, it cannot take others with it; and
 * a healthy job that was beside such a one each time is not taken for one. */
static bool is_suspect(const struct task *task)
{
    return json_array_size(task->mark.starts) == MARKS_STARTS_MAX - 1;
}

static void wait_to_be_alone(struct task *task)
{
    task_enter(task, TASK_WAITING);
    task->waits_since_ms = monotonic_ms();
}

void taskmark_start(struct task *task)
{
    if (!task->mark.starts &&
        marks_read("", 0, task->names.priority, task->delivery.stream_seq, &task->mark) < 0)
        return; /* it is handed back; see is_stuck() */
    bool has_starved = json_array_size(task->mark.starved) > 0;
    if (task->is_unwanted || task->is_cancelled)
        task_settle_unrun(task);
    else if (marks_find(task->mark.starts, task->nonce) >= 0)
        task_run(task);
    else if (json_array_size(task->mark.starts) >= MARKS_STARTS_MAX)
        bury_or_wait(task);
    else if (has_starved && is_for_others(task))
        pass_by(task);
    else if ((has_starved || is_suspect(task)) && !task->is_alone)
        wait_to_be_alone(task);
    else if (marks_add(task->mark.starts, task->worker, task->nonce) == 0)
        send_mark(task, on_marked);
}

void task_go_alone(struct task *task, unsigned beside)
{
    task->is_alone = true;
    task->beside = beside;
    task_enter(task, TASK_MARKING);
    taskmark_start(task);
}

/* --- its end without a result ------------------------------------------------------------- */

static bool on_taken_back(void *arg, natsMsg *reply)
{
    bool is_stored;
    bool again = take_answer(arg, reply, &is_stored);
    if (is_stored)
        task_settle_unrun(arg);
    return again;
}

void taskmark_take_back(struct task *task)
{
    if (marks_remove(task->mark.starts, task->nonce) < 0) {
        task_settle_unrun(task); /* a later submission has a mark of its own */
        return;
    }
    task->mark.without_rubric += task->lacks_rubric;
    send_mark(task, on_taken_back);
}

static bool on_starved(void *arg, natsMsg *reply)
{
    bool is_stored;
    bool again = take_answer(arg, reply, &is_stored);
    if (is_stored)
        task_settle(arg, "-NAK", TASK_STARVED);
    return again;
}

void taskmark_starve(struct task *task)
{
    if (marks_remove(task->mark.starts, task->nonce) < 0)
        task_settle(task, "-NAK", TASK_STARVED); /* an earlier try was stored; or as above */
    else if (marks_add(task->mark.starved, task->worker, task->nonce) == 0)
        send_mark(task, on_starved);
}
