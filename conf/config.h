/* SPDX-License-Identifier: MIT */
#pragma once
/* The configuration of daemon and client: a file and its drop-ins, as plain data. What each key
 * means stands in rubricd.conf; the table of keys, types, bounds and defaults in keys.c. */

#include "string_list.h"

#include "proto/jobspec.h"
#include "proto/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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

/* No string is NULL once config_init has returned 0; "" stands for "none". Paths are absolute and
 * have no trailing, doubled or dotted parts. _ms is milliseconds; sizes are bytes. */
/* Where the host does not have this account, `nobody` does instead. */
#define CONFIG_DEFAULT_USER "rubricd"

/* Whether interpreters wait in the jails. */
enum config_warm {
    CONFIG_WARM_AUTO, /* where that can be had */
    CONFIG_WARM_NO,
    CONFIG_WARM_YES, /* or the daemon does not start */
};

struct config {
    /* [daemon] */
    char *user;   /* the account to change to when started by root */
    char *socket; /* fits into sun_path with its NUL */
    unsigned socket_mode;
    char *socket_group; /* "": leave the group as it is */
    char *work_dir;
    unsigned slots; /* 0: one per CPU that is online */
    unsigned max_clients;
    struct string_list admin_groups;
    uint64_t grace_period_ms;
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

    /* [rubric] */
    char *interpreter;
    char *bench_root; /* "": a request has to name one */
    struct string_list allowed_roots;

    /* [sandbox] */
    bool sandbox_allow_network;
    struct string_list sandbox_env_names;      /* variables that a request may set */
    struct string_list sandbox_readable_roots; /* under which it may ask for files */

    /* The section of each kind of job: its default limits. */
    struct limits limits[JOB_KIND_COUNT];
    uint64_t wall_clock_ceiling_ms[JOB_KIND_COUNT]; /* 0: that of [ceilings] */

    /* [ceilings]: how far a request may raise a limit */
    struct limits ceilings;

    /* [metrics] */
    char *metrics_listen; /* see address.h; "": nowhere */

    /* [isolation] */
    struct string_list require;   /* names of layers */
    struct string_list without;   /* the same: not to be used */
    unsigned cpu_percent;         /* of one CPU, for each job; 0: no limit */
    struct string_list readable;  /* host paths that every job sees */
    struct string_list env_allow; /* NAME=VALUE, each NAME once */

    /* [warm] */
    enum config_warm warm;
    struct string_list warm_modules; /* that the waiting interpreters have loaded */
};

#define CONFIG_NULL    \
    {                  \
        .socket = NULL \
    }

/* Sets every field to its default. CONFIG holds nothing beforehand. Returns 0 or -ENOMEM; either
 * way config_deinit frees what there is. */
int config_init(struct config *config);

/* Frees everything. CONFIG may be CONFIG_NULL or half built. */
void config_deinit(struct config *config);
#define _cleanup_config_ _cleanup_(config_deinit)

/* One mistake. FILE is the file (or directory) that it stands in; LINE counts from 1 and is 0 for
 * the file as a whole; KEY is "[section] key", "[section]", or NULL where there is none. */
struct config_problem {
    char *file;
    unsigned line;
    char *key;
    char *text;
};

struct config_problems {
    struct config_problem *item;
    size_t count;
};

#define CONFIG_PROBLEMS_NULL \
    {                        \
        .item = NULL         \
    }

/* Reads PATH, then PATH.d/ *.conf in the order of strverscmp (9-a before 10-b; hidden files are
 * passed over); what is set later wins. CONFIG has been through config_init; keys that no file
 * sets stay as they are. PATH may be missing unless MUST_EXIST; PATH.d may always be.
 *
 * Returns 0; or -EINVAL with every mistake of all files added to PROBLEMS, in the order of
 * reading, mistakes between keys last; or -ENOMEM. After a failure CONFIG is good for
 * config_deinit only. */
int config_load(struct config *config, const char *path, bool must_exist,
                struct config_problems *problems);

/* The same, and then the N SETTINGS of the command line, each SECTION.KEY=VALUE; mistakes in them
 * are told of as --set:1 and so on, and the last setting of a key counts. PATH may be NULL: no file
 * is read. */
int config_load_with(struct config *config, const char *path, bool must_exist,
                     const char *const *settings, size_t n, struct config_problems *problems);

/* Where a configuration is read from: what config_load_with() is given, to be read again. */
struct config_source {
    const char *path;
    bool must_exist;
    const char *const *settings;
    size_t setting_count;
};

/* Writes one line: "/etc/rubricd/rubricd.conf:12: [queue] jobs: expected ..., got 'lots'". */
void config_print_problem(FILE *stream, const struct config_problem *problem);

/* Frees everything and leaves an empty list. */
void config_problems_deinit(struct config_problems *problems);
#define _cleanup_config_problems_ _cleanup_(config_problems_deinit)
