/* SPDX-License-Identifier: MIT */
#include "problems.h"

#include "proto/util.h"

#include <assert.h>
#include <string.h>

int config_problems_add(struct config_problems *problems, const char *file, unsigned line,
                        const char *key, char **take_text)
{
    struct config_problem problem = {.file = strdup(file), .line = line};
    struct config_problem *item =
        reallocarray(problems->item, problems->count + 1, sizeof(*problems->item));

    assert(*take_text);
    if (item)
        problems->item = item;
    if (key)
        problem.key = strdup(key);
    if (!item || !problem.file || (key && !problem.key)) {
        free(problem.file);
        free(problem.key);
        return -ENOMEM;
    }
    problem.text = TAKE_PTR(*take_text);
    problems->item[problems->count++] = problem;
    return 0;
}

void config_print_problem(FILE *stream, const struct config_problem *problem)
{
    fputs(problem->file, stream);
    if (problem->line > 0)
        fprintf(stream, ":%u", problem->line);
    if (problem->key)
        fprintf(stream, ": %s", problem->key);
    fprintf(stream, ": %s\n", problem->text);
}

void config_problems_deinit(struct config_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        free(problems->item[i].file);
        free(problems->item[i].key);
        free(problems->item[i].text);
    }
    free(problems->item);
    *problems = (struct config_problems)CONFIG_PROBLEMS_NULL;
}
