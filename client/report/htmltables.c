/* SPDX-License-Identifier: MIT */
#include "htmltables.h"
#include "markup.h"

#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

static const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static int64_t number(const json_t *object, const char *name)
{
    return json_integer_value(get(object, name));
}

const char *htmltables_method(const char *method)
{
    return strcmp(method, "bca") == 0 ? "BCa" : strcmp(method, "wilson") == 0 ? "Wilson" : method;
}

void htmltables_put_real(FILE *out, const json_t *value)
{
    if (json_is_number(value))
        (void)fprintf(out, "%.4f", json_number_value(value));
    else
        (void)fputs("&ndash;", out);
}

/* --- cells -------------------------------------------------------------------------------- */

static void put_cell(FILE *out, const char *class, const json_t *text)
{
    (void)fprintf(out, "<td class=\"%s\">", class);
    if (json_is_string(text))
        markup_put(out, json_string_value(text), json_string_length(text));
    (void)fputs("</td>", out);
}

static void put_count(FILE *out, int64_t count)
{
    (void)fprintf(out, "<td class=\"n\" data-v=\"%" PRId64 "\">%" PRId64 "</td>", count, count);
}

/* A number that sorts below all others where it is null. */
static void put_real(FILE *out, const json_t *value)
{
    if (json_is_number(value))
        (void)fprintf(out, "<td class=\"n\" data-v=\"%.17g\">", json_number_value(value));
    else
        (void)fputs("<td class=\"n\" data-v=\"-1\">", out);
    htmltables_put_real(out, value);
    (void)fputs("</td>", out);
}

static void put_interval(FILE *out, const json_t *estimate)
{
    const json_t *interval = get(estimate, "interval");
    if (json_is_string(get(interval, "method")))
        (void)fprintf(out, "<td class=\"n\" data-v=\"%.17g\">%.4f to %.4f</td><td>%s",
                      json_number_value(get(interval, "low")),
                      json_number_value(get(interval, "low")),
                      json_number_value(get(interval, "high")),
                      htmltables_method(json_string_value(get(interval, "method"))));
    else
        (void)fputs("<td class=\"n\" data-v=\"-1\">&ndash;</td><td>none", out);
    if (json_is_string(get(interval, "why_not")))
        (void)fprintf(out, "<br><span class=\"muted\">no BCa: %s</span>",
                      json_string_value(get(interval, "why_not")));
    (void)fputs("</td>", out);
}

static void put_example(FILE *out, const json_t *examples)
{
    const json_t *first = json_array_get(examples, 0), *detail = get(first, "detail");
    (void)fputs("<td class=\"d\"><span class=\"id\">", out);
    if (json_is_string(get(first, "id")))
        markup_put(out, json_string_value(get(first, "id")), json_string_length(get(first, "id")));
    (void)fputs("</span>", out);
    if (json_is_string(detail)) {
        (void)fputs("<br>", out);
        markup_put(out, json_string_value(detail), json_string_length(detail));
    }
    (void)fputs("</td>", out);
}

/* HEADS: names with "#" before those of numbers. */
static void open_table(FILE *out, const char *id, const char *caption, const char *const *heads)
{
    (void)fprintf(out,
                  "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n"
                  "<table class=\"sortable\" id=\"%s\">\n<thead><tr>",
                  caption, id);
    for (; *heads; heads++) {
        bool is_number = **heads == '#';
        (void)fprintf(out, "<th scope=\"col\"%s>%s</th>", is_number ? " class=\"n\"" : "",
                      *heads + is_number);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
}

static void close_table(FILE *out)
{
    (void)fputs("</tbody>\n</table>\n</div>\n", out);
}

/* --- tables ------------------------------------------------------------------------------- */

void htmltables_classes(FILE *out, const json_t *report)
{
    static const char *const heads[] = {"Task class", "#Cases",   "#Passed",   "#Failed",
                                        "#Errors",    "#Score",   "#Interval", "Method",
                                        "#Pass rate", "#Cost, $", NULL};
    const json_t *classes = get(report, "classes");
    (void)fputs("<section>\n<h2>Task classes</h2>\n", out);
    open_table(out, "classes", "Task classes", heads);
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *class = json_array_get(classes, i);
        (void)fputs("<tr>", out);
        put_cell(out, "d", get(class, "task_class"));
        put_count(out, number(class, "cases"));
        put_count(out, number(class, "passed"));
        put_count(out, number(class, "failed"));
        put_count(out, number(class, "errors"));
        put_real(out, get(get(class, "score"), "mean"));
        put_interval(out, get(class, "score"));
        put_real(out, get(get(class, "pass_rate"), "mean"));
        put_real(out, get(class, "cost_usd"));
        (void)fputs("</tr>\n", out);
    }
    close_table(out);
    (void)fputs("</section>\n", out);
}

