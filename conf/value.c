/* SPDX-License-Identifier: MIT */
#include "value.h"

#include "proto/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* A writer uses the first unit that divides the value, so the preferred name of a factor comes
 * before its other names. */
static const struct unit size_units[] = {
    {"T", UINT64_C(1) << 40},   {"TiB", UINT64_C(1) << 40}, {"G", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30}, {"M", UINT64_C(1) << 20},   {"MiB", UINT64_C(1) << 20},
    {"K", UINT64_C(1) << 10},   {"KiB", UINT64_C(1) << 10}, {"", 1},
};

static const struct unit duration_units[] = {
    {"h", UINT64_C(3600000)},
    {"min", UINT64_C(60000)},
    {"m", UINT64_C(60000)},
    {"s", 1000},
    {"", 1000},
    {"ms", 1},
};

/* Reads the digits at *AT and moves *AT behind them. */
static int read_digits(const char **at, unsigned base, uint64_t *ret)
{
    const char *digit = *at;
    uint64_t value = 0;

    for (; *digit >= '0' && *digit < (char)('0' + base); digit++)
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*digit - '0'), &value))
            return -ERANGE;
    if (digit == *at)
        return -EINVAL;
    *at = digit;
    *ret = value;
    return 0;
}

static int read_plain(const char *text, unsigned base, uint64_t *ret)
{
    uint64_t value = 0;
    int r = read_digits(&text, base, &value);
    if (r < 0)
        return r;
    if (*text)
        return -EINVAL;
    *ret = value;
    return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

static void write_with_unit(const struct unit *units, size_t count, uint64_t value, char *text)
{
    size_t i = 0;
    if (value == 0) {
        value_write_count(0, text);
        return;
    }
    while (i + 1 < count && value % units[i].factor != 0)
        i++;
    (void)snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 "%s", value / units[i].factor, units[i].name);
}

int value_read_count(const char *text, uint64_t *ret)
{
    return read_plain(text, 10, ret);
}

void value_write_count(uint64_t value, char text[VALUE_TEXT_MAX])
{
    (void)snprintf(text, VALUE_TEXT_MAX, "%" PRIu64, value);
}

int value_read_octal(const char *text, uint64_t *ret)
{
    return read_plain(text, 8, ret);
}

void value_write_octal(uint64_t value, char text[VALUE_TEXT_MAX])
{
    (void)snprintf(text, VALUE_TEXT_MAX, "%#" PRIo64, value);
}

int value_read_size(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    int r = read_digits(&text, 10, &value);
    if (r < 0)
        return r;
    const struct unit *unit = find_unit(size_units, ARRAY_SIZE(size_units), text);
    if (!unit)
        return -EINVAL;
    if (__builtin_mul_overflow(value, unit->factor, &value))
        return -ERANGE;
    *ret = value;
    return 0;
}

void value_write_size(uint64_t value, char text[VALUE_TEXT_MAX])
{
    write_with_unit(size_units, ARRAY_SIZE(size_units), value, text);
}

/* Reads the digits behind a decimal point as the fraction *RET_VALUE / *RET_SCALE. */
static int read_fraction(const char **at, uint64_t *ret_value, uint64_t *ret_scale)
{
    uint64_t value = 0, scale = 1;
    const char *start = *at;
    int r = read_digits(at, 10, &value);
    if (r < 0)
        return r;
    /* Nine digits times the largest factor cannot overflow. */
    if (*at - start > 9)
        return -EINVAL;
    for (; start < *at; start++)
        scale *= 10;
    *ret_value = value;
    *ret_scale = scale;
    return 0;
}

int value_read_duration(const char *text, uint64_t *ret)
{
    uint64_t whole = 0, part = 0, scale = 1;
    int r = read_digits(&text, 10, &whole);
    if (r < 0)
        return r;
    if (*text == '.') {
        text++;
        r = read_fraction(&text, &part, &scale);
        if (r < 0)
            return r;
    }
    const struct unit *unit = find_unit(duration_units, ARRAY_SIZE(duration_units), text);
    if (!unit || part * unit->factor % scale != 0)
        return -EINVAL;
    if (__builtin_mul_overflow(whole, unit->factor, &whole) ||
        __builtin_add_overflow(whole, part * unit->factor / scale, &whole))
        return -ERANGE;
    *ret = whole;
    return 0;
}

void value_write_duration(uint64_t value, char text[VALUE_TEXT_MAX])
{
    write_with_unit(duration_units, ARRAY_SIZE(duration_units), value, text);
}
