/* SPDX-License-Identifier: MIT */
#pragma once
/* Prints compact JSON piece by piece. printer_finish() reports memory that ran out on the way. */

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

/* Open and close an object. Print a name before each value in it. */
void printer_open(struct printer *printer);
void printer_close(struct printer *printer);

/* Open and close an array. Call printer_item() before each value in it. */
void printer_open_list(struct printer *printer);
void printer_close_list(struct printer *printer);
void printer_item(struct printer *printer);

/* NAME must not need escapes. */
void printer_name(struct printer *printer, const char *name);

/* Print a value that is JSON text already, such as `null`. */
void printer_word(struct printer *printer, const char *word);
void printer_bytes(struct printer *printer, const struct bytes *printed);

/* Returns room for N bytes, in which a caller prints itself, and takes the first N of them into the
 * text. NULL if memory ran out. */
char *printer_room(struct printer *printer, size_t n);
void printer_advance(struct printer *printer, size_t n);

void printer_boolean(struct printer *printer, bool value);
void printer_integer(struct printer *printer, int64_t value);

/* Prints VALUE, which is finite, so that it reads back as the same double: with 15 significant
 * digits if they suffice (0.1, not 0.10000000000000001), else with 16 or 17. */
void printer_real(struct printer *printer, double value);

/* TEXT is N bytes of valid UTF-8. */
void printer_string(struct printer *printer, const char *text, size_t n);

/* Takes NULL as memory that ran out where the value was made. */
void printer_value(struct printer *printer, const json_t *value);

/* Hands the text over in *ret, or frees it if memory ran out. 0 or -ENOMEM. */
int printer_finish(struct printer *printer, struct bytes *ret);

/* Prints VALUE alone: compact JSON in which every real reads back as the same double. 0 or
 * -ENOMEM. */
int json_print(const json_t *value, struct bytes *ret);
