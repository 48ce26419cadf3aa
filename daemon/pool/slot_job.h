/* SPDX-License-Identifier: MIT */
#pragma once
/* A job in its slot, from its launch until it is given back to its owner: the packet for the jail,
 * the pipes and the cgroup that it runs with, its program, and what became of it.
 *
 * May include: the pool's capture, classes, job_cgroup, packet and result, and the rooms below the
 * pool.
 *
 * Invariants:
 *  - `phase` is changed by the functions below alone, along the arrows of the table in slot_job.c.
 *  - A job that is pending or sent can go to another jail: its packet is kept until then. Pipes and
 *    a cgroup that one jail was given are never given to another: whoever has got hold of that jail
 *    has their write ends.
 *  - Nothing points into a job before its program runs. So it can move from one place to another
 *    while it is pending or sent, and again when it is over. */

#include "capture.h"
#include "classes.h"
#include "job_cgroup.h"
#include "launch.h"
#include "packet.h"
#include "result.h"
#include "terminal.h"

#include "daemon/confine/confinement.h"
#include "proto/limits.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

enum slot_job_phase {
    SLOT_JOB_NONE,    /* there is no job */
    SLOT_JOB_PENDING, /* packed; no jail has it */
    SLOT_JOB_SENT,    /* ahead of its turn: the jail has it and may return it unused */
    SLOT_JOB_TAKEN,   /* the jail starts it or runs it, and cannot return it */
    SLOT_JOB_ENDED, /* the jail says that it has ended; a pipe or the cgroup may still be in use */
    SLOT_JOB_WITHDRAWN, /* no jail will get it: cancelled while pending, or it cannot be sent */
    SLOT_JOB_OVER,      /* on its way back to its owner, with a result */
};

struct slot_job {
    enum slot_job_phase phase;
    void *owner; /* NULL: there is no job */
    uint64_t number;
    uint64_t link_no; /* its number for the jail and of its cgroup, which no other step has */
    struct limits limits;
    unsigned cpu_percent; /* of one CPU; 0: no limit */
    enum launch_act act;
    struct confinement *confinement; /* of the jail that it wants; a reference */
    struct jail_wish wish;           /* what it wants of its jail */
    struct packet packet;            /* PACKET_NULL once it cannot be sent any more */
    struct slot_class of_class;      /* of which it is */
    uint64_t sent_ns;                /* when it was handed to the jail; 0: no jail has it */
    struct job_cgroup cgroup;
    struct capture out, err;
    struct launch_terminal wants_terminal;
    struct terminal terminal; /* open if it wants one, from when it is sent on */
    int collected;            /* memory that the jail writes its files to; -1: none are collected */
    uint64_t collect_max;
    size_t output_bytes;         /* that count */
    size_t free_output;          /* bytes of stdout that do not count */
    size_t free_stderr;          /* the same of stderr */
    bool keeps_little;           /* of stdout no more than of stderr */
    bool streams;                /* what it writes is told as it comes */
    bool is_pair;                /* its stdout is the report of a judge */
    bool is_joined;              /* the end of its program is not that of the job */
    int program_pidfd;           /* -1: the program has not started */
    struct event *program_event; /* its exit is watched; NULL: not watched, or known already */
    uint64_t deadline_ns;        /* of the program */
    uint64_t asked_ns;    /* when the jail was asked for times; 0: it was not, or has answered */
    uint64_t shared_ns;   /* the program of a pair ended after this time, and the deadline is now
                           * the interactor's; 0: it is the program's */
    bool was_asked_ahead; /* of the deadline, and the answer left open whether it moves */
    bool is_final;        /* the deadline does not move again: the job is killed then, for `late` */
    enum slot_kill late;
    struct slot_result result;
    bool spent; /* the jail could not clean up after it, and ends */
};

#define SLOT_JOB_NULL                                                                        \
    {                                                                                        \
        .packet = PACKET_NULL, .cgroup = JOB_CGROUP_NULL, .out = CAPTURE_NULL,               \
        .err = CAPTURE_NULL, .terminal = TERMINAL_NULL, .collected = -1, .program_pidfd = -1 \
    }

/* Whether it is a command of a session: what it leaves, stays. */
static inline bool slot_job_is_command(const struct slot_job *job)
{
    return job->act != LAUNCH_JOB;
}

/* Reads the pipes of a job that is sent, and says where its cgroup goes; all borrowed. */
struct slot_job_host {
    struct event_base *base;
    struct job_cgroup *kept; /* of the session, for its commands */
    capture_tell on_data;    /* of those that stream */
    capture_callback on_output;
    terminal_taken on_taken; /* of those with a terminal */
    void *userdata;
    const struct cgroup_tree *cgroups; /* NULL: jobs of this jail have no cgroup */
};

/* Whether a job in phase FROM may pass to phase TO. */
bool slot_job_may_enter(enum slot_job_phase from, enum slot_job_phase to);

