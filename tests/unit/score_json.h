/* SPDX-License-Identifier: MIT */
#pragma once
/* Converts a score to JSON as a client reads it. */

#include "proto/benchscore.h"

/* Returns a new reference; NULL if memory runs out. */
static inline json_t *score_to_json(const struct bench_score *score)
{
    struct printer printer = PRINTER_NULL;
    struct fault fault = FAULT_NULL;
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    json_t *object = NULL;
    bench_score_print(score, &printer);
    if (printer_finish(&printer, &text) == 0)
        (void)json_read_object(text.data, text.length, &object, &fault);
    return object;
}
