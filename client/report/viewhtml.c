/* SPDX-License-Identifier: MIT */
/* Everything that comes from results goes through markup_put; the page's policy allows no script
 * but its own and nothing from anywhere else, should that ever fail. */
#include "charts.h"
#include "htmltables.h"
#include "markup.h"
#include "page.h"
#include "view.h"

#include "client/terminal/text.h"
#include "proto/base64.h"
#include "proto/printer.h"

#include <inttypes.h>
#include <sha2.h>
#include <string.h>

struct page {
    FILE *out;
    const json_t *report;
};

static const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static int64_t number(const json_t *object, const char *name)
{
    return json_integer_value(get(object, name));
}

static void put_string(FILE *out, const json_t *string)
{
    if (json_is_string(string))
        markup_put(out, json_string_value(string), json_string_length(string));
}

/* --- head --------------------------------------------------------------------------------- */

/* 'sha256-...' of TEXT, as a policy names what it allows. */
static int put_hash(FILE *out, const char *text)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    _cleanup_bytes_ struct bytes encoded = BYTES_NULL;
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)text, strlen(text));
    SHA256Final(digest, &context);
    int r = base64_encode((const char *)digest, sizeof(digest), &encoded);
    if (r == 0)
        (void)fprintf(out, "'sha256-%s'", encoded.data);
    return r;
}

static int put_head(const struct page *page)
{
    FILE *out = page->out;
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "base-uri 'none'; form-action 'none'; style-src ",
                out);
    int r = put_hash(out, page_css);
    (void)fputs("; script-src ", out);
    if (r == 0)
        r = put_hash(out, page_js);
    (void)fprintf(out,
                  "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<title>Run report</title>\n<style>%s</style>\n</head>\n<body>\n",
                  page_css);
    return r;
}

static void put_title(const struct page *page)
{
    const json_t *files = get(page->report, "files");
    const json_t *made = get(page->report, "reproducibility");
    const size_t shown = MIN(json_array_size(files), 5);
    (void)fputs("<header>\n<h1>Run report</h1>\n<p class=\"muted\">", page->out);
    for (size_t i = 0; i < shown; i++) {
        (void)fputs(i > 0 ? ", <span class=\"id\">" : "<span class=\"id\">", page->out);
        put_string(page->out, get(json_array_get(files, i), "name"));
        (void)fputs("</span>", page->out);
    }
    if (shown < json_array_size(files))
        (void)fprintf(page->out, " and %zu more", json_array_size(files) - shown);
    if (json_is_string(get(made, "started_at"))) {
        (void)fputs(" &middot; ", page->out);
        put_string(page->out, get(made, "started_at"));
        (void)fputs(" to ", page->out);
        put_string(page->out, get(made, "finished_at"));
    }
    (void)fputs("</p>\n</header>\n", page->out);
}

static void put_notices(const struct page *page)
{
    const json_t *files = get(page->report, "files");
    int64_t unusable = 0;
    for (size_t i = 0; i < json_array_size(files); i++)
        unusable += number(json_array_get(files, i), "unusable");
    if (json_is_true(get(page->report, "mixed")))
        (void)fputs("<p class=\"notice\"><strong>Mixed populations.</strong> These results were "
                    "isolated differently: a mean over them compares nothing.</p>\n",
                    page->out);
    if (number(page->report, "changed_cases") > 0)
        (void)fputs("<p class=\"notice\">Cases with one id but different content count as one "
                    "case.</p>\n",
                    page->out);
    if (unusable > 0)
        (void)fprintf(page->out, "<p class=\"notice\">%" PRId64 " line%s could not be used.</p>\n",
                      unusable, text_plural((uint64_t)unusable));
}

/* --- tiles -------------------------------------------------------------------------------- */

static void open_tile(const struct page *page, const char *name, const char *class)
{
    (void)fprintf(page->out, "<div><dt>%s</dt><dd class=\"value%s\">", name, class);
}

