/* SPDX-License-Identifier: MIT */
#include "evidence.h"
#include "formats.h"
#include "listing.h"

#include "client/terminal/member.h"
#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

#define LABEL_COLUMNS 11
/* On a narrower terminal the parts of a row go on lines of their own. */
#define WIDE_COLUMNS 64
#define MODES_SHOWN 12
#define CHANGES_SHOWN 10
/* Of what a job wrote. */
#define TAIL_LINES 6
#define TAIL_INDENT 12

#define BOLD "1"
#define YELLOW "33"

struct page {
    FILE *out;
    size_t columns;
    bool colour;
    const json_t *report;
};

/* --- pieces ------------------------------------------------------------------------------- */

static const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static void put_coloured(const struct page *page, const char *code, const char *text)
{
    text_put_coloured(page->out, page->colour ? code : NULL, text);
}

/* Writes "label      text", broken into lines. */
_printf_(3, 4) static void put_field(const struct page *page, const char *label, const char *format,
                                     ...)
{
    va_list args;
    (void)fprintf(page->out, "%-*s", LABEL_COLUMNS, label);
    va_start(args, format);
    text_vput_wrapped(page->out, LABEL_COLUMNS, page->columns - 1, format, args);
    va_end(args);
}

static void put_heading(const struct page *page, const char *heading)
{
    (void)fputc('\n', page->out);
    put_coloured(page, BOLD, heading);
    (void)fputc('\n', page->out);
}

/* --- the numbers -------------------------------------------------------------------------- */

static const char *method_in_words(const char *method)
{
    return strcmp(method, "bca") == 0      ? "BCa"
           : strcmp(method, "wilson") == 0 ? "Wilson"
                                           : "percentile";
}

static double level(const struct page *page)
{
    const json_t *bootstrap = get(get(page->report, "reproducibility"), "bootstrap");
    return json_number_value(get(bootstrap, "confidence"));
}

/* Writes "0.5331, BCa 95% 0.4679 to 0.5975" into OUT, or "none". */
static void describe_estimate(const struct page *page, const json_t *estimate, char *out,
                              size_t size)
{
    const json_t *interval = get(estimate, "interval");
    const char *why_not = json_string_value(get(interval, "why_not"));
    if (json_is_null(get(estimate, "mean"))) {
        (void)snprintf(out, size, "none");
        return;
    }
    size_t n = (size_t)snprintf(out, size, "%.4f", json_number_value(get(estimate, "mean")));
    if (json_is_string(get(interval, "method")))
        n += (size_t)snprintf(out + n, size - n, ", %s %g%% %.4f to %.4f",
                              method_in_words(member_text(interval, "method")), 100 * level(page),
                              json_number_value(get(interval, "low")),
                              json_number_value(get(interval, "high")));
    if (why_not)
        (void)snprintf(out + n, size - n, "; BCa is undefined: %s", why_not);
}

static void put_estimate(const struct page *page, const char *label, const json_t *estimate)
{
    char text[512];
    describe_estimate(page, estimate, text, sizeof(text));
    put_field(page, label, "%s", text);
}

static void put_totals(const struct page *page)
{
    const json_t *totals = get(page->report, "totals");
    int64_t errors = member_integer(totals, "errors");
    put_field(page, "cases", "%" PRId64 ", graded %" PRId64 " time%s",
              member_integer(totals, "cases"), member_integer(totals, "results"),
              text_plural((uint64_t)member_integer(totals, "results")));
    put_field(page, "verdicts", "%" PRId64 " passed, %" PRId64 " failed",
              member_integer(totals, "passed"), member_integer(totals, "failed"));
    if (formats_crashed(page->report) > 0)
        put_field(page, "crashed",
                  "%" PRId64
                  " of the failed: the rubric crashed or wrote no score, so the score of "
                  "0 says nothing of the answer",
                  formats_crashed(page->report));
    if (errors > 0)
        put_field(page, "errors",
                  "%" PRId64
                  " without a verdict, which count neither as passed nor as failed; %" PRId64
                  " case%s no verdict at all",
                  errors, member_integer(totals, "cases_without_verdict"),
                  member_integer(totals, "cases_without_verdict") == 1 ? " has" : "s have");
    if (member_integer(totals, "without_score") > 0)
        put_field(page, "no score",
                  "%" PRId64 " verdicts have none; the mean score leaves them out",
                  member_integer(totals, "without_score"));
    if (member_integer(totals, "earlier_attempts") > 0)
        put_field(page, "attempts", "%" PRId64 " earlier, which do not count",
                  member_integer(totals, "earlier_attempts"));
    if (member_integer(totals, "replaced") > 0)
        put_field(page, "repeated",
                  "%" PRId64 " replaced by later lines of their file with the same id",
                  member_integer(totals, "replaced"));
}

