/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a job wrote may be part of a line: it must stay one line. */
#define LINE_MAX_BYTES 4096

void log_init(struct log *log, int level)
{
    *log = (struct log){.level = level, .prefixed = getenv("JOURNAL_STREAM") != NULL};
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

void log_write(const struct log *log, int level, const char *format, ...)
{
    if (!log_wants(log, level))
        return;
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7F)
            *p = ' ';
    if (log->prefixed)
        (void)fprintf(stderr, "<%d>%s\n", level, line);
    else
        (void)fprintf(stderr, "rubricd: %s%s\n", level_word(level), line);
}
