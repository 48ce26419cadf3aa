/* SPDX-License-Identifier: MIT */
/* Finds names under test, for tests/names_check.py: reads lines {"prompt", "solution", "test"}, all
 * strings, and answers each with a line that has the array of the names, or null. */
#include "client/grade/names.h"

int main(void)
{
    _cleanup_json_ json_t *object = NULL;
    json_error_t error;
    while ((object = json_loadf(stdin, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error))) {
        _cleanup_json_ json_t *names = NULL;
        const struct names_texts texts = {
            .prompt = json_object_get(object, "prompt"),
            .solution = json_object_get(object, "solution"),
            .test = json_object_get(object, "test"),
        };
        if (names_find(&texts, &names) < 0)
            return 1;
        _cleanup_free_ char *text = names ? json_dumps(names, JSON_COMPACT) : NULL;
        if (puts(text ? text : "null") < 0 || fflush(stdout) != 0)
            return 1;
        json_decref(TAKE_PTR(object));
    }
    return ferror(stdin) ? 1 : 0;
}
