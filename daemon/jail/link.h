/* SPDX-License-Identifier: MIT */
#pragma once
/* The messages between the supervisor and a jail: a SOCK_SEQPACKET socketpair, one packet a
 * message, descriptors beside it. The supervisor sends a job; the jail answers READY once, then for
 * each job STARTED (with a pidfd) and ENDED, or FAILED. What comes from a jail is untrusted: the
 * receiver checks size and type here and the sense of it in slot.c. */

#include "proto/limits.h"

#include <stddef.h>
#include <stdint.h>

/* The jail finds its end of the socketpair here. */
#define LINK_FD 3

/* Room for the argument and environment strings of one job. */
#define LINK_STRINGS_MAX (48u << 10)

struct link_job {
    uint64_t job_no;
    struct limits limits;
    uint32_t argc;
    uint32_t envc;
    uint32_t strings_length; /* argc + envc strings, each with its NUL */
    uint32_t reserved;
};

enum { LINK_STDIN, LINK_STDOUT, LINK_STDERR, LINK_JOB_FDS };

enum link_report_type {
    LINK_READY,   /* the slot's directory is empty, jobs may come */
    LINK_STARTED, /* the program runs; a pidfd comes along */
    LINK_FAILED,  /* it could not be started: stage and error */
    LINK_ENDED,   /* it and all its descendants are gone, its directory too */
};

enum link_stage {
    LINK_STAGE_NONE,
    LINK_STAGE_DIRECTORY, /* making the private directory */
    LINK_STAGE_FORK,
    LINK_STAGE_DESCRIPTORS,
    LINK_STAGE_SESSION,
    LINK_STAGE_LIMITS,
    LINK_STAGE_PRIVILEGES,
    LINK_STAGE_EXEC,
    LINK_STAGE_COUNT,
};

const char *link_stage_name(enum link_stage stage);

struct link_report {
    uint32_t type;
    uint32_t stage;      /* FAILED */
    uint64_t job_no;     /* all but READY */
    int32_t pid;         /* STARTED: in the jail's pid namespace, for people */
    int32_t error;       /* FAILED: errno */
    int32_t wait_status; /* ENDED: as wait(2) gives it */
    uint32_t leftover;   /* ENDED: descendants that could not be killed in time, 1 or 0 */
    uint64_t cpu_us;     /* ENDED: user and system time of the program and what it waited for */
    uint64_t max_rss_bytes;
    uint64_t started_ns;   /* STARTED: CLOCK_MONOTONIC just before the program's process was made */
    uint64_t run_delay_ns; /* ENDED: time runnable without a CPU; UINT64_MAX: not known */
};

/* Sends a job; the descriptors stay the caller's. 0, or a negative errno (-EAGAIN: the socket's
 * buffer is full; -EMSGSIZE). */
int link_send_job(int fd, const struct link_job *job, const char *strings,
                  const int fds[LINK_JOB_FDS]);

/* Receives a job into *ret_job and STRINGS (LINK_STRINGS_MAX bytes); the caller owns ret_fds.
 * 1: a job; 0: the other end is closed; -EPROTO: not a valid message. */
int link_receive_job(int fd, struct link_job *ret_job, char *strings, int ret_fds[LINK_JOB_FDS]);

/* Sends a report, with PIDFD (borrowed) unless it is -1. */
int link_send_report(int fd, const struct link_report *report, int pidfd);

/* Receives a report; *ret_pidfd is the caller's, -1 where none came.
 * 1: a report; 0: the other end is closed; -EAGAIN: nothing there; -EPROTO: not a valid message. */
int link_receive_report(int fd, struct link_report *ret_report, int *ret_pidfd);

/* Points the ARGC + ENVC entries of argv and envp (each with room for a final NULL) into STRINGS.
 * -EPROTO if the counts and the bytes do not agree. */
int link_split_strings(const struct link_job *job, char *strings, char **argv, char **envp);
