/* SPDX-License-Identifier: MIT */
#pragma once
/* The bearer tokens: a file with a line "NAME TOKEN" for each. Blank lines and lines that begin
 * with # are skipped. Only the tokens' SHA-256 stays in memory, and no message shows a token. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stdint.h>

#define TOKENS_MAX 1024
#define TOKEN_NAME_MAX 64
/* The least characters of a token: short ones can be guessed. */
#define TOKEN_LENGTH_MIN 16
#define TOKEN_DIGEST_SIZE 32

struct token {
    char name[TOKEN_NAME_MAX + 1];
    uint8_t digest[TOKEN_DIGEST_SIZE];
};

struct tokens {
    struct token *item;
    size_t count;
};

#define TOKENS_NULL  \
    {                \
        .item = NULL \
    }

/* Reads the file at PATH, which others than its owner and group must not be able to read. Negative
 * errno with FAULT, which names the line; a file without any token is -EINVAL. */
int tokens_load(const char *path, struct tokens *ret, struct fault *fault);

/* Returns the name of the client whose token PRESENTED is; NULL if no token matches, or if
 * PRESENTED is NULL. Takes the same time whichever token it is and however many of its bytes are
 * right. */
const char *tokens_match(const struct tokens *tokens, const char *presented);

void tokens_deinit(struct tokens *tokens);
