/* SPDX-License-Identifier: MIT */
#pragma once
/* Owns the event base and everything on it: wires listener, connections, queue and pool together,
 * and knows how to start, drain and stop. */

#include "service.h"

#include "conf/config.h"
#include "daemon/cgroup/cgroup.h"
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

struct supervisor {
    const struct config_source *source; /* NULL: there is nothing to reload */
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
    const char *illness; /* as it was found last; NULL: none */
    bool reload_refused; /* the last one */
    struct scrape scrape;
    struct queue queue;
    struct pool pool;
    struct conn_env conn_env;
    struct stats stats;

    struct conn_list conns;  /* all of them */
    struct conn_list parked; /* have a job that the full queue has no room for, oldest first */
    size_t conn_count;
    uint64_t last_conn_no, last_job_no;
    uint64_t started_ns, started_at_ns; /* the second one since the epoch */
    uint64_t grace_ends_ns;             /* while it drains */

    struct event *turn;  /* deferred: dispatch, let parked clients go on, see whether to end */
    struct event *drain; /* active: a drain was asked for */
    struct event *grace; /* end of the grace period */
    struct event *tell;  /* now and then: STATUS= for the service manager */
    struct event *signals[SUPERVISOR_SIGNALS];
    bool single_client; /* serves one connection and ends with it */
    bool draining;      /* no new job is taken */
    bool drain_begun, stopping;
    char *work_dir;
    int work_dir_fd; /* locked */
};

struct supervisor_options {
    const char *version;
    const struct config_source *source; /* borrowed; NULL: the configuration is not read again */
    int jail_program;                   /* rubricd-jail, open (taken) */
    int warm_program; /* rubricd-jail-warm likewise; a negative errno: it is not there */
    int serve_fd;     /* serve this connected socket alone (taken); -1: listen */
    struct service_sockets sockets; /* listening (taken); none: bind the configured one */
    bool owns_socket; /* the only one is that of the configured path, to be removed at the end */
};

/* Starts everything. What CONFIG holds is taken, also on failure. A negative errno and FAULT if
 * something cannot be had; supervisor_deinit() frees what there is either way. SUPERVISOR must not
 * move. */
int supervisor_init(struct supervisor *supervisor, struct config *config,
                    const struct supervisor_options *options, struct fault *fault);

/* Runs until stopped. 0, or a negative errno if the event loop failed. */
int supervisor_run(struct supervisor *supervisor);

/* Puts SETTINGS (taken) into force for what comes from now on, but for the pool. */
void supervisor_adopt(struct supervisor *supervisor, struct settings *settings);

/* What new settings are made of. */
struct settings_host supervisor_host(const struct supervisor *supervisor);

/* What is told of it. Borrows everything. */
struct status_view supervisor_view(const struct supervisor *supervisor);

void supervisor_deinit(struct supervisor *supervisor);