static void put_pass_at_k(const struct page *page, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        char label[32];
        (void)snprintf(label, sizeof(label), "pass@%" PRId64, member_integer(item, "k"));
        if (json_is_null(get(item, "estimate")))
            put_field(page, label, "not computed: %" PRId64 " cases have fewer samples",
                      member_integer(item, "too_few_samples"));
        else
            put_estimate(page, label, get(item, "estimate"));
    }
}

static void put_scores(const struct page *page)
{
    const json_t *report = page->report;
    const json_t *stability = get(report, "stability");
    const json_t *bootstrap = get(get(report, "reproducibility"), "bootstrap");
    int64_t several = member_integer(stability, "cases_with_samples");
    (void)fputc('\n', page->out);
    put_estimate(page, "score", get(report, "score"));
    put_estimate(page, "pass rate", get(report, "pass_rate"));
    put_pass_at_k(page, get(report, "pass_at_k"));
    put_field(page, "",
              "means over cases, bootstrapped with %" PRId64 " resamples, seed %" PRId64 "%s",
              member_integer(bootstrap, "resamples"), member_integer(bootstrap, "seed"),
              several > 0 ? "; a case counts once, with the mean of its samples: cases are "
                            "resampled, not samples"
                          : "");
    if (several > 0)
        put_field(page, "stability",
                  "%" PRId64 " of %" PRId64 " cases with several samples have differing verdicts",
                  member_integer(stability, "flaky_cases"), several);
}

/* --- classes ------------------------------------------------------------------------------ */

static void put_class(const struct page *page, const json_t *class)
{
    const json_t *score = get(class, "score"), *interval = get(score, "interval");
    char mean[32] = "none", range[64] = "", counts[64];
    if (json_is_number(get(score, "mean")))
        (void)snprintf(mean, sizeof(mean), "%.4f", json_number_value(get(score, "mean")));
    if (json_is_string(get(interval, "method")))
        (void)snprintf(range, sizeof(range), "%.4f to %.4f%s",
                       json_number_value(get(interval, "low")),
                       json_number_value(get(interval, "high")),
                       strcmp(member_text(interval, "method"), "bca") == 0      ? ""
                       : strcmp(member_text(interval, "method"), "wilson") == 0 ? " W"
                                                                                : " P");
    int64_t failed = member_integer(class, "failed"), errors = member_integer(class, "errors");
    (void)snprintf(counts, sizeof(counts), "%" PRId64 "/%" PRId64, member_integer(class, "passed"),
                   member_integer(class, "passed") + failed);
    bool wide = page->columns >= WIDE_COLUMNS;
    (void)fputs("  ", page->out);
    if (wide)
        text_put_cell(page->out, member_text(class, "task_class"), page->columns - 52);
    else
        (void)text_put_fit(page->out, member_text(class, "task_class"), page->columns - 3);
    (void)fprintf(page->out, "%s%9s  %6s%s%s", wide ? " " : "\n  ", counts, mean,
                  *range ? "  " : "", range);
    if (errors > 0)
        (void)fprintf(page->out, "%s%" PRId64 " error%s", wide ? ", " : "\n    ", errors,
                      text_plural((uint64_t)errors));
    (void)fputc('\n', page->out);
}

static bool uses_method(const json_t *classes, const char *method)
{
    for (size_t i = 0; i < json_array_size(classes); i++)
        if (strcmp(member_text(get(get(json_array_get(classes, i), "score"), "interval"), "method"),
                   method) == 0)
            return true;
    return false;
}

static void put_classes(const struct page *page)
{
    const json_t *classes = get(page->report, "classes");
    char heading[64];
    (void)snprintf(heading, sizeof(heading), "%zu class%s: passed, score, interval",
                   json_array_size(classes), json_array_size(classes) == 1 ? "" : "es");
    put_heading(page, heading);
    for (size_t i = 0; i < json_array_size(classes); i++)
        put_class(page, json_array_get(classes, i));
    if (uses_method(classes, "wilson"))
        text_put_wrapped(page->out, "W: Wilson's interval, because BCa is undefined", 0, 0,
                         page->columns - 1);
    if (uses_method(classes, "percentile"))
        text_put_wrapped(page->out, "P: percentile interval, because BCa is undefined", 0, 0,
                         page->columns - 1);
}

/* --- what went wrong ---------------------------------------------------------------------- */

/* Writes a few lines of OUTPUT: the first if IS_HEAD, else the last. */
static void put_lines(const struct page *page, const char *output, bool is_head)
{
    size_t n;
    const char *tail =
        is_head ? output : text_tail(output, strlen(output), TAIL_LINES, strlen(output), &n);
    for (size_t lines = 0; tail && *tail && lines < TAIL_LINES; lines++) {
        size_t length = strcspn(tail, "\n");
        _cleanup_free_ char *line = strndup(tail, length);
        (void)fprintf(page->out, "%*s", TAIL_INDENT, "");
        (void)text_put_fit(page->out, line, page->columns - TAIL_INDENT - 1);
        (void)fputc('\n', page->out);
        tail += length + (tail[length] == '\n');
    }
}

