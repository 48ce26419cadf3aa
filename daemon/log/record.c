/* SPDX-License-Identifier: MIT */
#include "record.h"

#include "proto/printable.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define JOURNAL_PREFIX "RUBRIC_"

static const struct {
    const char *name;
    size_t text_max; /* maximum bytes, printable, with the NUL; 0: a number */
    bool lines_kept;
    bool in_plain; /* printed in plain lines, because the sentence does not mention it */
} fields[RECORD_FIELDS] = {
    [RECORD_JOB_ID] = {.name = "job_id", .text_max = 768},
    [RECORD_JOB_NO] = {.name = "job_no"},
    [RECORD_KIND] = {.name = "kind", .text_max = 32, .in_plain = true},
    [RECORD_LABEL] = {.name = "label", .text_max = 512},
    [RECORD_TASK_CLASS] = {.name = "task_class", .text_max = 512},
    [RECORD_VERDICT] = {.name = "verdict", .text_max = 32},
    [RECORD_SCORE] = {.name = "score"},
    [RECORD_FAILURE_MODE] = {.name = "failure_mode", .text_max = 256},
    [RECORD_LIMIT] = {.name = "limit", .text_max = 32, .in_plain = true},
    [RECORD_ERROR] = {.name = "error", .text_max = 32},
    [RECORD_SLOT] = {.name = "slot", .in_plain = true},
    [RECORD_WALL_CLOCK_MS] = {.name = "wall_clock_ms"},
    [RECORD_CPU_MS] = {.name = "cpu_ms", .in_plain = true},
    [RECORD_CPU_WAIT_MS] = {.name = "cpu_wait_ms", .in_plain = true},
    [RECORD_MAX_RSS_BYTES] = {.name = "max_rss_bytes", .in_plain = true},
    [RECORD_QUEUE_MS] = {.name = "queue_ms", .in_plain = true},
    [RECORD_CLIENT_NO] = {.name = "client_no"},
    [RECORD_PEER_UID] = {.name = "peer_uid"},
    [RECORD_PEER_GID] = {.name = "peer_gid"},
    [RECORD_PEER_PID] = {.name = "peer_pid"},
    [RECORD_ISOLATION_DIGEST] = {.name = "isolation_digest", .text_max = 65},
    [RECORD_STDERR] = {.name = "stderr", .text_max = 4096, .lines_kept = true},
    [RECORD_VERSION] = {.name = "version", .text_max = 64},
    [RECORD_DROPPED] = {.name = "dropped"},
};

const char *record_field_name(enum record_field field)
{
    return fields[field].name;
}

/* --- building one -------------------------------------------------------------------------- */

void record_init(struct record *record, int level, enum log_message message)
{
    record->level = level;
    record->message = message;
    record->sentence_length = record->text_length = 0;
    record->sentence[0] = '\0';
    memset(record->values, 0, sizeof(record->values));
}

void record_add_number(struct record *record, enum record_field field, int64_t number)
{
    assert(field < RECORD_FIELDS && fields[field].text_max == 0);
    record->values[field] = (struct record_value){.type = RECORD_NUMBER, .number = number};
}

void record_add_real(struct record *record, enum record_field field, double real)
{
    assert(field < RECORD_FIELDS && fields[field].text_max == 0);
    record->values[field] = (struct record_value){.type = RECORD_REAL, .real = real};
}

void record_add_bytes(struct record *record, enum record_field field, const char *bytes, size_t n)
{
    assert(field < RECORD_FIELDS && record->text_length <= sizeof(record->text));
    size_t room = MIN(sizeof(record->text) - record->text_length, fields[field].text_max);
    if (room == 0)
        return;
    size_t length =
        printable(bytes, n, fields[field].lines_kept ? PRINTABLE_KEPT : PRINTABLE_ESCAPED,
                  record->text + record->text_length, room);
    record->values[field] = (struct record_value){
        .type = RECORD_TEXT,
        .offset = (uint16_t)record->text_length,
        .length = (uint16_t)length,
    };
    record->text_length += length + 1;
}

void record_add_text(struct record *record, enum record_field field, const char *text)
{
    if (text)
        record_add_bytes(record, field, text, strlen(text));
}

const char *record_text(const struct record *record, enum record_field field)
{
    const struct record_value *value = &record->values[field];
    return value->type == RECORD_TEXT ? record->text + value->offset : "";
}

