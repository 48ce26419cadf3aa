/* SPDX-License-Identifier: MIT */
#pragma once
/* The messages between the supervisor and a jail: a SOCK_SEQPACKET socketpair, one packet a
 * message, descriptors beside it. The supervisor sends a set-up first; the jail confines itself and
 * answers READY once. Then, job by job: STARTED (with a pidfd) and ENDED, or ENDED alone where the
 * program was quick, or FAILED. A job may be sent while another runs: if that is not quick, it is
 * RETURNED. What comes from a jail is untrusted: the receiver checks size and
 * type here and the sense of it in slot.c. */

#include "layers.h"

#include "proto/limits.h"

#include <stddef.h>
#include <stdint.h>

/* The jail finds its end of the socketpair here. */
#define LINK_FD 3

/* Room for all strings of one message. */
#define LINK_STRINGS_MAX (48u << 10)
#define LINK_LIST_MAX 64

/* A program that ends within this time is told of in one notice: waking the supervisor costs as
 * much as many programs do. */
#define LINK_SHORT_MS 8

/* How a jail is to be; strings, each with its NUL: the host paths that every job may read, and for
 * an interpreter that waits in the jail the program and its options, the environment of its jobs
 * and the modules that it is to load. Comes with the seccomp program (struct sock_filter[]) in a
 * memfd where that layer is wanted. */
struct link_setup {
    uint32_t layers;   /* bits of enum layer: what to use where it can be had */
    uint32_t uid, gid; /* the supervisor's: what the identity in the user namespace stands for */
    uint32_t path_count;
    uint32_t argc; /* 0: no interpreter */
    uint32_t envc;
    uint32_t module_count;
    uint32_t strings_length;
    uint32_t has_filter; /* 1: the memfd is there */
    char version[64];    /* of the interpreter that the daemon has: "Python 3.11.2" */
    uint64_t pass;       /* what its calls need to come through that filter (mounts.h) */
};

/* The strings of a set-up, found again. */
struct link_setup_lists {
    char *paths[LINK_LIST_MAX + 1], *argv[LINK_LIST_MAX + 1], *envp[LINK_LIST_MAX + 1],
        *modules[LINK_LIST_MAX + 1];
};

/* Strings, each with its NUL: arguments, environment, the bench (one or none), readable paths. */
struct link_job {
    uint64_t job_no;
    struct limits limits;
    uint64_t bench_device, bench_inode; /* as the supervisor has seen it */
    uint32_t argc;
    uint32_t envc;
    uint32_t has_bench; /* 1: a directory that is shown as VIEW_BENCH, or at its own place */
    uint32_t readable_count;
    uint32_t strings_length;
    uint32_t
        cgroup_counts; /* 1: the cgroup bounds the number of processes, and tells when it did */
    uint32_t warm;     /* 1: in a copy of the jail's interpreter, where that takes it */
    uint32_t fd_mask;  /* bits of enum link_job_fd: those that come along; the first three always */
};

enum link_job_fd {
    LINK_STDIN,
    LINK_STDOUT,
    LINK_STDERR,
    LINK_STANDARD_FDS,
    LINK_FILES =
        LINK_STANDARD_FDS, /* what to write into the working directory: link_file records */
    LINK_CGROUP,           /* the cgroup to start the job in */
    LINK_JOB_FDS,
};

/* Before each file's name (without NUL) and content. */
struct link_file {
    uint32_t name_length;
    uint32_t mode; /* 0 to 0777 */
    uint64_t size;
};

/* The strings of a job, found again. */
struct link_lists {
    char *argv[LINK_LIST_MAX + 1], *envp[LINK_LIST_MAX + 1], *readable[LINK_LIST_MAX + 1];
    char *bench; /* NULL: none */
};

enum link_report_type {
    LINK_READY,    /* the slot's directory is empty, jobs may come */
    LINK_STARTED,  /* the program runs, and has for LINK_SHORT_MS; a pidfd comes along */
    LINK_FAILED,   /* it could not be started: stage and error */
    LINK_ENDED,    /* it and all its descendants are gone, its directory too; without a STARTED
                    * before, the pidfd comes with this one */
    LINK_RETURNED, /* one that was sent ahead will have to wait: nothing was done with it */
};