static void put_example(const struct page *page, const char *code, const json_t *example)
{
    /* Compilers name the cause first, and programs last. */
    bool is_head = strcmp(code, "program.compile_error") == 0;
    const char *detail = json_string_value(get(example, "detail")),
               *output = json_string_value(get(example, "output"));
    if (evidence_replaces(detail, output))
        detail = NULL;
    size_t room = page->columns - 12;
    (void)fputs("          ", page->out);
    size_t used = text_put_fit(page->out, member_text(example, "id"), detail ? room / 2 : room);
    if (detail && used + 2 + text_columns(detail, strlen(detail)) > room) {
        (void)fputs(":\n", page->out);
        text_put_block(page->out, detail, TAIL_INDENT, page->columns - 1);
    } else if (detail) {
        (void)fputs(": ", page->out);
        (void)text_put_fit(page->out, detail, room - used - 2);
        (void)fputc('\n', page->out);
    } else {
        (void)fputc('\n', page->out);
    }
    if (evidence_adds(detail, output))
        put_lines(page, output, is_head);
}

static void put_codes(const struct page *page, const char *heading, const json_t *codes)
{
    size_t n = json_array_size(codes);
    if (n == 0)
        return;
    put_heading(page, heading);
    for (size_t i = 0; i < MIN(n, MODES_SHOWN); i++) {
        const json_t *code = json_array_get(codes, i);
        const char *severity = json_string_value(get(code, "severity"));
        bool blocks = !severity || strcmp(severity, "block") == 0;
        (void)fprintf(page->out, "%8" PRId64 "  ", member_integer(code, "count"));
        (void)text_put_fit(page->out, member_text(code, "code"),
                           page->columns - (blocks ? 12 : 20));
        if (!blocks)
            (void)fprintf(page->out, " (%s)", severity);
        (void)fputc('\n', page->out);
        if (json_array_size(get(code, "examples")) > 0)
            put_example(page, member_text(code, "code"), json_array_get(get(code, "examples"), 0));
    }
    if (n > MODES_SHOWN)
        (void)fprintf(page->out, "%8s  and %zu more\n", "", n - MODES_SHOWN);
}

/* --- another run -------------------------------------------------------------------------- */

static void put_difference(const struct page *page, const char *label, const json_t *estimate)
{
    const json_t *interval = get(estimate, "interval");
    const char *why_not = json_string_value(get(interval, "why_not"));
    char range[128] = "", why[128] = "";
    if (json_is_string(get(interval, "method")))
        (void)snprintf(range, sizeof(range), ", %s %g%% %+.4f to %+.4f",
                       method_in_words(member_text(interval, "method")), 100 * level(page),
                       json_number_value(get(interval, "low")),
                       json_number_value(get(interval, "high")));
    if (why_not)
        (void)snprintf(why, sizeof(why), "; BCa is undefined: %s", why_not);
    if (json_is_null(get(estimate, "mean")))
        put_field(page, label, "unknown");
    else
        put_field(page, label, "%+.4f%s%s", json_number_value(get(estimate, "mean")), range, why);
}

static void put_changes(const struct page *page, const char *label, const json_t *changes)
{
    const json_t *shown = get(changes, "shown");
    size_t n = MIN(json_array_size(shown), CHANGES_SHOWN);
    int64_t total = member_integer(changes, "total");
    (void)fprintf(page->out, "%" PRId64 " %s%s\n", total, label, text_plural((uint64_t)total));
    for (size_t i = 0; i < n; i++) {
        const json_t *change = json_array_get(shown, i);
        (void)fprintf(page->out, "  %.2f to %.2f  ", json_number_value(get(change, "before")),
                      json_number_value(get(change, "after")));
        (void)text_put_fit(page->out, member_text(change, "id"), page->columns - 18);
        (void)fputc('\n', page->out);
    }
    if (total > (int64_t)n)
        (void)fprintf(page->out, "  and %" PRId64 " more\n", total - (int64_t)n);
}

static void put_changed_rubrics(const struct page *page, const json_t *classes)
{
    for (size_t i = 0; i < json_array_size(classes); i++) {
        (void)fputs("rubric of ", page->out);
        (void)text_put_fit(page->out, json_string_value(json_array_get(classes, i)),
                           page->columns - 24);
        (void)fputs(" has changed\n", page->out);
    }
}

