/* SPDX-License-Identifier: MIT */
#include "digest.h"

#include <sha2.h>
#include <string.h>

static int feed(const char *text, size_t n, void *context)
{
    SHA256Update(context, (const uint8_t *)text, n);
    return 0;
}

int digest_json(const json_t *value, char ret[DIGEST_SIZE])
{
    SHA2_CTX context;
    SHA256Init(&context);
    if (json_dump_callback(value, feed, &context, JSON_COMPACT | JSON_SORT_KEYS) < 0)
        return -ENOMEM;
    (void)SHA256End(&context, ret);
    return 0;
}

uint64_t digest_head(const char *text)
{
    char head[17];
    char *end;
    if (!text || strlen(text) != DIGEST_SIZE - 1)
        return 0;
    memcpy(head, text, 16);
    head[16] = '\0';
    uint64_t value = strtoull(head, &end, 16);
    return *end ? 0 : value;
}
