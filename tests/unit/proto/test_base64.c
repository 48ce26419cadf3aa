/* SPDX-License-Identifier: MIT */
/* Tests base64: the vectors of RFC 4648, texts that are almost base64, and round trips. */
#include "proto/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const vectors[][2] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

static void test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
        _cleanup_bytes_ struct bytes decoded = BYTES_NULL, encoded = BYTES_NULL;
        assert_int_equal(base64_decode(vectors[i][1], strlen(vectors[i][1]), &decoded), 0);
        assert_int_equal(decoded.length, strlen(vectors[i][0]));
        assert_string_equal(decoded.data, vectors[i][0]);
        assert_int_equal(base64_encode(vectors[i][0], strlen(vectors[i][0]), &encoded), 0);
        assert_int_equal(encoded.length, strlen(vectors[i][1]));
        assert_string_equal(encoded.data, vectors[i][1]);
    }
}

static void refuse(const char *text, size_t n)
{
    /* An allocation of the exact size, so that a sanitizer detects reads past the end. */
    char *copy = malloc(MAX(n, 1));
    struct bytes decoded = {.data = NULL, .length = 4711};
    assert_non_null(copy);
    memcpy(copy, text, n);
    int r = base64_decode(copy, n, &decoded);
    free(copy);
    if (r != -EINVAL)
        fail_msg("\"%.*s\" (%zu bytes): %d", (int)n, text, n, r);
    assert_null(decoded.data);
    assert_int_equal(decoded.length, 4711);
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "A",
        "AA",
        "AAA",
        "AAAAA",
        "=",
        "==",
        "===",
        "====",
        "A===",
        "A=AA",
        "AA=A",
        "=AAA",
        "AAA=AAAA",
        "AA==AAAA",
        "AAAA====",
        "AAA= ",
        " AAA",
        "AA A",
        "AAA\n",
        "AAAA\n",
        "AA\nAA",
        "AA-A",
        "AA_A",
        "AA.A",
        "AA,A",
        "\200AAA",
        "AAA\xff",
        /* non-zero bits that the padding leaves unused */
        "AB==",
        "Zh==",
        "AAB=",
        "Zm9=",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        refuse(texts[i], strlen(texts[i]));
    refuse("AA\0A", 4);
    refuse("AAA\0", 4);
    refuse("AA==\0\0\0\0", 8);
}

/* Every byte in each of the four places: 64 are valid. */
static void test_alphabet(void **state)
{
    (void)state;
    for (unsigned place = 0; place < 4; place++) {
        unsigned right = 0;
        for (int c = 0; c < 256; c++) {
            _cleanup_bytes_ struct bytes decoded = BYTES_NULL;
            char text[] = "AAAA";
            text[place] = (char)c;
            int r = base64_decode(text, 4, &decoded);
            assert_true(r == 0 || r == -EINVAL);
            right += r == 0;
        }
        assert_int_equal(right, place == 3 ? 65 : 64); /* padding is valid in the last place */
    }
}

static void test_both_ways(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++) {
        char data[70];
        _cleanup_bytes_ struct bytes encoded = BYTES_NULL, decoded = BYTES_NULL;
        for (size_t i = 0; i < n; i++)
            data[i] = (char)(i * 151 + n * 37 + 0xF3);
        assert_int_equal(base64_encode(data, n, &encoded), 0);
        assert_int_equal(base64_decode(encoded.data, encoded.length, &decoded), 0);
        assert_int_equal(decoded.length, n);
        assert_memory_equal(decoded.data, data, n);
        assert_int_equal(decoded.data[n], '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_alphabet),
        cmocka_unit_test(test_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
