/* SPDX-License-Identifier: MIT */
#include "questions.h"

#include <errno.h>
#include <string.h>

/* How long after its time the answer to a question may yet come. */
#define GRACE_MS 1000

static void arm(struct questions *questions, uint64_t ms)
{
    const struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (long)(ms % 1000) * 1000};
    (void)event_add(questions->due, &tv);
}

static void await_answers(struct questions *questions)
{
    questions->is_overdue = false;
    arm(questions, SESSION_ANSWER_MS);
}

static void on_due(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    struct questions *questions = userdata;
    if (questions->is_overdue) {
        questions->silent(questions->userdata);
        return;
    }
    /* The loop itself may have been late: then the question has only just been sent, or its answer
     * is still to be read. */
    questions->is_overdue = true;
    arm(questions, GRACE_MS);
}

int questions_init(struct questions *questions, struct event_base *base,
                   void (*silent)(void *userdata), void *userdata)
{
    *questions = (struct questions){.silent = silent, .userdata = userdata};
    for (enum ask ask = 0; ask < ASKS; ask++)
        TAILQ_INIT(&questions->askers[ask]);
    questions->due = evtimer_new(base, on_due, questions);
    return questions->due ? 0 : -ENOMEM;
}

void questions_deinit(struct questions *questions)
{
    if (questions->due)
        event_free(questions->due);
    questions->due = NULL;
}

void questions_add(struct questions *questions, enum ask ask, struct asker *asker)
{
    asker->among = questions;
    asker->ask = ask;
    TAILQ_INSERT_TAIL(&questions->askers[ask], asker, link);
}

void questions_remove(struct asker *asker)
{
    if (asker->among)
        TAILQ_REMOVE(&asker->among->askers[asker->ask], asker, link);
    asker->among = NULL;
}

static void tell(struct questions *questions, enum ask ask, struct message *message,
                 const char *why)
{
    struct askers told = TAILQ_HEAD_INITIALIZER(told);
    struct asker *asker;
    /* Whoever asks anew while the others are told waits for the next answer. */
    TAILQ_CONCAT(&told, &questions->askers[ask], link);
    questions->asked[ask] = false;
    while ((asker = TAILQ_FIRST(&told))) {
        TAILQ_REMOVE(&told, asker, link);
        asker->among = NULL;
        asker->told(asker, message, why);
    }
}

void questions_send(struct questions *questions, struct session *session)
{
    static const char *const texts[ASKS] = {
        [ASK_STATUS] = "{\"type\":\"status\"}",
        [ASK_METRICS] = "{\"type\":\"metrics\"}",
        [ASK_PING] = "{\"type\":\"ping\"}",
    };
    for (enum ask ask = 0; ask < ASKS; ask++) {
        if (questions->asked[ask] || TAILQ_EMPTY(&questions->askers[ask]))
            continue;
        if (session_send(session, texts[ask], strlen(texts[ask])) < 0) {
            tell(questions, ask, NULL, "out of memory");
            continue;
        }
        questions->asked[ask] = true;
        if (!event_pending(questions->due, EV_TIMEOUT, NULL))
            await_answers(questions);
    }
}

void questions_take(struct questions *questions, struct message *message)
{
    static const enum ask asks[MESSAGE_OTHER + 1] = {
        [MESSAGE_STATUS] = ASK_STATUS, [MESSAGE_METRICS] = ASK_METRICS, [MESSAGE_PONG] = ASK_PING};
    if (message->type != MESSAGE_STATUS && message->type != MESSAGE_METRICS &&
        message->type != MESSAGE_PONG)
        return;
    (void)event_del(questions->due);
    tell(questions, asks[message->type], message, NULL);
    if (questions->asked[ASK_STATUS] || questions->asked[ASK_METRICS] || questions->asked[ASK_PING])
        await_answers(questions);
}

void questions_fail(struct questions *questions, const char *why)
{
    (void)event_del(questions->due);
    for (enum ask ask = 0; ask < ASKS; ask++)
        tell(questions, ask, NULL, why);
}
