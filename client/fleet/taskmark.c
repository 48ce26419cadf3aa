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
        task_settle(task, task->is_cancelled ? "+TERM" : "-NAK",
                    task->is_cancelled ? TASK_CANCELLED : TASK_BACK);
    else if (marks_find(task->mark.starts, task->nonce) >= 0)
        task_run(task);
    else if (json_array_size(task->mark.starts) >= MARKS_STARTS_MAX)
        task_bury(task);
    else if (has_starved && is_for_others(task))
        pass_by(task);
    else if (has_starved && !task->is_alone)
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
        task_settle(arg, ((struct task *)arg)->back, TASK_BACK);
    return again;
}

void taskmark_take_back(struct task *task)
{
    if (marks_remove(task->mark.starts, task->nonce) < 0) {
        task_settle(task, task->back, TASK_BACK); /* a later submission has a mark of its own */
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
