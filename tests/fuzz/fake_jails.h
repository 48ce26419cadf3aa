/* SPDX-License-Identifier: MIT */
#pragma once
/* Jails for fuzz targets that run the daemon: each is a link whose other end the target holds, and
 * does what the target says. There is no process. The linker puts these in the place of what starts
 * jails, asks the host, and kills (`wrap` in meson.build). Socket pairs stand for pidfds: a kill is
 * a byte, and the end of a process closes its end. */

#include "daemon/jail/link.h"

#include <stdbool.h>
#include <stdint.h>

#define FAKE_JAILS_MAX 16
#define FAKE_JOBS_MAX 4096 /* numbers of jobs */

struct fake_job {
    uint64_t number;
    bool is_pair; /* a code_exec job */
    int out, err;
    int life; /* its program's end of its pidfd; -1: it has not started */
};

struct fake_jail {
    int link, life; /* -1: the jail is gone */
    struct fake_job jobs[2];
    size_t job_count;
    bool has_lied; /* the daemon may think that it has fewer jobs */
};

/* What a jail does next; AMOUNT has a meaning for some. */
enum fake_act {
    FAKE_START,  /* says that its job's program runs */
    FAKE_WRITE,  /* the program writes AMOUNT bytes to stdout and stderr */
    FAKE_PASS,   /* the program writes what passes, and ends well */
    FAKE_FAIL,   /* it ends with the status AMOUNT */
    FAKE_REFUSE, /* the program cannot be started, at the stage AMOUNT */
    FAKE_RETURN, /* the jail returns the job that was sent ahead */
    FAKE_DIE,    /* the jail dies */
    FAKE_LIE,    /* it sends a notice of the type AMOUNT about its job, or another one */
    FAKE_LEAVE,  /* the program ends well, and the jail cannot clean up */
    FAKE_BABBLE, /* it sends what is no notice */
    FAKE_ACTS,
};

/* From now on jails are fake; none is there yet. */
void fake_jails_begin(void);

/* The next COUNT jails cannot be started. */
void fake_jails_refuse(unsigned count);

/* Takes in what the daemon has sent or killed. Returns whether there was anything. */
bool fake_jails_serve(void);

/* Jail I does ACT, if it is there and can. */
void fake_jails_act(size_t i, enum fake_act act, uint8_t amount);

/* All jails end all their jobs, well unless they were killed. */
void fake_jails_finish(void);

/* How many jails live. */
size_t fake_jails_count(void);

/* Whether a jail has said that the program of job NUMBER ended with status 0. */
bool fake_jails_ended_well(uint64_t number);

/* Ends what is left. */
void fake_jails_end(void);
