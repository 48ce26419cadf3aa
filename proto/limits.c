/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *key;
    enum limit_unit unit;
} table[LIMIT_COUNT] = {
#define ENTRY_(ID, name, key, unit, low, high, ceiling, A, B) \
    [LIMIT_##ID] = {name, key, LIMIT_##unit},
    LIMIT_ROWS(ENTRY_, , )
#undef ENTRY_
};

const struct limits limits_ceiling_default = {{
#define ENTRY_(ID, name, key, unit, low, high, ceiling, A, B) [LIMIT_##ID] = (ceiling),
    LIMIT_ROWS(ENTRY_, , )
#undef ENTRY_
}};

bool limit_is_time(enum limit limit)
{
    return limit < LIMIT_COUNT && table[limit].unit == LIMIT_TIME;
}

bool limit_is_in_bytes(enum limit limit)
{
    return limit < LIMIT_COUNT && table[limit].unit == LIMIT_BYTES;
}

const char *limit_name(enum limit limit)
{
    return limit < LIMIT_COUNT ? table[limit].name : NULL;
}

const char *limit_key(enum limit limit)
{
    return limit < LIMIT_COUNT ? table[limit].key : NULL;
}

enum limit limit_from_key(const char *key)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (strcmp(key, table[limit].key) == 0)
            return limit;
    return LIMIT_NONE;
}
