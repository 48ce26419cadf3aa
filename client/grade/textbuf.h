/* SPDX-License-Identifier: MIT */
#pragma once
/* Puts a text together of pieces, to become a string of JSON. */

#include "proto/json.h"

#include <stdio.h>

struct textbuf {
    FILE *out; /* write to it; NULL after a failure */
    char *data;
    size_t n;
};

#define TEXTBUF_NULL \
    {                \
        .out = NULL  \
    }

/* Opens an empty text. 0 or -ENOMEM. */
int textbuf_open(struct textbuf *text);

/* Adds the N bytes of DATA, or a string of JSON, which may be NULL. */
void textbuf_add(struct textbuf *text, const char *data, size_t n);
void textbuf_add_json(struct textbuf *text, const json_t *string);

/* Makes the string, which the caller owns, and frees the rest. 0 or -ENOMEM. */
int textbuf_finish(struct textbuf *text, json_t **ret);
void textbuf_deinit(struct textbuf *text);
#define _cleanup_textbuf_ _cleanup_(textbuf_deinit)
