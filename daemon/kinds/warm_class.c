/* SPDX-License-Identifier: MIT */
#include "warm_class.h"

#include "proto/fnv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void warm_class_add_text(SHA2_CTX *context, const char *text)
{
    SHA256Update(context, (const uint8_t *)text, strlen(text) + 1);
}

void warm_class_add_number(SHA2_CTX *context, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    warm_class_add_text(context, text);
}

/* Whether the daemon alone enforces the limit, so that a process does not get it at its start. */
static bool is_of_daemon(enum limit limit)
{
    return limit == LIMIT_WALL_CLOCK || limit == LIMIT_OUTPUT;
}

void warm_class_add_limits(SHA2_CTX *context, const struct limits *limits)
{
    for (unsigned i = 0; i < LIMIT_COUNT; i++)
        if (!is_of_daemon((enum limit)i))
            warm_class_add_number(context, limits->of[i]);
}

uint64_t warm_class_affinity(const char *const *texts, size_t count)
{
    uint64_t hash = FNV_BASIS;
    for (size_t i = 0; i < count; i++)
        hash = fnv_add(hash, texts[i] ? texts[i] : "");
    return hash | 1;
}

void warm_class_tell(const struct slot_result *result, struct judgement *ret)
{
    const struct link_loaded *of_class = &result->of_class;
    bool is_loaded = of_class->error == 0 && *of_class->digest;
    ret->warm_class = is_loaded ? of_class->digest : NULL;
    ret->no_warm_class = is_loaded        ? NULL
                         : *of_class->why ? of_class->why
                                          : "its jail does not tell";
}
