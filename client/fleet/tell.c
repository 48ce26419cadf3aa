/* SPDX-License-Identifier: MIT */
#include "tell.h"

#include "census.h"

#include "proto/json.h"
#include "proto/printer.h"

#include <string.h>

static bool asks(natsMsg *message, const char *what)
{
    size_t n = strlen(what);
    return (size_t)natsMsg_GetDataLength(message) == n &&
           memcmp(natsMsg_GetData(message), what, n) == 0;
}

bool tell_is_announce(natsMsg *message)
{
    return asks(message, CENSUS_ASK_ANNOUNCE);
}

/* Returns the task whose job has this id at the daemon of the lane. */
static const struct task *find_task(const struct tell *tell, const char *id)
{
    const struct task *task;
    LIST_FOREACH(task, tell->tasks, link)
    if (task->lane == tell->lane && task->state == TASK_RUNNING && strcmp(task->job.id, id) == 0)
        return task;
    return NULL;
}

/* Says of each slot's job which one of the fleet it is. What other clients of the daemon have
 * running is their own affair. */
static void name_jobs(const struct tell *tell, json_t *slots)
{
    for (size_t i = 0; i < json_array_size(slots); i++) {
        json_t *slot = json_array_get(slots, i), *job = json_object_get(slot, "job");
        const char *id = json_string_value(json_object_get(job, "id"));
        const struct task *task = id ? find_task(tell, id) : NULL;
        if (!task) {
            (void)json_object_set_new(slot, "job", json_null());
            continue;
        }
        (void)json_object_set_new(job, "run", json_string(task->names.run));
        (void)json_object_set_new(job, "id", json_stringn(task->id.data, task->id.length));
    }
}

static void tell_status(const struct tell *tell, const char *reply)
{
    _cleanup_json_ json_t *status = json_deep_copy(tell->lane->status);
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!status)
        return;
    name_jobs(tell, json_object_get(status, "slots"));
    if (json_print(status, &text) == 0)
        (void)bus_publish(tell->bus, reply, NULL, text.data, text.length);
}

/* Notes a question that is to be answered at REPLY. Returns whether there was room. */
static bool add_question(struct tell_questions *questions, const char *reply)
{
    char *copy = questions->n < TELL_QUESTIONS_MAX ? strdup(reply) : NULL;
    if (!copy)
        return false; /* whoever asks does without */
    questions->replies[questions->n++] = copy;
    return true;
}

/* Takes the oldest one out, which the caller frees. */
static char *take_question(struct tell_questions *questions)
{
    char *reply = questions->replies[0];
    questions->n--;
    memmove(questions->replies, questions->replies + 1, questions->n * sizeof(char *));
    memmove(questions->numbers, questions->numbers + 1, questions->n * sizeof(uint64_t));
    return reply;
}

static void on_status(void *arg)
{
    struct tell *tell = arg;
    while (tell->status.n > 0 && tell->status.numbers[0] <= tell->lane->n_told) {
        _cleanup_free_ char *reply = take_question(&tell->status);
        tell_status(tell, reply);
    }
}

/* The daemon answers in the order in which it was asked. */
static void on_metrics(void *arg, const struct message *message)
{
    struct tell *tell = arg;
    const json_t *text = message ? json_object_get(message->object, "text") : NULL;
    if (tell->metrics.n == 0)
        return;
    _cleanup_free_ char *reply = take_question(&tell->metrics);
    if (text)
        (void)bus_publish(tell->bus, reply, NULL, json_string_value(text),
                          json_string_length(text));
}

void tell_answer(struct tell *tell, natsMsg *message)
{
    const char *reply = natsMsg_GetReply(message);
    if (!reply || !lane_is_ready(tell->lane))
        return;
    if (asks(message, CENSUS_ASK_STATUS) && add_question(&tell->status, reply))
        tell->status.numbers[tell->status.n - 1] = lane_ask_status(tell->lane);
    else if (asks(message, CENSUS_ASK_METRICS) && add_question(&tell->metrics, reply))
        lane_ask_metrics(tell->lane);
}

void tell_init(struct tell *tell, struct bus *bus, struct lane *lane, const struct tasks *tasks)
{
    *tell = (struct tell){.bus = bus, .lane = lane, .tasks = tasks};
    lane->on_status = on_status;
    lane->on_metrics = on_metrics;
    lane->on_arg = tell;
}

void tell_deinit(struct tell *tell)
{
    while (tell->status.n > 0)
        free(take_question(&tell->status));
    while (tell->metrics.n > 0)
        free(take_question(&tell->metrics));
}
