/* SPDX-License-Identifier: MIT */
#pragma once
/* One entry of the log: a sentence for people and fields for programs. One table of fields serves
 * the journal, JSON lines and plain lines. Pure. */

#include "messages.h"

#include "proto/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h> /* LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG */

/* Each field is RUBRIC_<NAME> in the journal and <name> in a JSON line. */
enum record_field {
    RECORD_JOB_ID, /* the client's, escaped */
    RECORD_JOB_NO,
    RECORD_KIND,
    RECORD_LABEL, /* job_describe() */
    RECORD_TASK_CLASS,
    RECORD_VERDICT, /* passed, failed, unscored */
    RECORD_SCORE,
    RECORD_FAILURE_MODE,
    RECORD_LIMIT,
    RECORD_ERROR,
    RECORD_SLOT,
    RECORD_WALL_CLOCK_MS,
    RECORD_CPU_MS,
    RECORD_CPU_WAIT_MS,
    RECORD_MAX_RSS_BYTES,
    RECORD_QUEUE_MS,
    RECORD_CLIENT_NO,
    RECORD_PEER_UID,
    RECORD_PEER_GID,
    RECORD_PEER_PID,
    RECORD_ISOLATION_DIGEST,
    RECORD_STDERR, /* beginning of a failed program's stderr, with its line breaks */
    RECORD_VERSION,
    RECORD_DROPPED,
    RECORD_FIELDS,
};

/* Bytes of the sentence, and of all text fields together. */
#define RECORD_MESSAGE_MAX 4096
#define RECORD_TEXT_MAX 8192

/* No printed entry is longer in any form; JSON grows most, by escaping quotation marks. */
#define RECORD_PRINTED_MAX 32768

struct record_value {
    enum { RECORD_ABSENT, RECORD_NUMBER, RECORD_REAL, RECORD_TEXT } type;
    union {
        int64_t number;
        double real;
        struct {
            uint16_t offset, length; /* in `text` */
        };
    };
};

struct record {
    int level; /* a syslog priority */
    enum log_message message;
    size_t sentence_length, text_length;
    struct record_value values[RECORD_FIELDS];
    char sentence[RECORD_MESSAGE_MAX];
    char text[RECORD_TEXT_MAX];
};

/* Empties RECORD: no sentence, no fields. */
void record_init(struct record *record, int level, enum log_message message);

/* Set a field that the table declares a number. */
void record_add_number(struct record *record, enum record_field field, int64_t number);
void record_add_real(struct record *record, enum record_field field, double real);

/* Sets a text field to N arbitrary bytes, made printable and cut to the field's maximum. */
void record_add_bytes(struct record *record, enum record_field field, const char *bytes, size_t n);

/* Sets a text field to TEXT; does nothing if TEXT is NULL. */
void record_add_text(struct record *record, enum record_field field, const char *text);

/* Returns the field's text as it was added; "" if it was not. */
const char *record_text(const struct record *record, enum record_field field);

/* Sets the sentence; replaces line breaks and control characters. */
_printf_(2, 3) void record_say(struct record *record, const char *format, ...);

/* The following print RECORD into OUT (RECORD_PRINTED_MAX bytes) and return the length. */

/* As a datagram of the journal's native protocol. */
size_t record_print_journal(const struct record *record, char *out);

/* As a JSON object and a line feed. NOW_US: microseconds since the epoch. */
size_t record_print_json(const struct record *record, uint64_t now_us, char *out);

/* As the sentence, then [name=value ...] for the fields that it does not mention, and a line
 * feed. */
size_t record_print_plain(const struct record *record, char *out);

/* Returns the field's name in JSON lines. Fields count from 0 to RECORD_FIELDS - 1. */
const char *record_field_name(enum record_field field);
