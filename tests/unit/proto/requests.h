/* SPDX-License-Identifier: MIT */
#pragma once
/* Requests that must be refused. */

#include "proto/request.h"
#include "tests/unit/quoted.h"

/* The includer defines it: the policy that requests are checked against. */
static struct request_policy policy(void);

/* Fails the test unless the request TEXT is refused with ERROR and exactly the message EXPECTED,
 * and nothing of the result is touched. */
static inline void refuse_as(const char *text, int error, const char *expected)
{
    struct request_policy defaults = policy();
    struct fault fault = FAULT_NULL;
    struct request request, before;
    memset(&request, 0xA5, sizeof(request));
    before = request;
    json_t *message = parse(text);
    int r = request_decode(message, &defaults, &request, &fault);
    json_decref(message);
    if (r != error || strcmp(fault.text, expected) != 0)
        fail_msg("%.300s:\n  %d \"%s\", expected\n  %d \"%s\"", text, r, fault.text, error,
                 expected);
    assert_memory_equal(&request, &before, sizeof(request));
}

static inline void refuse(const char *text, const char *expected)
{
    refuse_as(text, -EINVAL, expected);
}

struct refusal {
    const char *text, *message;
};

static inline void refuse_all(const struct refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        refuse(cases[i].text, cases[i].message);
}
