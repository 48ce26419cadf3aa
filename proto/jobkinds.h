/* SPDX-License-Identifier: MIT */
#pragma once
/* The table of job kinds: how a request of each kind is decoded, measured and freed. */

#include "fields.h"
#include "jobspec.h"

/* The part of the configuration that requests depend on. Strings are borrowed. */
struct request_policy {
    struct limits defaults[JOB_KIND_COUNT];
    struct limits ceilings[JOB_KIND_COUNT];
    const char *const *env_names; /* variables that a sandbox job may set */
    size_t env_name_count;
    bool allow_network; /* a sandbox job may ask for it */

    /* Of a session, in milliseconds: unless it asks for others, and the most that it may ask for.
     */
    uint64_t lease_ms, lease_ceiling_ms, idle_ms, idle_ceiling_ms;

    /* Judges the rule by which a program's outputs are compared: 0, or -EINVAL with FAULT. NULL:
     * any text is one. */
    int (*check_compare)(const char *rule, struct fault *fault);
};

struct json_places;

struct job_kind {
    const char *name;            /* in messages and in the configuration */
    const char *summary;         /* what a job of this kind is, for --help and the man page */
    const struct field *fields;  /* of the job's object; the common ones first (jobfields.h) */
    size_t field_count;          /* at most JOB_FIELDS_MAX */
    struct limits defaults;      /* unless the configuration says otherwise */
    uint64_t wall_clock_ceiling; /* milliseconds, likewise; 0: the one of all kinds */

    /* Decodes a limit that only this kind has, or refuses one that it sets elsewhere. 0, or
     * LIMIT_COMMON: it is one like the others. Negative with FAULT. NULL: it has none of its own.
     */
    int (*decode_limit)(const char *key, const json_t *value, const struct request_policy *policy,
                        struct job_spec *spec, struct fault *fault);

    /* Decodes VALUES, one for each of the fields, into SPEC, whose kind, priority and limits are
     * set. PLACES may be NULL: what it has the text of can be copied instead of printed. 0 or
     * negative with FAULT; on failure SPEC is still good for deinit. */
    int (*decode)(const json_t *const values[], const struct request_policy *policy,
                  const struct json_places *places, struct job_spec *spec, struct fault *fault);

    /* About how much memory SPEC takes beside its struct, in bytes. */
    size_t (*size)(const struct job_spec *spec);

    /* Frees what SPEC holds for this kind. */
    void (*deinit)(struct job_spec *spec);
};

#define LIMIT_COMMON 1

/* The kind of that number; never NULL. */
const struct job_kind *job_kind_get(enum job_kind_id id);

const char *job_kind_name(enum job_kind_id id);

/* The kind called NAME, or JOB_KIND_COUNT if there is none. */
enum job_kind_id job_kind_find(const char *name);

/* About how much memory SPEC takes, in bytes. */
size_t job_spec_size(const struct job_spec *spec);

/* Frees what WISH holds, which may be zeroed. */
void session_wish_deinit(struct session_wish *wish);

/* Frees what SPEC holds and SPEC itself; accepts NULL and returns NULL. */
struct job_spec *job_spec_free(struct job_spec *spec);