static void close_tile(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void close_tile(const struct page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("</dd><dd class=\"muted\">", page->out);
    (void)vfprintf(page->out, format, args);
    (void)fputs("</dd></div>\n", page->out);
    va_end(args);
}

static void put_estimate_tile(const struct page *page, const char *name, const json_t *estimate)
{
    const json_t *interval = get(estimate, "interval");
    const json_t *bootstrap = get(get(page->report, "reproducibility"), "bootstrap");
    open_tile(page, name, "");
    htmltables_put_real(page->out, get(estimate, "mean"));
    if (json_is_string(get(interval, "method")))
        close_tile(page, "%.4f to %.4f, %s %g%%", json_number_value(get(interval, "low")),
                   json_number_value(get(interval, "high")),
                   htmltables_method(json_string_value(get(interval, "method"))),
                   100 * json_number_value(get(bootstrap, "confidence")));
    else
        close_tile(page, "no interval: %s", json_string_value(get(interval, "why_not")));
}

static void put_tiles(const struct page *page)
{
    const json_t *report = page->report, *totals = get(report, "totals");
    const json_t *ks = get(report, "pass_at_k");
    double wasted =
        json_number_value(get(get(report, "cost_usd"), "of_attempts_that_do_not_count"));
    int64_t errors = number(totals, "errors");
    (void)fputs("<dl class=\"tiles\">\n", page->out);
    put_estimate_tile(page, "Mean score", get(report, "score"));
    put_estimate_tile(page, "Pass rate", get(report, "pass_rate"));
    for (size_t i = 0; i < json_array_size(ks); i++) {
        const json_t *item = json_array_get(ks, i);
        char name[32];
        (void)snprintf(name, sizeof(name), "pass@%" PRId64, number(item, "k"));
        if (json_is_object(get(item, "estimate")))
            put_estimate_tile(page, name, get(item, "estimate"));
    }
    open_tile(page, "Cases", "");
    (void)fprintf(page->out, "%" PRId64, number(totals, "cases"));
    close_tile(page, "%" PRId64 " results: %" PRId64 " passed, %" PRId64 " failed",
               number(totals, "results"), number(totals, "passed"), number(totals, "failed"));
    open_tile(page, "Errors", errors > 0 ? " bad" : "");
    (void)fprintf(page->out, "%" PRId64, errors);
    close_tile(page, "without a verdict; not counted as failed");
    open_tile(page, "Cost", "");
    (void)fprintf(page->out, "$%.4f", json_number_value(get(get(report, "cost_usd"), "total")));
    if (wasted > 0)
        close_tile(page, "and $%.4f of attempts that do not count", wasted);
    else
        close_tile(page, "of all results");
    (void)fputs("</dl>\n", page->out);
}

/* --- how it was run ----------------------------------------------------------------------- */

static void open_fact(const struct page *page, const char *name)
{
    (void)fprintf(page->out, "<dt>%s</dt><dd>", name);
}

static void close_fact(const struct page *page)
{
    (void)fputs("</dd>\n", page->out);
}

static void put_population(const struct page *page, const json_t *population)
{
    const json_t *layers = get(population, "layers");
    bool shared = strcmp(json_string_value(get(population, "mode")), "shared") == 0;
    open_fact(page, "Isolation");
    (void)fprintf(page->out, "%" PRId64 " results: ", number(population, "results"));
    if (json_is_null(get(population, "class"))) {
        put_string(page->out, get(population, "why_not"));
    } else {
        put_string(page->out, get(population, "class"));
        (void)fputs(" <span class=\"id\">", page->out);
        put_string(page->out, get(population, "digest"));
        (void)fputs("</span><br>", page->out);
        for (size_t i = 0; i < json_array_size(layers); i++) {
            (void)fputs(i > 0 ? ", " : "", page->out);
            put_string(page->out, json_array_get(layers, i));
        }
    }
    (void)fputs(shared ? "<br>verdicts shared with the code, which can forge them" : "", page->out);
    close_fact(page);
}

static void put_versions(const struct page *page, const json_t *versions)
{
    if (!json_is_array(versions))
        return;
    open_fact(page, "rubricd");
    for (size_t i = 0; i < json_array_size(versions); i++) {
        (void)fputs(i > 0 ? ", " : "", page->out);
        put_string(page->out, json_array_get(versions, i));
    }
    close_fact(page);
}

/* In words, and all of it as JSON for who asks. */
static void put_host(const struct page *page, const json_t *host)
{
    _cleanup_free_ char *words = view_host_in_words(host);
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!words || json_print(host, &text) < 0)
        return;
    open_fact(page, "Host");
    markup_put(page->out, words, strlen(words));
    (void)fputs("<details><summary>limits and all</summary><code>", page->out);
    markup_put(page->out, text.data, text.length);
    (void)fputs("</code></details>", page->out);
    close_fact(page);
}

