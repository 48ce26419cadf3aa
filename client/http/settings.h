/* SPDX-License-Identifier: MIT */
#pragma once
/* The settings of rubricd-http: a file with one section, [http], and NAME=VALUE on the command
 * line. conf/http.conf says what each means. Sizes are in bytes, times in milliseconds. */

#include "proto/fault.h"

#include <stdint.h>
#include <stdio.h>

#define HTTP_CONFIG_DEFAULT "/etc/rubricd/http.conf"

struct http_settings {
    char *listen;    /* "127.0.0.1:8650", "[::]:8650" or "unix:/path" */
    char *socket;    /* the daemon's */
    char *tokens;    /* a file of bearer tokens; "": none */
    char *languages; /* a directory; "": the files that are built in */
    unsigned socket_mode;
    unsigned connections;
    unsigned connections_per_address;
    unsigned jobs_per_connection;
    uint64_t header_bytes;
    uint64_t body_bytes;
    uint64_t bodies_bytes;
    uint64_t unread_bytes;
    uint64_t results_bytes;
    uint64_t header_time;
    uint64_t body_time;
    uint64_t reply_time;
    uint64_t daemon_time;
};

#define HTTP_SETTINGS_NULL \
    {                      \
        .listen = NULL     \
    }

/* Sets every field to its default. 0 or -ENOMEM. */
int http_settings_init(struct http_settings *settings);

/* Reads the file at PATH. Returns 0; -ENOENT if there is none; -EINVAL after a line on ERRORS for
 * each mistake; or another negative errno after a line there. */
int http_settings_read(struct http_settings *settings, const char *path, FILE *errors);

/* Sets what TEXT, "NAME=VALUE", says. 0; -EINVAL with FAULT; or -ENOMEM. */
int http_settings_set(struct http_settings *settings, const char *text, struct fault *fault);

void http_settings_deinit(struct http_settings *settings);
