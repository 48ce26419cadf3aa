/* SPDX-License-Identifier: MIT */
#pragma once
/* What the files of this room share: struct supervisor, and the functions that change it for more
 * than one of them. Knows none of those files. supervisor.h describes the room. */

#include "service.h"

#include "conf/config.h"
#include "daemon/cgroup/cgroup.h"
#include "daemon/jobs/session.h"
#include "daemon/jobs/settings.h"
#include "daemon/log/log.h"
#include "daemon/net/conn.h"
#include "daemon/net/listener.h"
#include "daemon/observe/health.h"
#include "daemon/observe/scrape.h"
#include "daemon/observe/stats.h"
#include "daemon/observe/status.h"
#include "daemon/pool/pool.h"

#define SUPERVISOR_SIGNALS 3

/* In this order. supervisor.h has a picture of what leads from one to the next. */
enum phase {
    PHASE_RUNNING,
    PHASE_REFUSING, /* a client has asked for a drain: new jobs are refused, the drain is due */
    PHASE_DRAINING, /* no client or job is admitted; running jobs have the grace period to end */
    PHASE_KILLING,  /* the grace period is over, or was cut short: running jobs are killed */
    PHASE_STOPPING, /* no job is left; jails and connections end, then the event loop does */
};

#define GATEWAYS_KNOWN 64

/* What was found out about an account a moment ago. */
struct known_gateway {
    uid_t uid;
    uint64_t generation; /* of the settings; 0: nothing */
    uint64_t asked_ns;
    bool is_gateway;
};

struct supervisor {
    const struct config_source *source; /* NULL: the configuration cannot be reloaded */
    const char *version;
    struct settings *settings; /* in force; a reference */
    struct log log;
    struct event_base *base;
    int jail_program, warm_program;
    struct cgroup_tree cgroups;
    struct fault no_cgroups; /* why there is no tree */
    struct service service;
    struct listener listeners[SERVICE_SOCKETS_MAX];
    unsigned listener_count;
    struct health health;
    const char *illness; /* what the last look at the health found wrong; NULL: nothing */
    bool reload_refused; /* the last one */
    bool has_refused;    /* jobs, for want of a jail; until the health finds one */
    struct scrape scrape;
    struct queue queue;
    struct pool pool;
    struct conn_env conn_env;
    struct known_gateway gateways[GATEWAYS_KNOWN]; /* by uid */
    struct stats stats;

    struct conn_list conns; /* every connection that is not freed yet */
    size_t conn_count;
    struct session_list sessions; /* that are not freed yet */
    unsigned session_count;
    uint64_t last_conn_no, last_job_no, last_session_no;
    size_t put_bytes;       /* of the tests that connections have put */
    uint64_t started_ns;    /* CLOCK_MONOTONIC */
    uint64_t started_at_ns; /* since the epoch */

    enum phase phase;
    uint64_t grace_ends_ns; /* from PHASE_DRAINING on */

    struct event *turn;         /* deferred work: dispatch, unpark clients, stop when idle */
    struct event *drain;        /* active: a client has asked for a drain */
    struct event *grace;        /* end of the grace period */
    struct event *tell;         /* periodic: STATUS= for the service manager */
    struct digests *digests;    /* of rubrics' directories */
    struct event *read_rubrics; /* files of theirs are to be read; NULL: none were */
    struct event *signals[SUPERVISOR_SIGNALS];
    char *work_dir;
    int work_dir_fd;           /* locked */
    bool single_client;        /* serves one connection and ends with it */
    bool read_rubrics_at_once; /* in the next turn; else when they are old enough */
};

/* Changes the phase. NEXT must be a phase that may follow the present one. */
void state_enter(struct supervisor *supervisor, enum phase next);

/* Whether new jobs are refused because the daemon is about to stop. */
static inline bool state_refuses_jobs(const struct supervisor *supervisor)
{
    return supervisor->phase >= PHASE_REFUSING;
}

/* Whether the drain has begun. */
static inline bool state_is_draining(const struct supervisor *supervisor)
{
    return supervisor->phase >= PHASE_DRAINING;
}

/* Returns how many more connections the daemon may have. */
static inline size_t state_free_connections(const struct supervisor *supervisor)
{
    size_t max = supervisor->settings->connections, count = supervisor->conn_count;
    return max > count ? max - count : 0;
}

/* Adds a new connection to the list, and takes a closed one out. Frees nothing. */
void state_add_conn(struct supervisor *supervisor, struct conn *conn);
void state_remove_conn(struct supervisor *supervisor, struct conn *conn);

/* Puts the bounds of the settings in force on what clients send. */
void state_bound_receiving(struct supervisor *supervisor);

/* Puts SETTINGS (taken) into force for everything but the pool. */
void state_adopt(struct supervisor *supervisor, struct settings *settings);

/* Lets the languages of SETTINGS be asked for their versions: in the background of a service, of a
 * private daemon those that jobs want. After a reload a service begins at once. The event loop
 * exists. 0 or -ENOMEM. */
int state_attach_languages(struct supervisor *supervisor, const struct settings *settings);

/* The lowest priority that is logged under CONFIG, as syslog(3) numbers it. */
int state_log_level(const struct config *config);

/* The host's resources for new settings. Borrows from SUPERVISOR. */
struct settings_host state_host(const struct supervisor *supervisor);

/* The sources of status and metrics. Borrows from SUPERVISOR. */
struct status_view state_view(const struct supervisor *supervisor);
