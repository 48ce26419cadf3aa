/* SPDX-License-Identifier: MIT */
#pragma once
/* Shares the loop's time between frames that take long to handle and everything else.
 *
 * What the connections do in one turn of the event loop delays all others. So frames take their
 * time from a budget for the turn, and stand in line for the next turn once it is spent: there
 * whatever else is ready comes first. A single frame may exceed the budget; its own bounds keep
 * that to tenths of a second (REQUEST_OVERHEAD_MAX). Light frames have a budget and a line of
 * their own, since a ping must not wait behind what takes long: but thousands of them, or of small
 * requests with large answers, take long as well.
 *
 * Users take turns in the line, and then the connections of each: a user with many of them holds
 * another up by one frame.
 *
 * Invariants: a frame is in the list of its user exactly while is_waiting, and a user in a line
 * exactly while a frame of that weight is in the user's list; the timer runs while one is. */

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Larger frames are heavy. */
#define LIGHT_FRAME_MAX (4u << 10)
/* Of a turn, for each weight. */
#define FRAME_BUDGET_MS 10

enum frame_weight {
    FRAME_LIGHT,
    FRAME_HEAVY,
    FRAME_WEIGHTS,
};

TAILQ_HEAD(frame_turns, frame_turn);

/* Embedded in a user: the frames of the user's connections. */
struct frame_user {
    struct frame_turns waiting[FRAME_WEIGHTS]; /* in the order in which they came */
    TAILQ_ENTRY(frame_user) of_waiting[FRAME_WEIGHTS];
};

TAILQ_HEAD(frame_users, frame_user);

struct frame_line {
    struct event *timer;
    struct frame_users waiting[FRAME_WEIGHTS]; /* the first has the next turn */
    uint64_t spent_ns[FRAME_WEIGHTS];          /* since the timer went off */
    void (*handle)(struct frame_turn *turn);
};

/* Embedded in a connection: the frame that it would handle next. */
struct frame_turn {
    /* Whoever embeds this sets these two, before any function here is called. */
    struct frame_line *line;
    struct frame_user *user; /* changes only while the frame is in no line */
    bool is_waiting;
    bool is_granted;          /* it need not wait again */
    enum frame_weight weight; /* while it waits */
    TAILQ_ENTRY(frame_turn) of_waiting;
};

void frame_user_init(struct frame_user *user);

/* HANDLE is called for one that has waited: it may handle one frame. 0 or -ENOMEM. */
int frame_line_init(struct frame_line *line, struct event_base *base,
                    void (*handle)(struct frame_turn *turn));

/* Accepts a zeroed LINE. */
void frame_line_deinit(struct frame_line *line);

/* Whether a frame of SIZE bytes, which has arrived, may be handled now. False: it waits. */
bool frame_turn_take(struct frame_turn *turn, size_t size);

/* Counts the time that it has taken, since BEGAN_NS. */
void frame_turn_spend(struct frame_turn *turn, size_t size, uint64_t began_ns);

/* Leaves the line, if it is there. */
void frame_turn_leave(struct frame_turn *turn);
