/* SPDX-License-Identifier: MIT */
#pragma once
/* Decoders of what requests say about sessions: the wish of a session_open, and the fields that it
 * shares with a command. Private to proto/. Each decodes the value of the field PATH, and fails
 * with FAULT; what it has made is then still the caller's to free. */

#include "jobfields.h"

/* The fields of a session_open; NULL: absent. */
struct session_fields {
    const json_t *limits, *env, *lease, *idle;
};

/* Decodes FIELDS; what they leave out is as POLICY says. */
int session_wish_decode(const struct session_fields *fields, const struct request_policy *policy,
                        struct session_wish *ret, struct fault *fault);

/* The number of a session. */
int session_decode_number(const json_t *value, const char *path, uint64_t *ret,
                          struct fault *fault);

/* An object {NAME: value} of any environment variables, into NULL-terminated NAME=VALUE. */
int session_decode_env(const json_t *object, const char *path, char ***ret, struct fault *fault);

/* Frees a NULL-terminated list; accepts NULL. */
void session_free_strings(char **strings);
