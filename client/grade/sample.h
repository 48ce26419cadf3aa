/* SPDX-License-Identifier: MIT */
#pragma once
/* Decodes a line of samples: what a model wrote for a task, once or several times. Pure. */

#include "task.h"

struct sample {
    char task_id[TASK_ID_MAX + 1];
    enum sample_form form;
    json_t *text;         /* a string, the first of them; borrowed from the object, as the others */
    json_t *list;         /* all of them, an array; NULL: there is only `text` */
    const char *member;   /* that has the text or the list */
    const char *language; /* that the line names; NULL: none */
};

/* Whether the member NAME, of N bytes, of a sample's record is decoded. */
bool sample_uses(const char *name, size_t n);

/* Decodes OBJECT, which must have exactly one of `completion`, `solution`, `generation`, and of the
 * lists `completions` and `code_list`. Its task is named by the first of `task_id`, `question_id`,
 * `problem_id`, `name` and `id` that it has. -EINVAL with FAULT. */
int sample_decode(const json_t *object, struct sample *ret, struct fault *fault);

/* Refuses a sample's OBJECT without `language` that would be graded as LANGUAGE while a member
 * whose name reads like `language` names another one. -EINVAL with FAULT. */
int sample_check_language(const json_t *object, const char *language, struct fault *fault);

/* How many texts a sample has, at least one, and the one at INDEX. */
size_t sample_count(const struct sample *sample);
json_t *sample_text(const struct sample *sample, size_t index);

/* The member of a line of results that has a text of FORM. */
const char *sample_form_name(enum sample_form form);
