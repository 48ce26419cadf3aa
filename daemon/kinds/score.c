/* SPDX-License-Identifier: MIT */
#include "score.h"
#include "outcome.h"

#include <string.h>

/* Maximum bytes of stderr in a failure's detail. */
#define DETAIL_STDERR_BYTES 200

static int block(const char *code, const char *detail, struct bench_score *ret)
{
    return bench_score_block(code, detail, detail ? strlen(detail) : 0, ret);
}

/* A failure mode and the text that the task class does not list: both borrowed. */
struct unknown {
    const char *code;
    const char *text; /* NULL: none */
    size_t length;
};

static int score_failure(const struct score_input *input, struct bench_score *ret)
{
    char what[80];
    if (input->err->length > 0)
        return bench_score_block("rubric.malformed_output", input->err->data,
                                 MIN(input->err->length, (size_t)DETAIL_STDERR_BYTES), ret);
    outcome_describe(input->outcome, what, sizeof(what));
    return block("rubric.malformed_output", what, ret);
}

/* Finds the first breakdown key or failure-mode code that the task class does not list. */
static struct unknown find_unknown(const struct bench_score *score, const struct task_class *lists)
{
    for (void *i = json_object_iter(score->breakdown); lists->breakdown_keys && i;
         i = json_object_iter_next(score->breakdown, i)) {
        const char *key = json_object_iter_key(i);
        if (!json_object_get(lists->breakdown_keys, key))
            return (struct unknown){"rubric.unknown_breakdown_key", key, strlen(key)};
    }
    for (size_t i = 0; lists->failure_modes && i < json_array_size(score->failure_modes); i++) {
        const json_t *code = json_object_get(json_array_get(score->failure_modes, i), "code");
        const char *text = json_string_value(code);
        size_t length = json_string_length(code); /* a text with a NUL is in no list */
        if (strlen(text) != length || !json_object_get(lists->failure_modes, text))
            return (struct unknown){"rubric.unknown_failure_mode", text, length};
    }
    return (struct unknown){.text = NULL};
}

static int read_score(const struct bytes *out, struct bench_score *ret, struct fault *fault)
{
    _cleanup_json_ json_t *object = NULL;
    if (strspn(out->data ? out->data : "", " \t\r\n") == out->length)
        return fault_set(fault, "nothing on stdout");
    int r = json_read_object(out->data, out->length, &object, fault);
    return r < 0 ? r : bench_score_decode(object, ret, fault);
}

int score_rubric(const struct score_input *input, struct bench_score *ret, bool *ret_accepted)
{
    *ret_accepted = false;
    if (input->outcome->limit == LIMIT_WALL_CLOCK)
        return block("rubric.timeout", NULL, ret);
    if (!input->outcome->success)
        return score_failure(input, ret);

    struct fault fault = FAULT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    int r = read_score(input->out, &score, &fault);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return block("rubric.malformed_output", fault.text, ret);

    struct unknown unknown = {.text = NULL};
    if (input->task_class)
        unknown = find_unknown(&score, input->task_class);
    if (unknown.text)
        return bench_score_block(unknown.code, unknown.text, unknown.length, ret);
    *ret = score;
    score = (struct bench_score)BENCH_SCORE_NULL;
    *ret_accepted = true;
    return 0;
}

int score_sandbox(const struct outcome *outcome, struct bench_score *ret)
{
    if (!outcome->success)
        return block(outcome->limit != LIMIT_NONE ? "sandbox.limit_exceeded" : "sandbox.failed",
                     outcome->summary, ret);
    return bench_score_pass(ret);
}

int score_sut(const struct rubric_spec *spec, struct bench_score *ret)
{
    return bench_score_block(spec->sut == SUT_TIMEOUT ? "sut.timeout" : "sut.exception",
                             spec->sut_detail.data, spec->sut_detail.length, ret);
}