static void put_against(const struct page *page)
{
    const json_t *against = get(page->report, "against");
    if (!json_is_object(against))
        return;
    put_heading(page, "comparison with the other run");
    if (!json_is_true(get(against, "comparable")))
        text_put_wrapped(
            page->out,
            "not comparable: the jobs of the two runs were isolated in different ways, so the "
            "host may cause a difference",
            0, 0, page->columns - 1);
    put_field(page, "cases",
              "%" PRId64 " in both, %" PRId64 " only in this run, %" PRId64
              " only in the other, %" PRId64 " changed, %" PRId64
              " without a verdict in one of them",
              member_integer(against, "paired_cases"), member_integer(against, "only_here"),
              member_integer(against, "only_there"), member_integer(against, "changed_cases"),
              member_integer(against, "without_verdict"));
    put_difference(page, "score", get(against, "score_difference"));
    put_difference(page, "pass rate", get(against, "pass_rate_difference"));
    put_changed_rubrics(page, get(against, "changed_rubrics"));
    put_changes(page, "regression", get(against, "regressions"));
    put_changes(page, "improvement", get(against, "improvements"));
}

/* --- circumstances ------------------------------------------------------------------------ */

static void put_latency(const struct page *page, const char *label, const json_t *of)
{
    char p50[TEXT_QUANTITY_MAX], p90[TEXT_QUANTITY_MAX], p99[TEXT_QUANTITY_MAX],
        max[TEXT_QUANTITY_MAX];
    if (json_is_object(of))
        put_field(page, label, "p50 %s, p90 %s, p99 %s, max %s",
                  text_duration(member_integer(of, "p50"), p50),
                  text_duration(member_integer(of, "p90"), p90),
                  text_duration(member_integer(of, "p99"), p99),
                  text_duration(member_integer(of, "max"), max));
}

static void put_hosts(const struct page *page, const json_t *hosts)
{
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        _cleanup_free_ char *words = formats_host_in_words(json_array_get(hosts, i));
        if (words)
            put_field(page, "host", "%s", words);
    }
}

static void put_circumstances(const struct page *page)
{
    const json_t *report = page->report;
    const json_t *cost = get(report, "cost_usd"), *made = get(report, "reproducibility");
    double wasted = json_number_value(get(cost, "of_attempts_that_do_not_count"));
    (void)fputc('\n', page->out);
    if (wasted > 0)
        put_field(page, "cost", "$%.4f, plus $%.4f for attempts that do not count",
                  json_number_value(get(cost, "total")), wasted);
    else
        put_field(page, "cost", "$%.4f", json_number_value(get(cost, "total")));
    put_latency(page, "wall clock", get(get(report, "latency_ms"), "wall_clock"));
    put_latency(page, "queue", get(get(report, "latency_ms"), "queue"));
    if (json_is_string(get(made, "started_at")))
        put_field(page, "run", "%s to %s", member_text(made, "started_at"),
                  member_text(made, "finished_at"));
    put_hosts(page, get(made, "hosts"));
}

static void put_population(const struct page *page, const json_t *population)
{
    const json_t *layers = get(population, "layers");
    if (json_is_null(get(population, "class"))) {
        put_field(page, "isolation", "not known: %s", member_text(population, "why_not"));
        return;
    }
    char text[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(layers) && used < sizeof(text); i++) {
        const char *name = json_string_value(json_array_get(layers, i));
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", name ? name : "?");
    }
    put_field(page, "isolation", "%s %.16s%s, %" PRId64 " result%s:%s",
              member_text(population, "class"), member_text(population, "digest"),
              strcmp(member_text(population, "mode"), "shared") == 0
                  ? ", verdicts can be forged (shared)"
                  : "",
              member_integer(population, "results"),
              text_plural((uint64_t)member_integer(population, "results")), text);
}

static void put_warnings(const struct page *page)
{
    if (json_is_true(get(page->report, "mixed"))) {
        put_coloured(page, YELLOW, "mixed   ");
        text_put_wrapped(
            page->out,
            "these results are of different populations: a mean over them compares nothing", 8, 8,
            page->columns - 1);
    }
    if (member_integer(page->report, "changed_cases") > 0) {
        put_coloured(page, YELLOW, "changed ");
        text_put_wrapped(page->out,
                         "some case ids came with different content; each id counts as one case", 8,
                         8, page->columns - 1);
    }
}

int format_text(FILE *out, const struct report_view *view)
{
    const json_t *report = view->report;
    const struct page page = {
        .out = out, .columns = view->columns, .colour = view->colour, .report = report};
    const json_t *populations = get(report, "populations");
    put_warnings(&page);
    put_totals(&page);
    put_scores(&page);
    put_against(&page);
    put_classes(&page);
    put_codes(&page, "failure modes", get(report, "failure_modes"));
    put_codes(&page, "errors (no verdict)", get(report, "errors"));
    int r = view->failures ? listing_put(out, view) : 0;
    put_circumstances(&page);
    for (size_t i = 0; i < json_array_size(populations); i++)
        put_population(&page, json_array_get(populations, i));
    return r;
}
