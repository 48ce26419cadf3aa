/* SPDX-License-Identifier: MIT */
#include "unittests.h"
#include "textbuf.h"

static int put_classes(FILE *out, const json_t *classes, struct fault *fault)
{
    if (!classes) {
        (void)fputs("[each for each in list(globals().values())\n"
                    "                    if isinstance(each, type) and issubclass(each, "
                    "__import__(\"unittest\").TestCase)\n"
                    "                    and each.__module__ == __name__]",
                    out);
        return 0;
    }
    (void)fputs("[", out);
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const json_t *name = json_array_get(classes, i);
        if (!task_is_name(name))
            return fault_set(fault, "test_classes[%zu]: it is no name of a class", i);
        (void)fprintf(out, "%s%s", i > 0 ? ", " : "", json_string_value(name));
    }
    (void)fputs("]", out);
    return 0;
}

int unittests_take(struct task *task, const json_t *test, const json_t *classes,
                   struct fault *fault)
{
    _cleanup_textbuf_ struct textbuf out = TEXTBUF_NULL;
    json_t *made = NULL;
    int r = textbuf_open(&out);
    if (r < 0)
        return r;
    textbuf_add_json(&out, test);
    (void)fprintf(out.out, "\n\n\n%s\n\ndef check(candidate):\n    _run_unittests(",
                  unittests_code);
    r = put_classes(out.out, classes, fault);
    (void)fputs(")\n", out.out);
    if (r == 0)
        r = textbuf_finish(&out, &made);
    if (r < 0)
        return r;
    task->test = task_keep(task, made);
    return task->test ? 0 : -ENOMEM;
}
