/* SPDX-License-Identifier: MIT */
/* Checks that extraction takes linear time for every input. Measures no time: for this program
 * extraction.c is compiled so that each basic block calls the function below, which counts. */
#include "proto/extraction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SMALL ((size_t)32 << 10)
#define FACTOR 32
/* Maximum steps for a byte. The most expensive text here takes 30 to 60. */
#define STEPS_PER_BYTE 120

static unsigned long long steps;

__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

/* A text is HEAD, many times UNIT, and TAIL. In each UNIT a run of RUN replaces the %. Its length
 * is the number of units before (GROWS) or after it (SHRINKS). */
enum shape {
    PLAIN,
    GROWS,
    SHRINKS,
};

struct hostile {
    const char *head, *unit, *tail;
    enum shape shape;
    char run;
};

static const struct hostile texts[] = {
    {"", "`", "", PLAIN, 0},
    {"", "~", "", PLAIN, 0},
    {"```\n", "`", "\n", PLAIN, 0},
    {"```\n", "``` ", "\n", PLAIN, 0},
    {"```\n", "`` ", "\n", PLAIN, 0},
    {"", "```\n", "", PLAIN, 0},
    {"", "```", "\n", PLAIN, 0},
    {"", "``` ", "", PLAIN, 0},
    {"", "x``` y", "", PLAIN, 0},
    {"", "```x\n", "", PLAIN, 0},
    {"", "```python\n", "", PLAIN, 0},
    {"", "a ```python\n", "", PLAIN, 0},
    {"", "``` ~~~ ", "", PLAIN, 0},
    {"``` ", "~~~ ", "", PLAIN, 0},
    {"", "a~~~", "", PLAIN, 0},
    {"", "```\n~~~\n", "", PLAIN, 0},
    {"", "```\nx\n", "", PLAIN, 0},
    {"", "```a```\n", "", PLAIN, 0},
    {"", " ", "```", PLAIN, 0},
    {"```\n", " ", "", PLAIN, 0},
    {"```\n", " ", "x", PLAIN, 0},
    {"```\n", " x\n", "", PLAIN, 0},
    {"```\n", "\n", "", PLAIN, 0},
    {"```", "a", "", PLAIN, 0},
    {"```\n", "a", "", PLAIN, 0},
    {"```", " ", "", PLAIN, 0},
    {"x\n", " ", "```", PLAIN, 0},
    {"", "\r", "", PLAIN, 0},
    {"", "\r\n", "", PLAIN, 0},
    {"", "<", "", PLAIN, 0},
    {"", "<think>", "", PLAIN, 0},
    {"", "</think>", "", PLAIN, 0},
    {"", "<think></think>", "", PLAIN, 0},
    {"", "<think><think></think>", "", PLAIN, 0},
    {"</think>", "<think>", "", PLAIN, 0},
    {"<think></think>", "<think>", "", PLAIN, 0},
    {"<think><think></think>", "<think", "", PLAIN, 0},
    {"", "'<think>", "</think>", PLAIN, 0},
    {"", "</think>`", "x", PLAIN, 0},
    {"```\n", "\"", "", PLAIN, 0},
    {"```\n", "\"\"\"'''", "", PLAIN, 0},
    {"```\n", "\"\"\"\n```\n", "", PLAIN, 0},
    {"", "```\n\"\"\"\n```\n", "", PLAIN, 0},
    {"", "```\n\"\"\"\n```\n'''\n", "", PLAIN, 0},
    {"", "```\n'\"\"\"\n```\n\"\"\"\n```\n'''\n", "", PLAIN, 0},
    {"", "```\n\"\"\"\n```python\n", "", PLAIN, 0},
    {"", "% ", "", GROWS, '`'},
    {"", "% ", "", SHRINKS, '`'},
    {"x ", "% ", "", SHRINKS, '`'},
    {"x ", "% ", "", GROWS, '`'},
    {"", "%\n", "", GROWS, '`'},
    {"", "%\n", "", SHRINKS, '`'},
    {"", "%\n", "", GROWS, '~'},
    {"", "x %\n", "", SHRINKS, '~'},
    {"", "%```\n", "", GROWS, ' '},
    {"", "%```python\n", "", GROWS, '\t'},
    {"", "```%\n", "", GROWS, ' '},
    {"", "```%\n", "", SHRINKS, 'a'},
    {"```\n", "%a\n", "", GROWS, ' '},
    {"```\n", "%a\n", "", SHRINKS, ' '},
    {"```\n", "\"\"\"%```\n", "", GROWS, ' '},
    {"", "</s>", "", PLAIN, 0},
    {"", "</s>", "x", PLAIN, 0},
    {"```\n", "```</s>\n", "", PLAIN, 0},
    {"```\n", "</s> ", "\n", PLAIN, 0},
    {"```\n", "<|abcd|>", "\nxyz", PLAIN, 0}, /* at either size the last unit is whole */
    {"", "<|", "|>", PLAIN, 0},
    {"", "a", "|>", PLAIN, 0},
    {"", "|>", "", PLAIN, 0},
    {"```\n", "%|>\n", "", GROWS, 'a'},
    {"```\n", "<|%|>", "", GROWS, 'a'},
};

/* Makes N bytes of HOSTILE. */
static char *make(const struct hostile *hostile, size_t n)
{
    size_t tail = strlen(hostile->tail), length = strlen(hostile->head);
    char *text = malloc(n + 1);
    assert_non_null(text);
    memcpy(text, hostile->head, length);

    /* Shrinking runs begin with a length that gives about N bytes in all. */
    size_t width = 0;
    while (hostile->shape == SHRINKS && width * width / 2 < n)
        width++;
    for (const char *u = hostile->unit; length < n - tail; u = u[1] ? u + 1 : hostile->unit) {
        if (*u == '%')
            for (size_t i = 0; i < width && length < n - tail; i++)
                text[length++] = hostile->run;
        else
            text[length++] = *u;
        if (!u[1])
            width += hostile->shape == GROWS ? 1 : hostile->shape == SHRINKS && width > 3 ? -1 : 0;
    }
    memcpy(text + length, hostile->tail, tail);
    return text;
}

static unsigned long long count_steps(const struct hostile *hostile, size_t n)
{
    struct bytes code;
    bool fenced;
    char *text = make(hostile, n);
    steps = 0;
    assert_int_equal(extraction_find(text, n, extraction_python_tags, &code, &fenced), 0);
    free(text);
    bytes_deinit(&code);
    return steps;
}

static void test_linear(void **state)
{
    unsigned wrong = 0;
    double dearest = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        unsigned long long small = count_steps(&texts[i], SMALL);
        unsigned long long large = count_steps(&texts[i], SMALL * FACTOR);
        double per_byte = (double)large / (double)(SMALL * FACTOR);
        dearest = MAX(dearest, per_byte);
        /* The first condition shows that steps are counted at all. */
        if (small < SMALL / 4 || (double)large > (double)small * FACTOR * 1.5 ||
            per_byte > STEPS_PER_BYTE) {
            print_error("text %zu (%s%s): %llu steps for %zu bytes, %llu for %d times as many\n", i,
                        texts[i].head, texts[i].unit, small, SMALL, large, FACTOR);
            wrong++;
        }
    }
    print_message("# the dearest text takes %.0f steps a byte\n", dearest);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
