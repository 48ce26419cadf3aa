/* SPDX-License-Identifier: MIT */
#include "charts.h"
#include "markup.h"

#include "client/terminal/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Units of the images; the page scales them. */
#define WIDTH 560
#define BARS_HEIGHT 200
#define BARS_LEFT 44
#define BARS_TOP 14
#define BARS_BOTTOM 28
#define GRID_STEPS 4
#define ROW_HEIGHT 26
#define ROW_LEFT 190
#define ROW_RIGHT 60
#define CLASSES_MAX 40
#define BARS_MAX 40
/* With more bars only every second has its label. */
#define LABELS_MAX 10

struct bars {
    size_t n;
    uint64_t counts[BARS_MAX];
    char labels[BARS_MAX][16]; /* below the bar, or at its left edge */
    char titles[BARS_MAX][64]; /* what the bar is, for a pointer above it */
    bool at_edges;
};

static const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static int64_t number(const json_t *object, const char *name)
{
    return json_integer_value(get(object, name));
}

static double real(const json_t *object, const char *name)
{
    return json_number_value(get(object, name));
}

static void put_text(FILE *out, const char *text)
{
    markup_put(out, text, strlen(text));
}

static void open_image(FILE *out, int height, const char *description)
{
    (void)fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, height);
    put_text(out, description);
    (void)fputs("\">\n", out);
}

/* --- bars --------------------------------------------------------------------------------- */

/* A whole number with few digits, at or above VALUE. */
static double round_up(double value)
{
    static const double parts[] = {1, 2, 3, 4, 5, 6, 8, 10};
    double scale = pow(10, floor(log10(fmax(value, 1))));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (value <= scale * parts[i])
            return scale * parts[i];
    return 10 * scale;
}

static void put_grid(FILE *out, double top)
{
    const int height = BARS_HEIGHT - BARS_TOP - BARS_BOTTOM;
    int steps = (int)fmin(top, GRID_STEPS);
    for (int i = 0; i <= steps; i++) {
        double y = BARS_TOP + height * (1 - (double)i / steps);
        (void)fprintf(out,
                      "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                      BARS_LEFT, WIDTH, y, y, BARS_LEFT - 6, y + 4, top * i / steps);
    }
}

static void put_bars(FILE *out, const struct bars *bars, const char *description)
{
    const int height = BARS_HEIGHT - BARS_TOP - BARS_BOTTOM;
    uint64_t most = 1;
    for (size_t i = 0; i < bars->n; i++)
        most = MAX(most, bars->counts[i]);
    double top =
        most <= GRID_STEPS ? (double)most : GRID_STEPS * round_up((double)most / GRID_STEPS);
    double step = (double)(WIDTH - BARS_LEFT) / (double)bars->n;
    step = fmin(step, 60);
    open_image(out, BARS_HEIGHT, description);
    put_grid(out, top);
    for (size_t i = 0; i < bars->n; i++) {
        double x = BARS_LEFT + step * (double)i, h = height * (double)bars->counts[i] / top;
        if (bars->counts[i] > 0)
            (void)fprintf(
                out,
                "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                "<title>%s: %" PRIu64 "</title></rect>\n",
                x + 1, BARS_TOP + height - fmax(h, 1), step - 2, fmax(h, 1), bars->titles[i],
                bars->counts[i]);
        if (bars->n <= LABELS_MAX || i % 2 == 0)
            (void)fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                          x + (bars->at_edges ? 0 : step / 2), BARS_HEIGHT - 10, bars->labels[i]);
    }
    if (bars->at_edges)
        (void)fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">1</text>\n", WIDTH,
                      BARS_HEIGHT - 10);
    (void)fputs("</svg>\n", out);
}

void chart_scores(FILE *out, const json_t *report)
{
    const json_t *bins = get(report, "score_histogram");
    struct bars bars = {.n = MIN(json_array_size(bins), BARS_MAX), .at_edges = true};
    for (size_t i = 0; i < bars.n; i++) {
        const json_t *bin = json_array_get(bins, i);
        bars.counts[i] = (uint64_t)number(bin, "count");
        (void)snprintf(bars.labels[i], sizeof(bars.labels[i]), "%g", real(bin, "from"));
        (void)snprintf(bars.titles[i], sizeof(bars.titles[i]), "%g to %g", real(bin, "from"),
                       real(bin, "to"));
    }
    (void)fputs("<figure><h3>Score</h3>\n", out);
    put_bars(out, &bars, "Histogram of the scores of all results, from 0 to 1");
    (void)fputs("<figcaption>results by score</figcaption></figure>\n", out);
}

