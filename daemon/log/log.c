/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* How long to wait for the other end when the program ends. */
#define LAST_WORDS_MS 500

/* The journal accepts datagrams up to this size by default; larger entries would need a memfd. */
_Static_assert(RECORD_PRINTED_MAX < 200 << 10, "an entry fits into a datagram");

bool log_stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char ours[64];
    struct stat st;
    if (!stream || fstat(STDERR_FILENO, &st) < 0)
        return false;
    (void)snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, ours) == 0;
}

const char *log_sink_name(enum log_sink sink)
{
    static const char *const names[] = {
        [LOG_TO_PLAIN] = "plain", [LOG_TO_JSON] = "json", [LOG_TO_JOURNAL] = "journal"};
    return names[sink];
}

void log_init(struct log *log, int level, enum config_log_format format)
{
    int fd = -1;
    *log = (struct log){
        .level = level,
        .prefixed = log_stderr_is_journal(),
        .sink = format == CONFIG_LOG_JSON ? LOG_TO_JSON : LOG_TO_PLAIN,
    };
    bool wanted = format == CONFIG_LOG_JOURNAL || (format == CONFIG_LOG_AUTO && log->prefixed);
    if (wanted && access(JOURNAL_SOCKET, F_OK) == 0)
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = errno;
    writer_init(&log->lines, STDERR_FILENO, NULL);
    writer_init(&log->journal, fd, JOURNAL_SOCKET);
    if (fd >= 0)
        log->sink = LOG_TO_JOURNAL;
    else if (wanted)
        log_write(log, LOG_WARNING, "%s: %s: the log goes to stderr", JOURNAL_SOCKET,
                  strerror(error));
}

void log_attach(struct log *log, struct event_base *base)
{
    writer_attach(&log->lines, base);
    writer_attach(&log->journal, base);
}

void log_detach(struct log *log)
{
    writer_detach(&log->lines);
    writer_detach(&log->journal);
}

void log_deinit(struct log *log)
{
    log_flush(log);
    writer_finish(log->sink == LOG_TO_JOURNAL ? &log->journal : &log->lines, LAST_WORDS_MS);
    writer_deinit(&log->lines);
    writer_deinit(&log->journal);
    log->journal.fd = close_fd(log->journal.fd);
}

/* --- entries ------------------------------------------------------------------------------- */

static const char *level_word(int level)
{
    switch (level) {
    case LOG_ERR:
        return "error: ";
    case LOG_WARNING:
        return "warning: ";
    case LOG_DEBUG:
        return "debug: ";
    default:
        return "";
    }
}

static uint64_t wall_clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int put_line(struct log *log, const struct record *record, bool json)
{
    char line[64 + RECORD_PRINTED_MAX];
    int front = 0;
    if (log->prefixed)
        front = snprintf(line, 32, "<%d>", record->level);
    else if (!json)
        front = snprintf(line, 32, "rubricd: %s", level_word(record->level));
    size_t n = json ? record_print_json(record, wall_clock_us(), line + front)
                    : record_print_plain(record, line + front);
    return writer_put(&log->lines, line, n + (size_t)front);
}

static int put_entry(struct log *log, const struct record *record)
{
    char entry[RECORD_PRINTED_MAX];
    if (log->sink != LOG_TO_JOURNAL)
        return put_line(log, record, log->sink == LOG_TO_JSON);
    int r = writer_put(&log->journal, entry, record_print_journal(record, entry));
    /* If the journal is gone, somebody may still read lines. */
    return r < 0 && r != -ENOBUFS ? put_line(log, record, false) : r;
}

void log_flush(struct log *log)
{
    struct record record;
    (void)writer_flush(&log->lines);
    (void)writer_flush(&log->journal);
    const struct writer *writer = log->sink == LOG_TO_JOURNAL ? &log->journal : &log->lines;
    /* One report per gap: wait until there is room for more than the report. */
    if (log->untold == 0 || writer->kept_bytes > WRITER_KEPT_MAX / 2)
        return;
    record_init(&record, LOG_WARNING, LOG_MESSAGE_DROPPED);
    record_add_number(&record, RECORD_DROPPED, (int64_t)log->untold);
    record_say(&record, "%" PRIu64 " log %s dropped: they came faster than they were read",
               log->untold, log->untold == 1 ? "entry was" : "entries were");
    if (put_entry(log, &record) == 0)
        log->untold = 0;
}

void log_record(struct log *log, const struct record *record)
{
    if (!log_wants(log, record->level))
        return;
    log_flush(log);
    /* After a gap, write nothing before the gap is reported. */
    if (log->untold > 0 || put_entry(log, record) < 0) {
        log->dropped++;
        log->untold++;
    }
}

_printf_(3, 0) static void say(struct log *log, struct record *record, const char *format,
                               va_list args)
{
    char text[RECORD_MESSAGE_MAX];
    (void)vsnprintf(text, sizeof(text), format, args);
    record_say(record, "%s", text);
    log_record(log, record);
}

void log_write(struct log *log, int level, const char *format, ...)
{
    struct record record;
    va_list args;
    if (!log_wants(log, level))
        return;
    record_init(&record, level, LOG_MESSAGE_NONE);
    va_start(args, format);
    say(log, &record, format, args);
    va_end(args);
}

void log_event(struct log *log, int level, enum log_message message, const char *format, ...)
{
    struct record record;
    va_list args;
    if (!log_wants(log, level))
        return;
    record_init(&record, level, message);
    va_start(args, format);
    say(log, &record, format, args);
    va_end(args);
}

void log_slot(struct log *log, int level, enum log_message message, unsigned slot, uint64_t job_no,
              const char *format, ...)
{
    struct record record;
    char text[RECORD_MESSAGE_MAX];
    va_list args;
    if (!log_wants(log, level))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    record_init(&record, level, message);
    record_add_number(&record, RECORD_SLOT, slot);
    if (job_no > 0)
        record_add_number(&record, RECORD_JOB_NO, (int64_t)job_no);
    record_say(&record, "slot %u: %s", slot, text);
    log_record(log, &record);
}
