/* SPDX-License-Identifier: MIT */
/* Markdown for the summary of a CI job, as GitHub and GitLab show it. Text of results passes
 * put_text(), which leaves Markdown no character to act on, or markup_put() where a line is HTML,
 * or stands in a fence that is longer than any in it. */
#include "evidence.h"
#include "formats.h"
#include "markup.h"

#include "client/terminal/member.h"
#include "client/terminal/text.h"
#include "proto/printable.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* So much of each list is shown: GitHub takes a summary of at most 1 MiB. */
#define CLASSES_SHOWN 100
#define CODES_SHOWN 20
#define FAILURES_SHOWN 50
#define CHANGES_SHOWN 50

static const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

/* --- pieces ------------------------------------------------------------------------------- */

/* Writes N bytes as text in one line. */
static void put_text(FILE *out, const char *text, size_t n)
{
    static const char active[] = "\\`*_{}[]()#+!|~@$:.";
    char shown[PRINTABLE_CHARACTER_MAX];
    for (size_t i = 0; i < n;) {
        i += printable_character(text + i, n - i, PRINTABLE_ESCAPED, shown);
        for (const char *c = shown; *c; c++) {
            if (*c == '&' || *c == '<' || *c == '>')
                (void)fputs(*c == '&' ? "&amp;" : *c == '<' ? "&lt;" : "&gt;", out);
            else
                (void)fprintf(out, "%s%c", strchr(active, *c) ? "\\" : "", *c);
        }
    }
}

static void put_member(FILE *out, const json_t *object, const char *name)
{
    const char *text = member_text(object, name);
    put_text(out, text, strlen(text));
}

static void put_html(FILE *out, const json_t *object, const char *name)
{
    const char *text = member_text(object, name);
    markup_put(out, text, strlen(text));
}

/* Writes a block of code. Its fence has one backtick more than the longest run in TEXT. */
static void put_block(FILE *out, const char *text)
{
    size_t longest = 2, run = 0, n = strlen(text);
    char shown[PRINTABLE_CHARACTER_MAX];
    for (const char *c = text; *c; c++) {
        run = *c == '`' ? run + 1 : 0;
        longest = MAX(longest, run);
    }
    char fence[EVIDENCE_BYTES_MAX + 2];
    size_t width = MIN(longest + 1, sizeof(fence) - 1);
    memset(fence, '`', width);
    fence[width] = '\0';
    (void)fprintf(out, "%stext\n", fence);
    for (size_t i = 0; i < n;) {
        i += printable_character(text + i, n - i, PRINTABLE_KEPT, shown);
        (void)fputs(shown, out);
    }
    (void)fprintf(out, "\n%s\n", fence);
}

static void put_estimate(FILE *out, const json_t *estimate)
{
    const json_t *interval = get(estimate, "interval");
    if (!json_is_number(get(estimate, "mean"))) {
        (void)fputs("none", out);
        return;
    }
    (void)fprintf(out, "%.4f", json_number_value(get(estimate, "mean")));
    if (json_is_string(get(interval, "method")))
        (void)fprintf(out, " (%.4f to %.4f)", json_number_value(get(interval, "low")),
                      json_number_value(get(interval, "high")));
}

static void put_more(FILE *out, size_t n, size_t shown)
{
    if (n > shown)
        (void)fprintf(out, "\nand %zu more\n", n - shown);
}

/* --- the parts ---------------------------------------------------------------------------- */

static void put_totals(FILE *out, const json_t *report)
{
    const json_t *totals = get(report, "totals"), *list = get(report, "pass_at_k");
    (void)fprintf(out,
                  "### %" PRId64 " passed, %" PRId64 " failed, %" PRId64 " without a verdict\n\n",
                  member_integer(totals, "passed"), member_integer(totals, "failed"),
                  member_integer(totals, "errors"));
    if (json_is_true(get(report, "mixed")))
        (void)fputs("**Mixed:** these results are of different populations: a mean over them "
                    "compares nothing.\n\n",
                    out);
    if (formats_crashed(report) > 0)
        (void)fprintf(out,
                      "**Crashed:** of %" PRId64 " of the failed the rubric crashed or wrote no "
                      "score, so the score of 0 says nothing of the answer.\n\n",
                      formats_crashed(report));
    (void)fputs("| | |\n|---|---|\n| mean score | ", out);
    put_estimate(out, get(report, "score"));
    (void)fputs(" |\n| pass rate | ", out);
    put_estimate(out, get(report, "pass_rate"));
    (void)fputs(" |\n", out);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        (void)fprintf(out, "| pass@%" PRId64 " | ", member_integer(item, "k"));
        put_estimate(out, get(item, "estimate"));
        (void)fputs(" |\n", out);
    }
    (void)fprintf(out, "| cases | %" PRId64 " |\n| cost | $%.4f |\n",
                  member_integer(totals, "cases"),
                  json_number_value(get(get(report, "cost_usd"), "total")));
}

