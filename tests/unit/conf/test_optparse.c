/* SPDX-License-Identifier: MIT */
#include "conf/optparse.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* client/cli/test_options.c tests the meaning of options; this file tests what its
 * tests cannot see: the complaints, the bound of a list, and an option that ends the reading. */

struct values {
    bool flag;
    bool end;
    long number;
    struct text_list list, single;
};

static const struct option_spec specs[] = {
    {.letter = 'f', .name = "flag", .kind = OPTION_FLAG, .offset = offsetof(struct values, flag)},
    {.letter = 'e',
     .name = "end",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct values, end),
     .last = true},
    {.name = "number",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct values, number),
     .min = 3,
     .max = 5},
    {.letter = 'l',
     .name = "list",
     .argument = "ITEM",
     .kind = OPTION_LIST,
     .offset = offsetof(struct values, list),
     .max = 2},
    {.name = "single",
     .argument = "ITEM",
     .kind = OPTION_LIST,
     .offset = offsetof(struct values, single),
     .max = 1},
};

#define WORDS_MAX 8

/* WORDS are separated by spaces. */
static int parse(const char *words, struct values *ret, struct fault *fault)
{
    char copy[256];
    char *argv[WORDS_MAX + 1] = {NULL}, *rest = NULL;
    int argc = 0;
    (void)snprintf(copy, sizeof(copy), "program %s", words);
    for (char *word = strtok_r(copy, " ", &rest); word && argc < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    *ret = (struct values){.flag = false};
    const struct command_line line = {
        .sets = {{specs, ARRAY_SIZE(specs), ret}},
        .hint = "; ask somebody",
    };
    return optparse_read(&line, argc, argv, fault);
}

static void test_complaints(void **state)
{
    static const struct {
        const char *words, *complaint;
    } cases[] = {
        {"--nonsense", "unknown option --nonsense; ask somebody"},
        {"--flga", "unknown option --flga; did you mean --flag?"},
        {"--numer=4", "unknown option --numer=4; did you mean --number?"},
        {"-x", "unknown option -x; ask somebody"},
        {"--flag=1", "--flag takes no value"},
        {"--number", "--number: N is missing"},
        {"-l", "--list: ITEM is missing"},
        {"--number=2", "--number: expected a whole number from 3 to 5, got \"2\""},
        {"--number=4x", "--number: expected a whole number from 3 to 5, got \"4x\""},
        {"--number=", "--number: expected a whole number from 3 to 5, got \"\""},
        {"-la -lb -lc", "--list: given more than 2 times"},
        {"--single=a --single=b", "--single: given more than 1 times"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct values values;
        struct fault fault = FAULT_NULL;
        assert_int_equal(parse(cases[i].words, &values, &fault), -EINVAL);
        assert_string_equal(fault.text, cases[i].complaint);
        optparse_deinit(specs, ARRAY_SIZE(specs), &values);
        assert_null(values.list.items);
    }
}

static void test_the_last_option(void **state)
{
    struct values values;
    struct fault fault = FAULT_NULL;
    (void)state;
    assert_int_equal(parse("-f --end --nonsense word", &values, &fault), 5);
    assert_true(values.flag && values.end);
    assert_int_equal(parse("--nonsense --end", &values, &fault), -EINVAL);
    assert_false(values.end);
}

static void test_a_list_within_its_bound(void **state)
{
    struct values values;
    struct fault fault = FAULT_NULL;
    (void)state;
    assert_int_equal(parse("-la word -lb", &values, &fault), 3);
    assert_int_equal(values.list.n, 2);
    assert_string_equal(values.list.items[1], "b");
    optparse_deinit(specs, ARRAY_SIZE(specs), &values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complaints),
        cmocka_unit_test(test_the_last_option),
        cmocka_unit_test(test_a_list_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
