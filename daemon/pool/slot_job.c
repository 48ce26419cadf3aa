/* SPDX-License-Identifier: MIT */
#include "slot_job.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

/* stderr beyond this is counted but not kept. */
#define STDERR_KEPT_MAX (64u << 10)

int slot_job_init(struct slot_job *job, const struct launch *launch, uint64_t number, void *owner)
{
    *job = (struct slot_job)SLOT_JOB_NULL;
    int r = packet_init(&job->packet, launch, number);
    if (r < 0)
        return r;
    job->owner = owner;
    job->number = number;
    job->limits = launch->limits;
    job->cpu_percent = launch->cpu_percent;
    job->confinement = confinement_ref(launch->confinement);
    job->networked = launch->network;
    job->result.run_delay_ns = UINT64_MAX;
    return 0;
}

/* The packet gets the write ends. */
static int open_captures(struct slot_job *job, const struct slot_job_host *host)
{
    size_t limit = job->limits.of[LIMIT_OUTPUT];
    int r = capture_open(&job->out, host->base, limit, host->on_output, host->userdata,
                         &job->packet.fds[LINK_STDOUT]);
    if (r >= 0)
        r = capture_open(&job->err, host->base, MIN(limit, (size_t)STDERR_KEPT_MAX),
                         host->on_output, host->userdata, &job->packet.fds[LINK_STDERR]);
    return r;
}

int slot_job_send(struct slot_job *job, const struct slot_job_host *host, int link_fd)
{
    slot_job_retract(job);
    int r = open_captures(job, host);
    /* Not earlier: what is left in a slot's cgroups is removed with each of its jails. */
    if (r >= 0)
        r = job_cgroup_open(&job->cgroup, host->cgroups, job->number, &job->limits,
                            job->cpu_percent, &job->packet.fds[LINK_CGROUP]);
    job->packet.job.cgroup_counts = job_cgroup_counts_processes(&job->cgroup);
    uint64_t now_ns = clock_now_ns();
    if (r >= 0)
        r = packet_send(&job->packet, link_fd);
    if (r < 0)
        slot_job_retract(job);
    else
        job->sent_ns = now_ns;
    return r;
}

void slot_job_retract(struct slot_job *job)
{
    static const enum link_job_fd of_a_jail[] = {LINK_STDOUT, LINK_STDERR, LINK_CGROUP};
    for (size_t i = 0; i < ARRAY_SIZE(of_a_jail); i++)
        job->packet.fds[of_a_jail[i]] = close_fd(job->packet.fds[of_a_jail[i]]);
    capture_deinit(&job->out);
    capture_deinit(&job->err);
    (void)job_cgroup_close(&job->cgroup); /* nothing was started in it */
    job->sent_ns = 0;
}

void slot_job_is_taken(struct slot_job *job)
{
    packet_deinit(&job->packet);
}

bool slot_job_is_pending(const struct slot_job *job)
{
    return job->owner && job->packet.strings && job->sent_ns == 0 &&
           job->result.killed == SLOT_KILL_NONE;
}

void slot_job_deinit(struct slot_job *job)
{
    capture_deinit(&job->out);
    capture_deinit(&job->err);
    packet_deinit(&job->packet);
    job_cgroup_deinit(&job->cgroup);
    confinement_unref(job->confinement);
    *job = (struct slot_job)SLOT_JOB_NULL;
}