static void put_classes(FILE *out, const json_t *classes)
{
    size_t n = json_array_size(classes);
    (void)fputs("\n| task class | passed | failed | errors | score |\n|---|--:|--:|--:|---|\n",
                out);
    for (size_t i = 0; i < MIN(n, (size_t)CLASSES_SHOWN); i++) {
        const json_t *class = json_array_get(classes, i);
        (void)fputs("| ", out);
        put_member(out, class, "task_class");
        (void)fprintf(out, " | %" PRId64 " | %" PRId64 " | %" PRId64 " | ",
                      member_integer(class, "passed"), member_integer(class, "failed"),
                      member_integer(class, "errors"));
        put_estimate(out, get(class, "score"));
        (void)fputs(" |\n", out);
    }
    put_more(out, n, CLASSES_SHOWN);
}

static void put_codes(FILE *out, const char *heading, const json_t *codes)
{
    size_t n = json_array_size(codes);
    if (n == 0)
        return;
    (void)fprintf(out, "\n| %s | results | first |\n|---|--:|---|\n", heading);
    for (size_t i = 0; i < MIN(n, (size_t)CODES_SHOWN); i++) {
        const json_t *code = json_array_get(codes, i);
        const json_t *first = json_array_get(get(code, "examples"), 0);
        (void)fputs("| ", out);
        put_member(out, code, "code");
        (void)fprintf(out, " | %" PRId64 " | ", member_integer(code, "count"));
        if (first)
            put_member(out, first, "id");
        (void)fputs(" |\n", out);
    }
    put_more(out, n, CODES_SHOWN);
}

static void put_failure(FILE *out, const json_t *failure)
{
    const char *detail = json_string_value(get(failure, "detail")),
               *output = json_string_value(get(failure, "output"));
    /* A block of HTML, up to the blank line, where Markdown's own escapes mean nothing. */
    (void)fputs("\n<details><summary>", out);
    put_html(out, failure, "id");
    (void)fputs(": ", out);
    put_html(out, failure, "codes");
    (void)fputs("</summary>\n\n", out);
    if (detail && !evidence_replaces(detail, output)) {
        put_text(out, detail, strlen(detail));
        (void)fputs("\n\n", out);
    }
    if (output)
        put_block(out, output);
    (void)fputs("\n</details>\n", out);
}

static void put_failures(FILE *out, const json_t *failures)
{
    const json_t *shown = get(failures, "shown");
    size_t n = json_array_size(shown), total = (size_t)member_integer(failures, "total");
    if (n == 0)
        return;
    (void)fputs("\n#### Failed\n", out);
    for (size_t i = 0; i < MIN(n, (size_t)FAILURES_SHOWN); i++)
        put_failure(out, json_array_get(shown, i));
    put_more(out, total, MIN(n, (size_t)FAILURES_SHOWN));
}

static void put_changes(FILE *out, const char *heading, const json_t *changes)
{
    const json_t *shown = get(changes, "shown");
    size_t n = MIN(json_array_size(shown), (size_t)CHANGES_SHOWN);
    if (n == 0)
        return;
    (void)fprintf(out, "\n| %s | before | now |\n|---|--:|--:|\n", heading);
    for (size_t i = 0; i < n; i++) {
        const json_t *change = json_array_get(shown, i);
        (void)fputs("| ", out);
        put_member(out, change, "id");
        (void)fprintf(out, " | %.2f | %.2f |\n", json_number_value(get(change, "before")),
                      json_number_value(get(change, "after")));
    }
    put_more(out, (size_t)member_integer(changes, "total"), n);
}

static void put_changed_rubrics(FILE *out, const json_t *classes)
{
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *class = json_array_get(classes, i);
        (void)fputs("**The rubric of ", out);
        put_text(out, json_string_value(class), json_string_length(class));
        (void)fputs(" has changed.**\n\n", out);
    }
}

static void put_against(FILE *out, const json_t *against)
{
    const json_t *score = get(against, "score_difference"), *interval = get(score, "interval");
    if (!json_is_object(against))
        return;
    (void)fputs("\n#### Against the other run\n\n", out);
    if (!json_is_true(get(against, "comparable")))
        (void)fputs("**Not comparable:** the jobs of the two runs were isolated in different "
                    "ways.\n\n",
                    out);
    put_changed_rubrics(out, get(against, "changed_rubrics"));
    (void)fprintf(out, "%" PRId64 " cases in both; mean score ",
                  member_integer(against, "paired_cases"));
    if (json_is_number(get(score, "mean")))
        (void)fprintf(out, "%+.4f", json_number_value(get(score, "mean")));
    else
        (void)fputs("unknown", out);
    if (json_is_string(get(interval, "method")))
        (void)fprintf(out, " (%+.4f to %+.4f)", json_number_value(get(interval, "low")),
                      json_number_value(get(interval, "high")));
    (void)fputs(".\n", out);
    put_changes(out, "regression", get(against, "regressions"));
    put_changes(out, "improvement", get(against, "improvements"));
}

int format_markdown(FILE *out, const struct report_view *view)
{
    const json_t *report = view->report;
    put_totals(out, report);
    put_against(out, get(report, "against"));
    put_failures(out, get(report, "failures"));
    put_codes(out, "error", get(report, "errors"));
    put_codes(out, "failure mode", get(report, "failure_modes"));
    put_classes(out, get(report, "classes"));
    return 0;
}
