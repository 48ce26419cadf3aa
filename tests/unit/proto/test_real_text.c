/* SPDX-License-Identifier: MIT */
/* Compares how reals are printed with what jansson makes of as many digits as they need. */
#include "proto/real_text.h"
#include "proto/util.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How many digits VALUE needs to read back as itself. */
static size_t digits_of(double value)
{
    for (int digits = 15; digits < 17; digits++) {
        char text[40];
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return (size_t)digits;
    }
    return 17;
}

static void check(double value)
{
    char found[REAL_TEXT_MAX + 1] = "";
    json_t *real = json_real(value);
    assert_non_null(real);
    char *expected = json_dumps(real, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits_of(value)));
    assert_non_null(expected);
    found[real_text(value, found)] = '\0';
    assert_string_equal(found, expected);
    free(expected);
    json_decref(real);
}

static void test_chosen_ones(void **state)
{
    static const double values[] = {
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        0.29,
        123.456,
        1e14,
        1e15,
        1e16,
        1e17,
        1e22,
        1e23,
        1e-4,
        1e-5,
        9.5e-5,
        5e-324,
        DBL_MIN,
        DBL_MAX,
        -DBL_MAX,
        DBL_EPSILON,
        M_PI,
        1.0 / 3,
        0.1 + 0.2,
        0x1p53,
        0x1p-1022 - 0x1p-1074,
        9999999999999998.0,
        0.99999999999999989,
        999999999999999.0,
        9.9999999999999995e22,
        1 - 0x1p-53,
        1 + 0x1p-52,
        123456789012345680.0,
        1234567890123456.7,
        0.00012345678901234567,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        check(values[i]);
    for (int e = -1074; e < 1024; e++) {
        check(ldexp(1, e));
        check(nextafter(ldexp(1, e), 0));
        check(nextafter(ldexp(1, e), INFINITY));
    }
}

static double any_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Any bits, and decimals of up to 17 digits and those beside them. */
static void test_many(void **state)
{
    uint64_t seed = 7;
    char text[40];
    (void)state;
    for (int i = 0; i < 50000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (isfinite(any_of(seed)))
            check(any_of(seed));
        check((double)(seed >> 11) * 0x1p-53);
        check((double)(seed >> 20) / pow(10, i % 23));
        (void)snprintf(text, sizeof(text), "%.*e", (int)(seed >> 60) + 1, any_of(seed ^ i));
        double value = strtod(text, NULL);
        if (!isfinite(value))
            continue;
        check(value);
        check(isfinite(nextafter(value, INFINITY)) ? nextafter(value, INFINITY) : value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen_ones),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