static void put_rubrics(const struct page *page, const json_t *rubrics)
{
    if (!json_is_array(rubrics))
        return;
    open_fact(page, "Rubrics");
    for (size_t i = 0; i < json_array_size(rubrics); i++) {
        (void)fputs(i > 0 ? "<br>" : "", page->out);
        put_string(page->out, get(json_array_get(rubrics, i), "task_class"));
        (void)fputs(" <span class=\"id\">", page->out);
        put_string(page->out, get(json_array_get(rubrics, i), "digest"));
        (void)fputs("</span>", page->out);
    }
    close_fact(page);
}

static void put_missing(const struct page *page, json_t *missing)
{
    for (void *i = json_object_iter(missing); i; i = json_object_iter_next(missing, i)) {
        open_fact(page, json_object_iter_key(i)); /* our own words */
        (void)fputs("not known: ", page->out);
        put_string(page->out, json_object_iter_value(i));
        close_fact(page);
    }
}

static void put_facts(const struct page *page)
{
    const json_t *report = page->report, *made = get(report, "reproducibility");
    const json_t *bootstrap = get(made, "bootstrap"), *cases = get(made, "cases");
    const json_t *populations = get(report, "populations");
    (void)fputs("<section>\n<h2>How it was run</h2>\n<dl class=\"facts\">\n", page->out);
    for (size_t i = 0; i < json_array_size(populations); i++)
        put_population(page, json_array_get(populations, i));
    put_versions(page, get(made, "rubricd"));
    for (size_t i = 0; i < json_array_size(get(made, "hosts")); i++)
        put_host(page, json_array_get(get(made, "hosts"), i));
    put_rubrics(page, get(made, "rubrics"));
    if (json_is_object(cases)) {
        open_fact(page, "Cases");
        (void)fprintf(page->out, "%" PRId64 ", digest <span class=\"id\">", number(cases, "cases"));
        put_string(page->out, get(cases, "digest"));
        (void)fputs("</span>", page->out);
        close_fact(page);
    }
    put_missing(page, json_object_get(made, "missing"));
    open_fact(page, "Intervals");
    (void)fprintf(page->out,
                  "%g%% by the BCa bootstrap of the mean over cases, %" PRId64
                  " resamples, seed %" PRId64 ". A case counts once, with the mean of its samples.",
                  100 * json_number_value(get(bootstrap, "confidence")),
                  number(bootstrap, "resamples"), number(bootstrap, "seed"));
    close_fact(page);
    open_fact(page, "Report by");
    (void)fputs("rubricctl ", page->out);
    put_string(page->out, get(made, "rubricctl"));
    close_fact(page);
    (void)fputs("</dl>\n</section>\n", page->out);
}

/* --- the page ----------------------------------------------------------------------------- */

int view_html(FILE *out, const json_t *report)
{
    const struct page page = {.out = out, .report = report};
    int r = put_head(&page);
    put_title(&page);
    put_notices(&page);
    put_tiles(&page);
    (void)fputs("<main>\n", out);
    htmltables_against(out, report);
    (void)fputs("<section>\n<h2>Scores and times</h2>\n<div class=\"charts\">\n", out);
    chart_scores(out, report);
    chart_classes(out, report);
    chart_latency(out, report, "wall_clock", "Wall clock");
    chart_latency(out, report, "queue", "Waiting in the queue");
    (void)fputs("</div>\n</section>\n", out);
    htmltables_classes(out, report);
    htmltables_modes(out, report);
    htmltables_errors(out, report);
    htmltables_failures(out, report);
    put_facts(&page);
    (void)fprintf(out, "</main>\n<script>%s</script>\n</body>\n</html>\n", page_js);
    return r;
}
