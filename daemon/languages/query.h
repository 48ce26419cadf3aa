/* SPDX-License-Identifier: MIT */
#pragma once
/* One run of a version command, which the event loop waits for. */

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

/* The most of its output that is kept. */
#define QUERY_OUTPUT_MAX 1024

/* How it ended: called once, from the event loop. STATUS is as of waitpid(); -1 if it was killed at
 * the deadline. LINE is the first line of its output that is not empty, valid UTF-8, "" if there is
 * none. The query may be freed in it. */
typedef void query_end(int status, const char *line, void *userdata);

struct query;

/* Starts ARGV, whose first word is a path, with ENVP, with nothing on its stdin, in the background
 * of others if it is not URGENT. It has TIMEOUT_MS. 0 or a negative errno: that of execve() if the
 * kernel refuses the program, or a shortage. */
int query_start(struct event_base *base, char *const *argv, char *const *envp, bool urgent,
                uint64_t timeout_ms, query_end *end, void *userdata, struct query **ret);

/* Kills what still runs. Accepts NULL and returns NULL. */
struct query *query_free(struct query *query);
