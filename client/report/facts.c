/* SPDX-License-Identifier: MIT */
#include "facts.h"

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

/* --- cases -------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digest(const char *text, char out[32])
{
    for (size_t i = 0; text && i < 32; i++) {
        int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (char)(16 * high + low);
    }
    return text != NULL;
}

void facts_add_case(struct results *results, uint32_t case_no, const struct line *line)
{
    static const char unknown[32];
    char digest[32];
    char *known = results->case_digests[case_no];
    if (!read_digest(json_string_value(json_object_get(line->run, "case_digest")), digest))
        return;
    if (memcmp(known, unknown, sizeof(unknown)) == 0)
        memcpy(known, digest, sizeof(digest));
    else if (memcmp(known, digest, sizeof(digest)) != 0)
        results->changed_cases++;
}

/* --- the run ------------------------------------------------------------------------------ */

static int put(struct intern *table, const char *text, size_t n)
{
    uint32_t number;
    return table->n < RESULTS_FACTS_MAX ? intern_put(table, text, n, &number) : 0;
}

static int put_rubric(struct results *results, const struct line *line)
{
    const char *digest = json_string_value(json_object_get(line->run, "rubric_digest"));
    char text[300], binary[32];
    if (!read_digest(digest, binary) || !line->task_class)
        return 0;
    int n = snprintf(text, sizeof(text), "%.200s%c%.64s", line->task_class, '\0', digest);
    return put(&results->facts.rubrics, text, (size_t)n);
}

static int put_host(struct results *results, const json_t *host)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!json_is_object(host))
        return 0;
    int r = json_print(host, &text);
    return r < 0 ? r : put(&results->facts.hosts, text.data, text.length);
}

static void note_time(struct results_facts *facts, const struct line *line)
{
    const char *text = json_string_value(json_object_get(line->run, "finished_at"));
    int64_t finished = text ? facts_parse_time(text) : 0;
    if (finished == 0)
        return;
    int64_t took = (line->wall_ms == RESULT_MS_NONE ? 0 : (int64_t)line->wall_ms) +
                   (line->queue_ms == RESULT_MS_NONE ? 0 : (int64_t)line->queue_ms);
    if (facts->started_ms == 0 || finished - took < facts->started_ms)
        facts->started_ms = finished - took;
    facts->finished_ms = MAX(facts->finished_ms, finished);
}

int facts_add(struct results *results, const struct line *line)
{
    const char *version = json_string_value(json_object_get(line->run, "rubricd"));
    note_time(&results->facts, line);
    int r = version ? put(&results->facts.rubricd, version, strnlen(version, 64)) : 0;
    if (r == 0)
        r = put_rubric(results, line);
    return r < 0 ? r : put_host(results, json_object_get(line->run, "host"));
}
