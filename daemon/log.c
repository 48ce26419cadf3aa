/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* The journal takes datagrams of up to this size by default; more is taken only from a memfd. */
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
    *log = (struct log){
        .level = level,
        .prefixed = log_stderr_is_journal(),
        .journal_fd = -1,
        .journal_path = JOURNAL_SOCKET,
        .sink = format == CONFIG_LOG_JSON ? LOG_TO_JSON : LOG_TO_PLAIN,
    };
    if (format == CONFIG_LOG_JOURNAL || (format == CONFIG_LOG_AUTO && log->prefixed)) {
        if (access(log->journal_path, F_OK) == 0)
            log->journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (log->journal_fd >= 0)
            log->sink = LOG_TO_JOURNAL;
        else
            log_write(log, LOG_WARNING, "%s: %s: the log goes to stderr", log->journal_path,
                      strerror(errno));
    }
}

void log_deinit(struct log *log)
{
    log_flush(log);
    log->journal_fd = close_fd(log->journal_fd);
}

/* --- stderr -------------------------------------------------------------------------------- */

/* A pipe of which poll() says that it can be written to has room for PIPE_BUF bytes at least; a
 * terminal or a file takes what it is given. Returns how many bytes were taken. */
static size_t write_now(const char *data, size_t n)
{
    size_t written = 0;
    while (written < n) {
        struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
        if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT))
            break;
        size_t most = MIN(n - written, (size_t)PIPE_BUF);
        ssize_t k = send(STDERR_FILENO, data + written, most, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k < 0 && errno == ENOTSOCK)
            k = write(STDERR_FILENO, data + written, most);
        if (k <= 0)
            break;
        written += (size_t)k;
    }
    return written;
}

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

static bool write_line(struct log *log, const struct record *record, bool json)
{
    char line[64 + RECORD_PRINTED_MAX];
    int front = 0;
    if (log->torn)
        line[front++] = '\n';
    if (log->prefixed)
        front += snprintf(line + front, 32, "<%d>", record->level);
    else if (!json)
        front += snprintf(line + front, 32, "rubricd: %s", level_word(record->level));
    size_t n = json ? record_print_json(record, wall_clock_us(), line + front)
                    : record_print_plain(record, line + front);
    n += (size_t)front;
    size_t written = write_now(line, n);
    if (written > 0)
        log->torn = written < n;
    return written == n;
}

/* --- the journal --------------------------------------------------------------------------- */

/* 0, or the errno that says why not. */
static int send_to_journal(const struct log *log, const struct record *record)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char entry[RECORD_PRINTED_MAX];
    size_t n = record_print_journal(record, entry);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", log->journal_path);
    /* By its path each time: a journal that was started again has another socket there. */
    ssize_t sent = sendto(log->journal_fd, entry, n, MSG_DONTWAIT | MSG_NOSIGNAL,
                          (const struct sockaddr *)&address, sizeof(address));
    return sent == (ssize_t)n ? 0 : errno;
}

/* --- entries ------------------------------------------------------------------------------- */

static bool write_entry(struct log *log, const struct record *record)
{
    if (log->sink != LOG_TO_JOURNAL)
        return write_line(log, record, log->sink == LOG_TO_JSON);
    int error = send_to_journal(log, record);
    /* One that is too slow would not read our lines either; one that is gone may have left somebody
     * who does. */
    return error == 0 || (error != EAGAIN && error != ENOBUFS && write_line(log, record, false));
}

void log_flush(struct log *log)
{
    struct record record;
    if (log->untold == 0)
        return;
    record_init(&record, LOG_WARNING, LOG_MESSAGE_DROPPED);
    record_add_number(&record, RECORD_DROPPED, (int64_t)log->untold);
    record_say(&record,
               "%" PRIu64 " log entries were dropped: they came faster than they were read",
               log->untold);
    if (write_entry(log, &record))
        log->untold = 0;
}

void log_record(struct log *log, const struct record *record)
{
    if (!log_wants(log, record->level))
        return;
    log_flush(log);
    /* What comes after a gap is not told before the gap is. */
    if (log->untold > 0 || !write_entry(log, record)) {
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
