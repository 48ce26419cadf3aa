/* SPDX-License-Identifier: MIT */
#pragma once
/* A job as its slot has it, from its launch until it is given back: what goes to the jail, the
 * pipes and the cgroup that it runs with, and what became of it. */

#include "capture.h"
#include "job_cgroup.h"
#include "launch.h"
#include "packet.h"
#include "result.h"

#include "daemon/confine/confinement.h"
#include "proto/limits.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

struct slot_job {
    void *owner; /* NULL: there is no job */
    uint64_t number;
    struct limits limits;
    unsigned cpu_percent;            /* of one CPU; 0: no limit */
    struct confinement *confinement; /* of the jail that it wants; a reference */
    bool networked;                  /* the shape of that */
    struct packet packet;            /* as long as it may have to be sent */
    uint64_t sent_ns;                /* when it was handed to the jail; 0: no jail has it */
    struct job_cgroup cgroup;
    struct capture out, err;
    size_t output_bytes;
    struct slot_result result;
    bool reported; /* ENDED has come */
    bool spent;    /* the jail could not clean up after it, and ends */
};

#define SLOT_JOB_NULL                                                                              \
    {                                                                                              \
        .packet = PACKET_NULL, .cgroup = JOB_CGROUP_NULL, .out = CAPTURE_NULL, .err = CAPTURE_NULL \
    }

/* Who reads the pipes of a job that is sent, and where its cgroup goes; all borrowed. */
struct slot_job_host {
    struct event_base *base;
    capture_callback on_output;
    void *userdata;
    const struct cgroup_tree *cgroups; /* NULL: none for jobs of this jail */
};

/* Packs what LAUNCH says. On failure a negative errno, with nothing left. */
int slot_job_init(struct slot_job *job, const struct launch *launch, uint64_t number, void *owner);

/* Hands it to the jail behind LINK_FD, with pipes and a cgroup that no jail has seen before. On
 * failure a negative errno, and no jail has it. */
int slot_job_send(struct slot_job *job, const struct slot_job_host *host, int link_fd);

/* No jail has it any longer, and none has run anything of it: it can be sent again. */
void slot_job_retract(struct slot_job *job);

/* The jail's now: what it was sent with is closed here. */
void slot_job_is_taken(struct slot_job *job);

/* Whether it is to be sent still. */
bool slot_job_is_pending(const struct slot_job *job);

/* Frees everything. */
void slot_job_deinit(struct slot_job *job);
