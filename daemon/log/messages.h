/* SPDX-License-Identifier: MIT */
#pragma once
/* The sorts of log entries that a program may look for. Each has a MESSAGE_ID and an explanation in
 * packaging/rubricd.catalog (a test compares the two). */

enum log_message {
    LOG_MESSAGE_NONE, /* no sort */
    LOG_MESSAGE_STARTED,
    LOG_MESSAGE_NOT_STARTED,
    LOG_MESSAGE_RELOADED,
    LOG_MESSAGE_NOT_RELOADED,
    LOG_MESSAGE_ILL,
    LOG_MESSAGE_DRAINING,
    LOG_MESSAGE_GRACE_OVER,
    LOG_MESSAGE_STOPPED,
    LOG_MESSAGE_JOB_VERDICT,
    LOG_MESSAGE_JOB_ERROR,
    LOG_MESSAGE_JAIL_LOST,
    LOG_MESSAGE_JAIL_NOT_STARTED,
    LOG_MESSAGE_ZYGOTE_LOST,
    LOG_MESSAGE_CGROUPS_UNUSABLE,
    LOG_MESSAGE_CGROUP_LEFT,
    LOG_MESSAGE_OUTPUT_HELD,
    LOG_MESSAGE_CLIENT_DISMISSED,
    LOG_MESSAGE_CLIENT_REFUSED,
    LOG_MESSAGE_DROPPED,
    LOG_MESSAGE_SESSION_OPENED,
    LOG_MESSAGE_SESSION_ENDED,
    LOG_MESSAGE_COUNT,
};

/* Returns the MESSAGE_ID, 32 hexadecimal digits; NULL for LOG_MESSAGE_NONE. */
const char *log_message_id(enum log_message message);

/* Returns the sort's name in JSON lines, e.g. "job_verdict". */
const char *log_message_name(enum log_message message);
