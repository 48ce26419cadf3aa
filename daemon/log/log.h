/* SPDX-License-Identifier: MIT */
#pragma once
/* The room daemon/log. Duty: write the daemon's log, to the journal with its fields, or to stderr
 * as lines for people or as JSON.
 *
 * log.h: the log and its sink. record.h: one entry. messages.h: the sorts of entries with a
 * MESSAGE_ID. writer.h: a descriptor that may not keep up.
 *
 * May include: conf, proto, daemon/base.
 *
 * Invariants:
 *  - Writing never blocks. The log keeps entries that the other end does not take at once and
 *    writes them later. It drops and counts entries beyond its bound, and reports them by an entry
 *    of its own (LOG_MESSAGE_DROPPED).
 *  - Entries keep their order, and one that follows a gap is never written before the gap is
 *    reported.
 *  - Log once, where the decision is made; libraries do not log.
 *  - A MESSAGE_ID that was released never changes its meaning.
 *
 * The room does not use sd_journal_sendv(): its socket blocks when the journal does not keep up,
 * and without a journal it reports success. */

#include "record.h"
#include "writer.h"

#include "conf/config.h"

#include <stdbool.h>
#include <stdint.h>

enum log_sink {
    LOG_TO_PLAIN,
    LOG_TO_JSON,
    LOG_TO_JOURNAL,
};

struct log {
    int level; /* least urgent level that is written */
    enum log_sink sink;
    bool prefixed;         /* stderr goes to the journal, which reads "<N>" as the level */
    struct writer lines;   /* stderr */
    struct writer journal; /* the journal's socket, owned; no descriptor if it is not used */
    uint64_t dropped;      /* entries dropped since the start */
    uint64_t untold;       /* of these, not yet reported */
};

/* Opens the log. LEVEL is a syslog priority. CONFIG_LOG_AUTO selects the journal if stderr is
 * connected to it ($JOURNAL_STREAM, systemd.exec(5)), and plain lines otherwise. If FORMAT asks for
 * a journal that is not there, lines are written instead and the first one says so. LOG must not
 * move. */
void log_init(struct log *log, int level, enum config_log_format format);

/* Changes the least urgent level that is written, a syslog priority. */
static inline void log_set_level(struct log *log, int level)
{
    log->level = level;
}

/* Lets events of BASE write what is kept, until log_detach(). */
void log_attach(struct log *log, struct event_base *base);
void log_detach(struct log *log);

/* Writes what is kept, reports what was dropped, and closes the log. Waits half a second at
 * most. */
void log_deinit(struct log *log);

/* Returns whether stderr is connected to the journal. */
bool log_stderr_is_journal(void);

/* Returns whether an entry of LEVEL would be written. Callers check this before they build a costly
 * entry. */
static inline bool log_wants(const struct log *log, int level)
{
    return level <= log->level;
}

/* Writes RECORD if its level is wanted. */
void log_record(struct log *log, const struct record *record);

/* Writes a sentence without fields. */
_printf_(3, 4) void log_write(struct log *log, int level, const char *format, ...);

/* Writes a sentence of the sort MESSAGE. */
_printf_(4, 5) void log_event(struct log *log, int level, enum log_message message,
                              const char *format, ...);

/* Writes a sentence of the sort MESSAGE about a slot, and about the job in it unless JOB_NO is 0.
 * Puts "slot N: " in front. */
_printf_(6, 7) void log_slot(struct log *log, int level, enum log_message message, unsigned slot,
                             uint64_t job_no, const char *format, ...);

/* Writes what is kept and reports what was dropped, as far as the other end takes it at once.
 * Called from time to time when nothing else is written. */
void log_flush(struct log *log);

/* "plain", "json", "journal" */
const char *log_sink_name(enum log_sink sink);
