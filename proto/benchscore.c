/* SPDX-License-Identifier: MIT */
#include "benchscore.h"
#include "fields.h"
#include "printer.h"

#include <math.h>
#include <string.h>

void bench_score_deinit(struct bench_score *score)
{
    json_decref(score->breakdown);
    json_decref(score->failure_modes);
    *score = (struct bench_score)BENCH_SCORE_NULL;
}

int bench_score_block(const char *code, const char *detail, size_t detail_length,
                      struct bench_score *ret)
{
    _cleanup_json_ json_t *mode = json_pack("{s:s,s:s}", "code", code, "severity", "block");
    if (mode && detail && json_object_set_new(mode, "detail", json_text(detail, detail_length)) < 0)
        return -ENOMEM;
    _cleanup_bench_score_ struct bench_score score = {
        .breakdown = json_object(),
        .failure_modes = json_array(),
        .wall_clock_ms = 1,
    };
    if (!mode || !score.breakdown || json_array_append(score.failure_modes, mode) < 0)
        return -ENOMEM;
    *ret = score;
    score = (struct bench_score)BENCH_SCORE_NULL;
    return 0;
}

int bench_score_pass(struct bench_score *ret)
{
    _cleanup_bench_score_ struct bench_score score = {
        .passed = true,
        .score = 1,
        .breakdown = json_object(),
        .failure_modes = json_array(),
        .wall_clock_ms = 1,
    };
    if (!score.breakdown || !score.failure_modes)
        return -ENOMEM;
    *ret = score;
    score = (struct bench_score)BENCH_SCORE_NULL;
    return 0;
}

static int check_breakdown(const json_t *breakdown, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)breakdown;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char path[FIELD_PATH_MAX];
        field_path(path, "breakdown", json_object_iter_key(i));
        int r = field_check_type(json_object_iter_value(i), FIELD_NUMBER, path, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_failure_mode(const json_t *mode, size_t index, struct fault *fault)
{
    enum { CODE, SEVERITY, DETAIL, FIELDS };
    static const struct field table[FIELDS] = {
        [CODE] = {"code", FIELD_STRING, FIELD_REQUIRED},
        [SEVERITY] = {"severity", FIELD_TEXT, FIELD_REQUIRED},
        [DETAIL] = {"detail", FIELD_STRING, FIELD_OPTIONAL},
    };
    char path[FIELD_PATH_MAX];
    (void)snprintf(path, sizeof(path), "failure_modes[%zu]", index);

    const json_t *values[FIELDS] = {NULL};
    int r = field_check_type(mode, FIELD_OBJECT, path, fault);
    if (r == 0)
        r = fields_decode(mode, path, table, FIELDS, values, fault);
    if (r < 0)
        return r;
    const char *severity = json_string_value(values[SEVERITY]);
    if (strcmp(severity, "block") != 0 && strcmp(severity, "warn") != 0 &&
        strcmp(severity, "info") != 0)
        return fault_set(fault, "%s.severity: expected block, warn or info", path);
    return 0;
}

static int check_failure_modes(const json_t *modes, struct fault *fault)
{
    for (size_t i = 0; i < json_array_size(modes); i++) {
        int r = check_failure_mode(json_array_get(modes, i), i, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

int bench_score_decode(const json_t *object, struct bench_score *ret, struct fault *fault)
{
    enum { PASSED, SCORE, BREAKDOWN, FAILURE_MODES, COST_USD, WALL_CLOCK_MS, FIELDS };
    static const struct field table[FIELDS] = {
        [PASSED] = {"passed", FIELD_BOOLEAN, FIELD_REQUIRED},
        [SCORE] = {"score", FIELD_NUMBER, FIELD_REQUIRED},
        [BREAKDOWN] = {"breakdown", FIELD_OBJECT, FIELD_OPTIONAL},
        [FAILURE_MODES] = {"failure_modes", FIELD_ARRAY, FIELD_OPTIONAL},
        [COST_USD] = {"cost_usd", FIELD_NUMBER, FIELD_OPTIONAL},
        [WALL_CLOCK_MS] = {"wall_clock_ms", FIELD_INTEGER, FIELD_OPTIONAL},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(object, "", table, FIELDS, values, fault);
    if (r < 0)
        return r;

    double score = json_number_value(values[SCORE]);
    if (!(score >= 0 && score <= 1))
        return fault_set(fault, "score: expected a number from 0 to 1");
    double cost = json_number_value(values[COST_USD]);
    if (!(cost >= 0 && isfinite(cost)))
        return fault_set(fault, "cost_usd: expected a number >= 0");
    if ((r = check_breakdown(values[BREAKDOWN], fault)) < 0 ||
        (r = check_failure_modes(values[FAILURE_MODES], fault)) < 0)
        return r;

    _cleanup_bench_score_ struct bench_score decoded = {
        .passed = json_is_true(values[PASSED]),
        .score = score,
        .breakdown = values[BREAKDOWN] ? json_deep_copy(values[BREAKDOWN]) : json_object(),
        .failure_modes =
            values[FAILURE_MODES] ? json_deep_copy(values[FAILURE_MODES]) : json_array(),
        .cost_usd = cost,
        .wall_clock_ms = 1,
    };
    if (!decoded.breakdown || !decoded.failure_modes)
        return -ENOMEM;
    *ret = decoded;
    decoded = (struct bench_score)BENCH_SCORE_NULL;
    return 0;
}

/* Prints a whole number as people write it: 1 and 0 instead of 1.0 and 0.0. */
static void print_number(struct printer *printer, double value)
{
    if (isnan(value))
        printer_word(printer, "null");
    else if (value == 0 || value == 1)
        printer_integer(printer, (int64_t)value);
    else
        printer_real(printer, value);
}

void bench_score_print(const struct bench_score *score, struct printer *printer)
{
    printer_open(printer);
    printer_name(printer, "passed");
    printer_boolean(printer, score->passed);
    printer_name(printer, "score");
    print_number(printer, score->score);
    printer_name(printer, "breakdown");
    printer_value(printer, score->breakdown);
    printer_name(printer, "failure_modes");
    printer_value(printer, score->failure_modes);
    printer_name(printer, "cost_usd");
    print_number(printer, score->cost_usd);
    printer_name(printer, "wall_clock_ms");
    printer_integer(printer, score->wall_clock_ms);
    printer_close(printer);
}
