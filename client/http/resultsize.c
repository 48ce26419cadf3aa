/* SPDX-License-Identifier: MIT */
/* Sums up what proto/protocol.md says of the sizes of results. */
#include "resultsize.h"

#include "proto/jobspec.h"
#include "proto/reply.h"
#include "proto/util.h"

#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)

/* A control character takes six bytes of JSON: \u0001. */
#define ESCAPED 6
/* Members of fixed size, and `stderr` and `summary` of the outcome. */
#define FIXED ((64 + (64 + 4) * ESCAPED) * KIB)
/* Text that comes back has no control characters but those of two bytes in JSON. */
#define COLLECTED (SANDBOX_COLLECTED_MAX * 2 + 1023 * KIB * ESCAPED)
/* Excerpts of all tests of a program, and what each test has beside them. */
#define DETAILS (MIB * ESCAPED)
#define PER_TEST 512
/* Where nobody knows better: the largest default that a kind has. */
#define OUTPUT_UNKNOWN (4 * MIB)

static uint64_t bytes_at(const json_t *limits, const char *group, const char *kind)
{
    const json_t *value = json_object_get(
        json_object_get(json_object_get(limits, group), kind ? kind : ""), "output_bytes");
    return (uint64_t)MAX(json_integer_value(value), 0);
}

/* Returns the bytes that the job, or a step of it, may write, if OWN are its limits. */
static uint64_t output_of(const json_t *own, uint64_t usual, uint64_t most)
{
    const json_t *value = json_object_get(own, "output_bytes");
    uint64_t wanted = json_is_integer(value) ? (uint64_t)MAX(json_integer_value(value), 0) : usual;
    return most > 0 ? MIN(wanted, most) : wanted;
}

uint64_t resultsize_most(const json_t *job, const json_t *limits)
{
    const char *kind = json_string_value(json_object_get(job, "kind"));
    uint64_t usual = bytes_at(limits, "defaults", kind), most = bytes_at(limits, "ceilings", kind);
    uint64_t job_output =
        output_of(json_object_get(job, "limits"), usual > 0 ? usual : OUTPUT_UNKNOWN, most);
    const json_t *steps = json_object_get(job, "steps"), *step;
    uint64_t output = json_is_array(steps) ? 0 : job_output;
    size_t i;
    json_array_foreach(steps, i, step) output +=
        output_of(json_object_get(step, "limits"), job_output, most);
    uint64_t size = FIXED + MIN(output, (uint64_t)REPLY_STDOUT_MAX) * ESCAPED;
    if (json_array_size(json_object_get(job, "collect")) > 0)
        size += COLLECTED;
    if (kind && strcmp(kind, "program") == 0)
        size += DETAILS + json_array_size(json_object_get(job, "tests")) * PER_TEST;
    return size;
}
