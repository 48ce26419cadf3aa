/* SPDX-License-Identifier: MIT */
#pragma once
/* Where the log goes: to the journal with its fields, or to stderr as lines for people or as JSON.
 * Writing never waits: what is not taken at once is kept and written later; what there is no room
 * for is dropped, counted, and told of. Log once, where the decision is made.
 *
 * Not sd_journal_sendv(): its socket blocks when the journal does not keep up, and without a
 * journal it says that all is well. */

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
    int level; /* the least urgent that is written */
    enum log_sink sink;
    bool prefixed;         /* stderr goes to the journal, which takes "<N>" for the level */
    struct writer lines;   /* stderr */
    struct writer journal; /* its socket, owned; without a descriptor where it is not used */
    uint64_t dropped;      /* since the start */
    uint64_t untold;       /* of these */
};

/* LEVEL is a syslog priority. CONFIG_LOG_AUTO is the journal where stderr is connected to it (see
 * $JOURNAL_STREAM in systemd.exec(5)), and plain lines elsewhere. Where the journal is asked for
 * and not there, lines are written and the first one says so. LOG must not move. */
void log_init(struct log *log, int level, enum config_log_format format);

/* From here on what is kept is written by events of BASE; until log_detach(). */
void log_attach(struct log *log, struct event_base *base);
void log_detach(struct log *log);

/* Writes what is kept, and tells what was dropped, if that can be had within half a second. */
void log_deinit(struct log *log);

/* Whether stderr is connected to the journal. */
bool log_stderr_is_journal(void);

/* Whether an entry of LEVEL is written: where putting it together is not for nothing. */
static inline bool log_wants(const struct log *log, int level)
{
    return level <= log->level;
}

void log_record(struct log *log, const struct record *record);

/* A sentence alone. */
_printf_(3, 4) void log_write(struct log *log, int level, const char *format, ...);

/* One of a sort. */
_printf_(4, 5) void log_event(struct log *log, int level, enum log_message message,
                              const char *format, ...);

/* The same about a slot, and the job in it unless JOB_NO is 0. "slot N: " is put in front. */
_printf_(6, 7) void log_slot(struct log *log, int level, enum log_message message, unsigned slot,
                             uint64_t job_no, const char *format, ...);

/* Writes what is kept and tells what was dropped, as far as that is taken at once. For now and
 * then, when nothing else is written. */
void log_flush(struct log *log);

/* "plain", "json", "journal" */
const char *log_sink_name(enum log_sink sink);