static void put_severity(FILE *out, const char *severity)
{
    static const char *const classes[][2] = {{"block", "bad"}, {"warn", "warn"}, {"info", "muted"}};
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
        if (strcmp(classes[i][0], severity) == 0)
            (void)fprintf(out, "<td class=\"%s\">%s</td>", classes[i][1], severity);
}

void htmltables_modes(FILE *out, const json_t *report)
{
    static const char *const heads[] = {"Failure mode", "Severity", "#Results", "First", NULL};
    const json_t *modes = get(report, "failure_modes");
    if (json_array_size(modes) == 0)
        return;
    (void)fputs("<section>\n<h2>Failure modes</h2>\n", out);
    open_table(out, "modes", "Failure modes", heads);
    for (size_t i = 0; i < json_array_size(modes); i++) {
        const json_t *mode = json_array_get(modes, i);
        (void)fputs("<tr>", out);
        put_cell(out, "id", get(mode, "code"));
        put_severity(out, json_string_value(get(mode, "severity")));
        put_count(out, number(mode, "count"));
        put_example(out, get(mode, "examples"));
        (void)fputs("</tr>\n", out);
    }
    close_table(out);
    (void)fputs("</section>\n", out);
}

void htmltables_errors(FILE *out, const json_t *report)
{
    static const char *const heads[] = {"Error", "#Jobs", "First", NULL};
    const json_t *errors = get(report, "errors");
    if (json_array_size(errors) == 0)
        return;
    (void)fputs("<section>\n<h2>Errors</h2>\n<p>These jobs have no verdict: they count neither as "
                "passed nor as failed.</p>\n",
                out);
    open_table(out, "errors", "Errors", heads);
    for (size_t i = 0; i < json_array_size(errors); i++) {
        (void)fputs("<tr>", out);
        put_cell(out, "id bad", get(json_array_get(errors, i), "code"));
        put_count(out, number(json_array_get(errors, i), "count"));
        put_example(out, get(json_array_get(errors, i), "examples"));
        (void)fputs("</tr>\n", out);
    }
    close_table(out);
    (void)fputs("</section>\n", out);
}

/* Hidden until there is a script that makes them work. */
static void put_tools(FILE *out, const json_t *modes)
{
    (void)fputs("<div class=\"tools\" hidden>\n<label for=\"words\">Containing<br><input "
                "id=\"words\" type=\"search\"></label>\n<label for=\"code\">Failure mode<br>"
                "<select id=\"code\"><option value=\"\">any</option>\n",
                out);
    for (size_t i = 0; i < json_array_size(modes); i++) {
        const json_t *code = get(json_array_get(modes, i), "code");
        (void)fputs("<option>", out);
        markup_put(out, json_string_value(code), json_string_length(code));
        (void)fputs("</option>\n", out);
    }
    (void)fputs("</select></label>\n<span id=\"shown\" class=\"muted\" role=\"status\"></span>\n"
                "</div>\n",
                out);
}

static void put_failure(FILE *out, const json_t *failure)
{
    const json_t *ms = get(failure, "wall_clock_ms");
    char text[TEXT_QUANTITY_MAX];
    (void)fputs("<tr>", out);
    put_cell(out, "id", get(failure, "id"));
    put_cell(out, "", get(failure, "task_class"));
    put_cell(out, "id", get(failure, "codes"));
    put_real(out, get(failure, "score"));
    if (json_is_integer(ms))
        (void)fprintf(out, "<td class=\"n\" data-v=\"%" PRId64 "\">%s</td>",
                      (int64_t)json_integer_value(ms), text_duration(json_integer_value(ms), text));
    else
        (void)fputs("<td class=\"n\" data-v=\"-1\">&ndash;</td>", out);
    put_cell(out, "d", get(failure, "detail"));
    (void)fputs("</tr>\n", out);
}

