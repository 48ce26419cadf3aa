/* SPDX-License-Identifier: MIT */
#pragma once
/* Errors in the forms of the APIs. Pure. */

#include <jansson.h>
#include <stdbool.h>

enum reply_api {
    REPLY_OWN,    /* {"error": {"code", "message", "retriable"}} */
    REPLY_FUSION, /* {"detail": MESSAGE} */
    REPLY_PISTON, /* {"message": MESSAGE} */
};

/* NULL for lack of memory. */
json_t *reply_error(enum reply_api api, const char *code, const char *message, bool retriable);

/* The HTTP status for a job that ended in the daemon's error CODE. */
unsigned reply_status(const char *code, bool retriable);