void record_say(struct record *record, const char *format, ...)
{
    char raw[RECORD_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    record->sentence_length =
        printable(raw, MIN((size_t)MAX(n, 0), sizeof(raw) - 1), PRINTABLE_JOINED, record->sentence,
                  sizeof(record->sentence));
}

/* --- writing one --------------------------------------------------------------------------- */

/* A bounded output buffer. RECORD_PRINTED_MAX is enough for any record; still, put() drops what
 * exceeds it. */
struct printed {
    char *out;
    size_t length;
};

static void put(struct printed *to, const void *data, size_t n)
{
    n = MIN(n, RECORD_PRINTED_MAX - to->length);
    memcpy(to->out + to->length, data, n);
    to->length += n;
}

static void put_text(struct printed *to, const char *text)
{
    put(to, text, strlen(text));
}

_printf_(2, 3) static void put_format(struct printed *to, const char *format, ...)
{
    char text[96];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_text(to, text);
}

static void put_number(struct printed *to, const struct record_value *value)
{
    if (value->type == RECORD_NUMBER)
        put_format(to, "%" PRId64, value->number);
    else
        put_format(to, "%.15g", value->real);
}

/* A value that contains line feeds is preceded by its length. */
static void put_journal_text(struct printed *to, const char *name, const char *text, size_t n)
{
    uint64_t length = htole64(n);
    put_text(to, name);
    if (memchr(text, '\n', n)) {
        put(to, "\n", 1);
        put(to, &length, sizeof(length));
    } else {
        put(to, "=", 1);
    }
    put(to, text, n);
    put(to, "\n", 1);
}

static void journal_name(enum record_field field, char name[64])
{
    (void)snprintf(name, 64, JOURNAL_PREFIX "%s", fields[field].name);
    for (char *p = name; *p; p++)
        *p = (char)toupper((unsigned char)*p);
}

size_t record_print_journal(const struct record *record, char *out)
{
    struct printed to = {.out = out};
    put_journal_text(&to, "MESSAGE", record->sentence, record->sentence_length);
    put_format(&to, "PRIORITY=%d\nSYSLOG_IDENTIFIER=rubricd\n", record->level);
    if (record->message != LOG_MESSAGE_NONE)
        put_format(&to, "MESSAGE_ID=%s\n", log_message_id(record->message));
    for (enum record_field field = 0; field < RECORD_FIELDS; field++) {
        const struct record_value *value = &record->values[field];
        char name[64];
        if (value->type == RECORD_ABSENT)
            continue;
        journal_name(field, name);
        if (value->type == RECORD_TEXT) {
            put_journal_text(&to, name, record->text + value->offset, value->length);
        } else {
            put_format(&to, "%s=", name);
            put_number(&to, value);
            put(&to, "\n", 1);
        }
    }
    return to.length;
}

/* Printable text contains no control characters but line feeds and tabs. */
static void put_quoted(struct printed *to, const char *text, size_t n)
{
    put(to, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            put(to, "\\", 1);
        if (text[i] == '\n')
            put_text(to, "\\n");
        else if (text[i] == '\t')
            put_text(to, "\\t");
        else
            put(to, text + i, 1);
    }
    put(to, "\"", 1);
}

static const char *level_name(int level)
{
    static const char *const names[] = {"emergency", "alert",  "critical", "error",
                                        "warning",   "notice", "info",     "debug"};
    return names[level & 7];
}

static void put_value(struct printed *to, const struct record *record,
                      const struct record_value *value)
{
    if (value->type == RECORD_TEXT)
        put_quoted(to, record->text + value->offset, value->length);
    else
        put_number(to, value);
}

size_t record_print_json(const struct record *record, uint64_t now_us, char *out)
{
    struct printed to = {.out = out};
    time_t seconds = (time_t)(now_us / 1000000);
    struct tm utc;
    char date[32] = "";
    if (gmtime_r(&seconds, &utc))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
    put_format(&to, "{\"time\":\"%s.%06uZ\",\"level\":\"%s\",\"message\":", date,
               (unsigned)(now_us % 1000000), level_name(record->level));
    put_quoted(&to, record->sentence, record->sentence_length);
    if (record->message != LOG_MESSAGE_NONE) {
        put_format(&to, ",\"event\":\"%s\"", log_message_name(record->message));
        put_format(&to, ",\"message_id\":\"%s\"", log_message_id(record->message));
    }
    for (enum record_field field = 0; field < RECORD_FIELDS; field++) {
        if (record->values[field].type == RECORD_ABSENT)
            continue;
        put_format(&to, ",\"%s\":", fields[field].name);
        put_value(&to, record, &record->values[field]);
    }
    put_text(&to, "}\n");
    return to.length;
}

size_t record_print_plain(const struct record *record, char *out)
{
    struct printed to = {.out = out};
    const char *between = " [";
    put(&to, record->sentence, record->sentence_length);
    for (enum record_field field = 0; field < RECORD_FIELDS; field++) {
        const struct record_value *value = &record->values[field];
        if (value->type == RECORD_ABSENT || !fields[field].in_plain)
            continue;
        put_format(&to, "%s%s=", between, fields[field].name);
        if (value->type == RECORD_TEXT)
            put(&to, record->text + value->offset, value->length);
        else
            put_number(&to, value);
        between = " ";
    }
    put_text(&to, *between == ' ' && between[1] == '\0' ? "]\n" : "\n");
    return to.length;
}
