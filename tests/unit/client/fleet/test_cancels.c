/* SPDX-License-Identifier: MIT */
#include "client/fleet/cancels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BEGAN INT64_C(5000)

static void test_for_a_while(void **state)
{
    struct cancels cancels;
    (void)state;
    assert_int_equal(cancels_init(&cancels), 0);
    assert_false(cancels_has(&cancels, 1, BEGAN));
    cancels_note(&cancels, 1, BEGAN);
    cancels_note(&cancels, 2, BEGAN + 10);
    assert_true(cancels_has(&cancels, 1, BEGAN + CANCELS_MS));
    assert_true(cancels_has(&cancels, 2, BEGAN + CANCELS_MS));
    assert_false(cancels_has(&cancels, 3, BEGAN + 10));
    assert_false(cancels_has(&cancels, 1, BEGAN + CANCELS_MS + 1));
    assert_true(cancels_has(&cancels, 2, BEGAN + CANCELS_MS + 10));
    assert_false(cancels_has(&cancels, 2, BEGAN + CANCELS_MS + 11));
    cancels_deinit(&cancels);
}

/* More of them than fit: the newest ones are known. A job without a number never is. */
static void test_bound(void **state)
{
    struct cancels cancels;
    (void)state;
    assert_int_equal(cancels_init(&cancels), 0);
    for (uint64_t number = 1; number <= CANCELS_MAX + 5; number++)
        cancels_note(&cancels, number, BEGAN);
    assert_false(cancels_has(&cancels, 5, BEGAN));
    assert_true(cancels_has(&cancels, 6, BEGAN));
    assert_true(cancels_has(&cancels, CANCELS_MAX + 5, BEGAN));
    assert_false(cancels_has(&cancels, 0, BEGAN));
    cancels_deinit(&cancels);
}

/* It is of one job, however many of that id there are. */
static void test_of_which_job(void **state)
{
    char text[NAMES_SUBJECT_SIZE];
    struct cancel cancel;
    (void)state;
    assert_true(cancel_read(text, cancel_print("r", 3, "t", 1, text), &cancel));
    assert_true(cancel_is_of(&cancel, &(struct names_job){"r", 3, "t"}));
    assert_false(cancel_is_of(&cancel, &(struct names_job){"s", 3, "t"}));
    assert_false(cancel_is_of(&cancel, &(struct names_job){"r", 4, "t"}));
    assert_false(cancel_is_of(&cancel, &(struct names_job){"r", 3, "u"}));
}

static void test_message(void **state)
{
    char text[NAMES_SUBJECT_SIZE], run[NAMES_RUN_MAX + 1], token[NAMES_TOKEN_MAX + 1];
    struct cancel cancel;
    (void)state;
    memset(run, 'r', NAMES_RUN_MAX);
    memset(token, 't', NAMES_TOKEN_MAX);
    run[NAMES_RUN_MAX] = token[NAMES_TOKEN_MAX] = '\0';
    size_t n = cancel_print(run, NAMES_PRIORITY_MIN, token, UINT64_MAX, text);
    assert_true(cancel_read(text, n, &cancel));
    assert_string_equal(cancel.run, run);
    assert_string_equal(cancel.token, token);
    assert_true(cancel.number == UINT64_MAX);
    n = cancel_print("r", 0, "a%20b", 0x1f, text);
    assert_string_equal(text, "r p10 a%20b 000000000000001f");
    assert_true(cancel_read(text, n, &cancel));
    assert_true(cancel.number == 0x1f);
    static const char *const wrong[] = {
        "",
        "r",
        "r p10 t",
        " p10 t 000000000000001f",
        "r  t 000000000000001f",
        "r p10  000000000000001f",
        "r t 000000000000001f",
        "r p10 t 0000000000000000",
        "r p10 t 1f",
        "r p10 t 000000000000001g",
        "r p10 t 000000000000001f ",
        "r p10 t u 000000000000001f",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(cancel_read(wrong[i], strlen(wrong[i]), &cancel));
    char large[2 * NAMES_SUBJECT_SIZE];
    memset(large, 'x', sizeof(large));
    assert_false(cancel_read(large, sizeof(large), &cancel));
    large[NAMES_RUN_MAX + 1] = ' ';
    assert_false(cancel_read(large, NAMES_RUN_MAX + 20, &cancel));
}

static void test_number(void **state)
{
    char text[CANCEL_NUMBER_SIZE];
    (void)state;
    cancel_print_number(0xabc, text);
    assert_string_equal(text, "0000000000000abc");
    assert_true(cancel_read_number(text) == 0xabc);
    assert_true(cancel_read_number(NULL) == 0);
    assert_true(cancel_read_number("abc") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for_a_while),  cmocka_unit_test(test_bound),
        cmocka_unit_test(test_of_which_job), cmocka_unit_test(test_message),
        cmocka_unit_test(test_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
