/* SPDX-License-Identifier: MIT */
#include "facts.h"
#include "case_digest.h"

#include "proto/printer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- times -------------------------------------------------------------------------------- */

int64_t facts_parse_time(const char *text)
{
    struct tm tm = {.tm_year = 0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!end)
        return 0;
    int64_t ms = (int64_t)timegm(&tm) * 1000;
    int fraction = 0;
    for (int unit = 100; *end == '.' || (unit > 0 && *end >= '0' && *end <= '9'); end++) {
        if (*end == '.')
            continue;
        fraction += unit * (*end - '0');
        unit /= 10;
    }
    return ms + fraction;
}

const char *facts_print_time(int64_t ms, char out[FACTS_TIME_MAX])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || strftime(out, FACTS_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        out[0] = '\0';
    return out;
}

/* --- the run ------------------------------------------------------------------------------ */

static int put(struct intern *table, const char *text, size_t n)
{
    uint32_t number;
    return table->n < FACTS_MAX ? intern_put(table, text, n, &number) : 0;
}

static int put_rubric(struct facts *facts, const struct line *line)
{
    const char *digest = line->rubric_digest;
    struct case_digest binary;
    char text[300];
    if (!line->task_class || !case_digest_read(digest, &binary))
        return 0;
    int n = snprintf(text, sizeof(text), "%.200s%c%.64s", line->task_class, '\0', digest);
    return put(&facts->rubrics, text, (size_t)n);
}

static int put_host(struct facts *facts, const json_t *host)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!json_is_object(host))
        return 0;
    int r = json_print(host, &text);
    return r < 0 ? r : put(&facts->hosts, text.data, text.length);
}

static int64_t known_ms(uint32_t ms)
{
    return ms == LINE_MS_UNKNOWN ? 0 : (int64_t)ms;
}

static void note_time(struct facts *facts, const struct line *line)
{
    const char *text = json_string_value(json_object_get(line->run, "finished_at"));
    int64_t finished = text ? facts_parse_time(text) : 0;
    if (finished == 0)
        return;
    int64_t started = finished - known_ms(line->wall_ms) - known_ms(line->queue_ms);
    if (facts->started_ms == 0 || started < facts->started_ms)
        facts->started_ms = started;
    facts->finished_ms = MAX(facts->finished_ms, finished);
}

int facts_add(struct facts *facts, const struct line *line)
{
    const char *version = json_string_value(json_object_get(line->run, "rubricd"));
    note_time(facts, line);
    int r = version ? put(&facts->rubricd, version, strnlen(version, 64)) : 0;
    if (r == 0)
        r = put_rubric(facts, line);
    return r < 0 ? r : put_host(facts, json_object_get(line->run, "host"));
}

void facts_deinit(struct facts *facts)
{
    intern_deinit(&facts->rubricd);
    intern_deinit(&facts->rubrics);
    intern_deinit(&facts->hosts);
}
