/* SPDX-License-Identifier: MIT */
#pragma once
/* The values of a configuration, as plain data. conf/rubricd.conf explains each key; keys.c has the
 * table of keys with types, bounds and defaults. */

#include "language_data.h"
#include "string_list.h"

#include "proto/jobspec.h"
#include "proto/util.h"

#include <stdbool.h>
#include <stdint.h>

enum config_log_level {
    CONFIG_LOG_ERROR,
    CONFIG_LOG_WARNING,
    CONFIG_LOG_INFO,
    CONFIG_LOG_DEBUG,
};

enum config_log_format {
    CONFIG_LOG_AUTO, /* the journal where stderr is connected to it, plain lines elsewhere */
    CONFIG_LOG_JOURNAL,
    CONFIG_LOG_PLAIN,
    CONFIG_LOG_JSON,
};

/* The daemon falls back to `nobody` on a host without this account. */
#define CONFIG_DEFAULT_USER "rubricd"

#define CONFIG_SLOTS_MAX 1024

/* Whether interpreters are kept waiting in the jails. */
enum config_warm {
    CONFIG_WARM_AUTO, /* if this host allows it */
    CONFIG_WARM_NO,
    CONFIG_WARM_YES, /* the daemon does not start if this host forbids it */
};

/* No string is NULL once config_init has returned 0; an empty string means "none". Paths are
 * absolute and have no trailing, doubled or dotted parts. _ms is milliseconds; sizes are bytes. */
struct config {
    /* [daemon] */
    char *user;         /* the account to change to when started by root */
    char *socket;       /* fits into sun_path with its NUL */
    char *socket_group; /* "": leave the group as it is */
    char *work_dir;
    struct string_list admin_groups;
    struct string_list gateway_users; /* names of accounts, or uids */
    uint64_t grace_period_ms;
    unsigned socket_mode;
    unsigned slots; /* 0: one per CPU that is online */
    unsigned max_clients;
    enum config_log_level log_level;
    enum config_log_format log_format;

    /* [queue] */
    unsigned queue_jobs;
    uint64_t queue_bytes;
    unsigned queue_jobs_per_client;

    /* [protocol] */
    unsigned max_frame;
    uint64_t frame_timeout_ms;
    uint64_t receive_bytes;
    uint64_t reply_high_water;
    uint64_t reply_timeout_ms;

    /* [rubric] */
    char *interpreter;
    char *bench_root; /* "": a request has to name one */
    struct string_list allowed_roots;

    /* [sandbox] */
    bool sandbox_allow_network;
    struct string_list sandbox_env_names;      /* variables that a request may set */
    struct string_list sandbox_readable_roots; /* under which it may ask for files */

    /* [program]: what clients may put */
    uint64_t program_put_bytes; /* all of them together */
    uint64_t program_put_bytes_per_client;

    /* [session] */
    uint64_t session_max; /* open at once; 0: as many as there are slots */
    uint64_t session_lease_ms, session_lease_ceiling_ms;
    uint64_t session_idle_ms, session_idle_ceiling_ms;
    uint64_t session_output_ceiling; /* of a command, in place of that in [ceilings] */

    /* The section of each kind of job: its default limits. */
    struct limits limits[JOB_KIND_COUNT];
    uint64_t wall_clock_ceiling_ms[JOB_KIND_COUNT]; /* 0: that of [ceilings] */

    /* [ceilings]: how far a request may raise a limit */
    struct limits ceilings;

    /* [languages] */
    char *languages_directory;            /* "": the files that are built in */
    struct string_list languages_enabled; /* their names; none: all */
    bool languages_ask;                   /* a service asks for their versions after its start */
    struct language_list languages;       /* what the files say, of those that are enabled */

    /* [metrics] */
    char *metrics_listen; /* see address.h; "": nowhere */

    /* [isolation] */
    struct string_list require;   /* names of layers */
    struct string_list without;   /* the same: not to be used */
    unsigned cpu_percent;         /* of one CPU, for each job; 0: no limit */
    struct string_list readable;  /* host paths that every job sees */
    struct string_list env_allow; /* NAME=VALUE, each NAME once */
    char *idmap_socket;           /* of the helper that gives each slot a uid; "": none */

    /* [warm] */
    enum config_warm warm;
    struct string_list warm_modules; /* that the waiting interpreters have loaded */
    uint64_t warm_classes;           /* bytes for what they have loaded for single task classes */
};

#define CONFIG_NULL    \
    {                  \
        .socket = NULL \
    }
