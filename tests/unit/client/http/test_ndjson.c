/* SPDX-License-Identifier: MIT */
#include "client/http/ndjson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_MAX 200

/* Writes the lines as "NUMBER:TEXT;", looking at STEP bytes at a time. */
static void read_lines(const char *body, size_t step, char out[TEXT_MAX])
{
    struct ndjson reader = {0};
    size_t length = strlen(body), used = 0, calls = 0;
    out[0] = '\0';
    while (!ndjson_at_end(&reader, length)) {
        const char *line;
        size_t n, budget = step;
        if (ndjson_next(&reader, body, length, &budget, &line, &n))
            used += (size_t)snprintf(out + used, TEXT_MAX - used, "%zu:%.*s;", reader.line, (int)n,
                                     line);
        assert_true(budget <= step);
        assert_true(++calls <= length);
    }
}

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *body, *lines;
    } table[] = {
        {"", ""},
        {"\n", ""},
        {" \t\r\n\n  ", ""},
        {"a", "1:a;"},
        {"a\n", "1:a;"},
        {"a \r\n", "1:a;"},
        {"\n\nab\n\n c  d\t\n \ne", "3:ab;5: c  d;7:e;"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        for (size_t step = 1; step < 12; step++) {
            char text[TEXT_MAX];
            read_lines(table[i].body, step, text);
            assert_string_equal(text, table[i].lines);
        }
}

/* However long the body or a line of it, a call looks at no more than it may. */
static void test_a_call_is_bounded(void **state)
{
    (void)state;
    static const char *const bodies[] = {"\n\n\n\n\n\n\n\n", "        ", "xxxxxxxx",
                                         " \n \n \n \n"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct ndjson reader = {0};
        const char *line;
        size_t n, budget = 5;
        assert_false(ndjson_next(&reader, bodies[i], 8, &budget, &line, &n));
        assert_int_equal(budget, 0);
        assert_int_equal(reader.at + reader.looked, 5);
        assert_false(ndjson_at_end(&reader, 8));
        assert_false(ndjson_next(&reader, bodies[i], 8, &budget, &line, &n));
        assert_int_equal(reader.at + reader.looked, 5);
    }
}

static void test_going_back(void **state)
{
    (void)state;
    static const char body[] = "a\n bc \nd";
    struct ndjson reader = {0};
    const char *line;
    size_t n, budget = 100;
    assert_true(ndjson_next(&reader, body, strlen(body), &budget, &line, &n));
    for (size_t i = 0; i < 3; i++) {
        assert_true(ndjson_next(&reader, body, strlen(body), &budget, &line, &n));
        assert_int_equal(reader.line, 2);
        assert_memory_equal(line, " bc", n);
        ndjson_go_back(&reader, (size_t)(line - body));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_a_call_is_bounded),
        cmocka_unit_test(test_going_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