static void put_quantile(FILE *out, const json_t *latency, const char *name, const char *label)
{
    char text[TEXT_QUANTITY_MAX];
    (void)fprintf(out, "%s %s", label, text_duration(number(latency, name), text));
}

void chart_latency(FILE *out, const json_t *report, const char *which, const char *title)
{
    const json_t *latency = get(get(report, "latency_ms"), which);
    const json_t *bins = get(latency, "histogram");
    struct bars bars = {.n = MIN(json_array_size(bins), BARS_MAX)};
    if (bars.n == 0)
        return;
    for (size_t i = 0; i < bars.n; i++) {
        const json_t *bin = json_array_get(bins, i);
        int64_t ms = number(bin, "up_to_ms");
        bars.counts[i] = (uint64_t)number(bin, "count");
        (void)snprintf(bars.labels[i], sizeof(bars.labels[i]), ms < 1000 ? "%g ms" : "%g s",
                       ms < 1000 ? (double)ms : (double)ms / 1000);
        (void)snprintf(bars.titles[i], sizeof(bars.titles[i]), "up to %s", bars.labels[i]);
    }
    (void)fprintf(out, "<figure><h3>%s</h3>\n", title);
    put_bars(out, &bars, title);
    (void)fputs("<figcaption>results by how long it took at most: ", out);
    put_quantile(out, latency, "p50", "p50");
    put_quantile(out, latency, "p90", ", p90");
    put_quantile(out, latency, "p99", ", p99");
    put_quantile(out, latency, "max", ", max");
    (void)fputs("</figcaption></figure>\n", out);
}

/* --- intervals ---------------------------------------------------------------------------- */

static double x_of(double value)
{
    return ROW_LEFT + value * (WIDTH - ROW_LEFT - ROW_RIGHT);
}

static void put_name(FILE *out, const char *name, double y)
{
    char *shown = NULL;
    size_t length = 0;
    FILE *cut = open_memstream(&shown, &length);
    if (!cut)
        return;
    (void)text_put_fit(cut, name, 26);
    (void)fclose(cut);
    (void)fprintf(out, "<text class=\"name\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                  ROW_LEFT - 10, y + 4);
    put_text(out, shown);
    (void)fputs("</text>", out);
    free(shown);
}

static void put_row(FILE *out, const char *name, const json_t *estimate, double y)
{
    const json_t *interval = get(estimate, "interval");
    put_name(out, name, y);
    if (json_is_number(get(interval, "low")))
        (void)fprintf(out,
                      "<line class=\"range\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                      x_of(real(interval, "low")), x_of(real(interval, "high")), y, y);
    if (json_is_number(get(estimate, "mean")))
        (void)fprintf(out,
                      "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4f</text>\n",
                      x_of(real(estimate, "mean")), y, WIDTH, y + 4, real(estimate, "mean"));
}

void chart_classes(FILE *out, const json_t *report)
{
    const json_t *classes = get(report, "classes"), *all = get(report, "score");
    size_t n = MIN(json_array_size(classes), CLASSES_MAX);
    int height = (int)(n + 1) * ROW_HEIGHT + 30;
    (void)fputs("<figure><h3>Mean score by task class</h3>\n", out);
    open_image(out, height,
               "Mean score of each task class with its interval; the table below has "
               "the numbers");
    for (int i = 0; i <= 4; i++)
        (void)fprintf(out,
                      "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"4\" y2=\"%d\"/>"
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                      x_of(i / 4.0), x_of(i / 4.0), height - 22, x_of(i / 4.0), height - 8,
                      i / 4.0);
    if (json_is_number(get(all, "mean")))
        (void)fprintf(out, "<line class=\"mean\" x1=\"%.1f\" x2=\"%.1f\" y1=\"4\" y2=\"%d\"/>\n",
                      x_of(real(all, "mean")), x_of(real(all, "mean")), height - 22);
    put_row(out, "all", all, ROW_HEIGHT / 2.0 + 4);
    for (size_t i = 0; i < n; i++) {
        const json_t *class = json_array_get(classes, i);
        put_row(out, json_string_value(get(class, "task_class")), get(class, "score"),
                ROW_HEIGHT * ((double)i + 1.5) + 4);
    }
    (void)fputs("</svg>\n<figcaption>dot: mean; bar: interval; dashed: mean of all", out);
    if (n < json_array_size(classes))
        (void)fprintf(out, "; the first %zu of %zu classes", n, json_array_size(classes));
    (void)fputs("</figcaption></figure>\n", out);
}