enum link_stage {
    LINK_STAGE_NONE,
    LINK_STAGE_DIRECTORY, /* making the private directory */
    LINK_STAGE_FILES,     /* writing the job's files there */
    LINK_STAGE_BENCH,     /* showing it its bench */
    LINK_STAGE_READABLE,  /* showing it what it may read besides */
    LINK_STAGE_FORK,
    LINK_STAGE_DESCRIPTORS,
    LINK_STAGE_SESSION,
    LINK_STAGE_LIMITS,
    LINK_STAGE_CGROUP,
    LINK_STAGE_PRIVILEGES,
    LINK_STAGE_LANDLOCK,
    LINK_STAGE_EXEC,
    LINK_STAGE_COUNT,
};

const char *link_stage_name(enum link_stage stage);

struct link_notice {
    uint32_t type;
    uint32_t stage;         /* FAILED */
    uint64_t job_no;        /* all but READY */
    int32_t pid;            /* STARTED: in the jail's pid namespace, for people */
    int32_t error;          /* FAILED: errno */
    int32_t wait_status;    /* ENDED: as wait(2) gives it */
    uint32_t leftover;      /* ENDED, FAILED: 1: something is left, the jail ends */
    uint32_t layers;        /* READY: bits of enum layer that are in force */
    uint32_t warm;          /* READY: 1: an interpreter waits; ENDED: 1: the program ran in it */
    uint32_t evidence;      /* ENDED: bits (1 << enum limit) of limits that were certainly met */
    uint64_t cpu_us;        /* ENDED: user and system time of the program and its whole tree */
    uint64_t max_rss_bytes; /* ENDED: of the largest process */
    uint64_t started_ns;    /* STARTED, ENDED: CLOCK_MONOTONIC just before its process was made */
    uint64_t ended_ns;      /* ENDED: the same when the program had ended */
    uint64_t run_delay_ns;  /* ENDED: time runnable without a CPU; UINT64_MAX: not known */
    int32_t layer_errors[LAYER_COUNT]; /* READY: errno of what was wanted and could not be had */
    char view_step[64];                /* READY: what failed in making the view; may lack its NUL */
    char cold_because[96];             /* READY: why no interpreter waits; may lack its NUL */
};

/* Sends a set-up; FILTER stays the caller's, -1: none. */
int link_send_setup(int fd, const struct link_setup *setup, const char *strings, int filter);

/* Receives the set-up into *ret_setup and STRINGS (LINK_STRINGS_MAX bytes); the caller owns
 * *ret_filter. 1, 0 or -EPROTO as below. */
int link_receive_setup(int fd, struct link_setup *ret_setup, char *strings, int *ret_filter);

/* Sends a job; the descriptors that job->fd_mask names stay the caller's. 0, or a negative errno
 * (-EAGAIN: the socket's buffer is full; -EMSGSIZE). */
int link_send_job(int fd, const struct link_job *job, const char *strings,
                  const int fds[LINK_JOB_FDS]);

/* Receives a job into *ret_job and STRINGS (LINK_STRINGS_MAX bytes); the caller owns ret_fds, where
 * those that did not come are -1. 1: a job; 0: the other end is closed; -EPROTO: not a valid
 * message. */
int link_receive_job(int fd, struct link_job *ret_job, char *strings, int ret_fds[LINK_JOB_FDS]);

/* Sends a notice, with PIDFD (borrowed) unless it is -1. */
int link_send_notice(int fd, const struct link_notice *notice, int pidfd);

/* Receives a notice; *ret_pidfd is the caller's, -1 where none came.
 * 1: a notice; 0: the other end is closed; -EAGAIN: nothing there; -EPROTO: not a valid message. */
int link_receive_notice(int fd, struct link_notice *ret_notice, int *ret_pidfd);

/* Points LISTS into STRINGS. -EPROTO if the counts and the bytes do not agree, or a list is too
 * long. */
int link_split_job(const struct link_job *job, char *strings, struct link_lists *ret);

/* The same for a set-up. */
int link_split_setup(const struct link_setup *setup, char *strings, struct link_setup_lists *ret);
