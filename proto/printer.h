/* SPDX-License-Identifier: MIT */
#pragma once
/* Compact JSON, printed piece by piece. Memory that runs out is told once, at the end. */

#include "bytes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct printer {
    struct bytes text; /* owned */
    size_t room;
    bool failed;
};

#define PRINTER_NULL        \
    {                       \
        .text = BYTES_NULL, \
    }

/* An object: a name before each value in it. */
void printer_open(struct printer *printer);
void printer_close(struct printer *printer);

/* NAME has nothing in it that would have to be escaped. */
void printer_name(struct printer *printer, const char *name);

/* A value that is printed already: `null`, say. */
void printer_word(struct printer *printer, const char *word);
void printer_bytes(struct printer *printer, const struct bytes *printed);

void printer_boolean(struct printer *printer, bool value);
void printer_integer(struct printer *printer, int64_t value);

/* It reads back as the same double: with 15 significant digits where those are enough (0.1, not
 * 0.10000000000000001), else 16 or 17. Neither infinite nor a NAN. */
void printer_real(struct printer *printer, double value);

/* N bytes of valid UTF-8. */
void printer_string(struct printer *printer, const char *text, size_t n);

/* NULL is memory that has run out. */
void printer_value(struct printer *printer, const json_t *value);

/* Hands the text over, or frees it: 0 or -ENOMEM. */
int printer_finish(struct printer *printer, struct bytes *ret);

/* Prints VALUE alone: compact JSON in which every real reads back as the same double. 0 or
 * -ENOMEM. */
int json_print(const json_t *value, struct bytes *ret);