/* Packs LAUNCH for OWNER, which is not NULL; the job is pending then. On failure returns a negative
 * errno, and there is no job. */
int slot_job_init(struct slot_job *job, const struct launch *launch, uint64_t number, void *owner);

/* Moves a job from FROM to TO, which must be empty. */
void slot_job_move(struct slot_job *to, struct slot_job *from);

/* Sends a pending job to the jail behind LINK_FD, with pipes and a cgroup that no jail has seen. On
 * failure returns a negative errno; the job is still pending. */
int slot_job_send(struct slot_job *job, const struct slot_job_host *host, int link_fd);

/* Takes back a job that its jail was sent and has not begun with. It is pending again, or withdrawn
 * if it was cancelled meanwhile. */
void slot_job_retract(struct slot_job *job);

/* Leaves a job that was sent to its jail for good, and closes the packet. */
void slot_job_commit(struct slot_job *job);

/* Gives up a pending job: it is not sent to any jail. */
void slot_job_withdraw(struct slot_job *job);

/* Notes that the program runs, as the jail says since STARTED_NS; the deadline counts from there.
 * Takes PIDFD. */
void slot_job_start(struct slot_job *job, uint64_t started_ns, int pidfd);

/* Calls ON_EXIT when the program exits and reads the pipes as bytes come. -ENOMEM if BASE takes no
 * event. */
int slot_job_watch(struct slot_job *job, struct event_base *base, event_callback_fn on_exit,
                   void *userdata);

/* Stops watching the program of a joined pair, which has exited; the job goes on. */
void slot_job_unwatch(struct slot_job *job);

/* Notes that the program exited, at ENDED_NS or, if another call knew of an earlier time, then: the
 * jail sees the exit when it happens, and a daemon that is busy sees it later. */
void slot_job_note_exit(struct slot_job *job, uint64_t ended_ns);

/* Takes over what NOTICE, of type ENDED, and the cgroup know about the job's end. A job whose
 * tree took more CPU time than its limit, or which exited more than SLOT_JOB_LATE_MS after its
 * deadline, is judged as if it had been killed for that; JAIL_PID tells which CPUs it may use. */
void slot_job_note_end(struct slot_job *job, const struct link_notice *notice, pid_t jail_pid);

/* The jail may have waited for a CPU itself before it saw the exit. */
#define SLOT_JOB_LATE_MS 1000

/* Takes over what NOTICE, of type FAILED, says of a program that could not be started. */
void slot_job_fail(struct slot_job *job, const struct link_notice *notice);

/* Counts N bytes of output that came from one of the job's captures. Returns whether the job is
 * within its limit. */
bool slot_job_count_output(struct slot_job *job, const struct capture *from, size_t n);

/* How many of N bytes that came from one of the job's captures are within its limit. */
size_t slot_job_output_room(const struct slot_job *job, const struct capture *from, size_t n);

/* Milliseconds until a limit of time may be reached, and slot_job_check_time() is due: the
 * deadline or the question before it, the jail's answer, or the CPU time of the tree. Never 0. */
uint64_t slot_job_check_after_ms(const struct slot_job *job, uint64_t now_ns);

/* The limit of time for which the job is to be killed now, or SLOT_KILL_NONE. Shortly before the
 * deadline asks the jail behind LINK_FD whether the job has waited for a CPU, and keeps the job
 * alive until slot_job_hear_times(), but no longer than SLOT_JOB_ANSWER_MS. */
enum slot_kill slot_job_check_time(struct slot_job *job, int link_fd, uint64_t now_ns);

#define SLOT_JOB_ANSWER_MS 5000

/* Takes the jail's answer, NOTICE, and moves the deadline or decides that the job is over. JAIL_PID
 * tells which CPUs it may use. Returns false if nobody has asked. slot_job_check_time() is due
 * then.
 */
bool slot_job_hear_times(struct slot_job *job, const struct link_notice *notice, pid_t jail_pid,
                         uint64_t now_ns);

/* Milliseconds until the deadline; 0 if it has passed or is not yet set. */
uint64_t slot_job_remaining_ms(const struct slot_job *job, uint64_t now_ns);

/* Kills the program, and its control group if it has one. Without a group, the jail kills the rest
 * once the program has ended. Keeps WHY if nothing else was the reason before. A pending job is
 * withdrawn. One that is sent ahead keeps the reason and is not touched: retract it, or kill it
 * once it runs. */
void slot_job_kill(struct slot_job *job, enum slot_kill why);

/* Stops watching the program and reading the pipes. What was kept of the output stays. */
void slot_job_close(struct slot_job *job);

/* Completes the result of a closed job, which borrows the job's output. */
void slot_job_finish(struct slot_job *job, enum slot_end end);

/* Whether both pipes are at their end. */
bool slot_job_is_drained(const struct slot_job *job);

/* Frees everything; there is no job then. */
void slot_job_deinit(struct slot_job *job);