void htmltables_failures(FILE *out, const json_t *report)
{
    static const char *const heads[] = {
        "Case", "Task class", "Failure modes", "#Score", "#Wall clock", "Detail", NULL};
    const json_t *failures = get(report, "failures"), *shown = get(failures, "shown");
    size_t n = json_array_size(shown);
    (void)fputs("<section>\n<h2>Failed</h2>\n", out);
    if (n == 0) {
        (void)fputs("<p>No result failed.</p>\n</section>\n", out);
        return;
    }
    if ((int64_t)n < number(failures, "total"))
        (void)fprintf(out,
                      "<p class=\"notice\">The %zu that scored worst of %" PRId64
                      " that failed; the results themselves have all of them.</p>\n",
                      n, number(failures, "total"));
    put_tools(out, get(report, "failure_modes"));
    open_table(out, "failures", "Failed results", heads);
    for (size_t i = 0; i < n; i++)
        put_failure(out, json_array_get(shown, i));
    close_table(out);
    (void)fputs("</section>\n", out);
}

/* --- another run -------------------------------------------------------------------------- */

static void put_changes(FILE *out, const char *id, const char *title, const json_t *changes)
{
    static const char *const heads[] = {"Case", "#Pass rate before", "#Now", NULL};
    const json_t *shown = get(changes, "shown");
    size_t n = json_array_size(shown);
    (void)fprintf(out, "<h3>%s: %" PRId64 "</h3>\n", title, number(changes, "total"));
    if (n == 0)
        return;
    if ((int64_t)n < number(changes, "total"))
        (void)fprintf(out, "<p class=\"muted\">%zu are shown.</p>\n", n);
    open_table(out, id, title, heads);
    for (size_t i = 0; i < n; i++) {
        const json_t *change = json_array_get(shown, i);
        (void)fputs("<tr>", out);
        put_cell(out, "id", get(change, "id"));
        put_real(out, get(change, "before"));
        put_real(out, get(change, "after"));
        (void)fputs("</tr>\n", out);
    }
    close_table(out);
}

static void put_difference(FILE *out, const char *name, const json_t *estimate)
{
    const json_t *interval = get(estimate, "interval"), *mean = get(estimate, "mean");
    (void)fprintf(out, "<p>%s: ", name);
    if (json_is_number(mean))
        (void)fprintf(out, "<strong>%+.4f</strong>", json_number_value(mean));
    else
        (void)fputs("unknown", out);
    if (json_is_string(get(interval, "method")))
        (void)fprintf(out, ", %s %+.4f to %+.4f",
                      htmltables_method(json_string_value(get(interval, "method"))),
                      json_number_value(get(interval, "low")),
                      json_number_value(get(interval, "high")));
    (void)fputs("</p>\n", out);
}

void htmltables_against(FILE *out, const json_t *report)
{
    const json_t *against = get(report, "against"), *rubrics = get(against, "changed_rubrics");
    if (!json_is_object(against))
        return;
    (void)fputs("<section>\n<h2>Against another run</h2>\n", out);
    if (!json_is_true(get(against, "comparable")))
        (void)fputs("<p class=\"notice\"><strong>Not comparable.</strong> The two runs were "
                    "isolated differently.</p>\n",
                    out);
    (void)fprintf(out,
                  "<p>%" PRId64 " cases stand in both; %" PRId64 " only here, %" PRId64
                  " only there, %" PRId64 " have changed.</p>\n",
                  number(against, "paired_cases"), number(against, "only_here"),
                  number(against, "only_there"), number(against, "changed_cases"));
    put_difference(out, "Difference of the mean score", get(against, "score_difference"));
    put_difference(out, "Difference of the pass rate", get(against, "pass_rate_difference"));
    for (size_t i = 0; i < json_array_size(rubrics); i++) {
        (void)fputs("<p class=\"notice\">The rubric of ", out);
        markup_put(out, json_string_value(json_array_get(rubrics, i)),
                   json_string_length(json_array_get(rubrics, i)));
        (void)fputs(" has changed.</p>\n", out);
    }
    put_changes(out, "regressions", "Regressions", get(against, "regressions"));
    put_changes(out, "improvements", "Improvements", get(against, "improvements"));
    (void)fputs("</section>\n", out);
}
