/* SPDX-License-Identifier: MIT */
#pragma once
/* Which of many names are the inputs of tests, and which expected output belongs to each. Pure.
 *
 * A name is split into words: letters in a row, and what lies between. It is an input if one of its
 * words is in, inp, input, inputs or stdin, and an expected output if one is out, output, outputs,
 * ans, answer, answers, expected or stdout. Both belong together if their names are the same
 * but for that word. So these are pairs: 1.in and 1.out or 1.ans; input1.txt and output1.txt;
 * in/01.txt and out/01.txt; input/input07.txt and output/output07.txt; test.in.1 and test.out.1.
 * NAME and NAME.a belong together, too, as Polygon exports them: so NAME.a is an expected output
 * even without NAME, and if 01 has its 01.a, 02 beside it is an input. Names of other forms are no
 * tests, nor are sources, documents and hidden files. If two sources or documents would be a pair
 * by their names, they are among those left. */

#include "proto/fault.h"

#include <stdbool.h>

/* Tests of one job. */
#define TEST_PAIRS_MAX 10000
/* Bytes of one name. */
#define TEST_NAME_MAX 1023

struct test_pair {
    char *name;           /* for people: "1", "test.1", "01" */
    size_t input, output; /* which of the names */
};

/* In the order of their names, in which 2 comes before 10. */
struct test_pairs {
    struct test_pair *pairs;
    size_t n;
    size_t *left; /* which names are part of no pair, and not clearly those of other things */
    size_t n_left;
};

#define TEST_PAIRS_NULL \
    {                   \
        .pairs = NULL   \
    }

/* Whether NAME is clearly that of no test, whatever words it has: hidden, a source, a document. */
bool test_name_is_other(const char *name);

void test_pairs_deinit(struct test_pairs *pairs);
#define _cleanup_test_pairs_ _cleanup_(test_pairs_deinit)

/* Finds the tests among N NAMES. -EINVAL with FAULT if there are none or too many, or if a name is
 * a part of a test without the other part, or with two of them; -ENOMEM. */
int test_pairs_find(const char *const *names, size_t n, struct test_pairs *ret,
                    struct fault *fault);
