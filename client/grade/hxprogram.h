/* SPDX-License-Identifier: MIT */
#pragma once
/* Puts programs together for the tasks of HumanEval-X and of HumanEvalPack, which goes back to it:
 * the code, and behind it tests that end the program with a status. Pure. */

#include "task.h"
#include "textbuf.h"

/* The language of the task ID, "CPP/0"; NULL if it names none of them. */
const char *hx_language(const char *id);

/* Makes the program; data_format.join. */
int hx_join(const struct task *task, const char *language, enum sample_form form,
            const json_t *text, json_t **ret);

/* Fills TASK from a record with `prompt`, `declaration`, `test` and `canonical_solution`. Its
 * function is `entry_point`, or else the one in the declaration. WANTED is --language; NULL: none
 * was given. -EINVAL with FAULT, or -ENOMEM. */
int hx_take(struct task *task, const char *wanted, struct fault *fault);

/* What hx_join() does for two languages: write CODE, a program without tests, and the tests. 0 or
 * -ENOMEM. */
int hx_put_go(struct textbuf *out, const json_t *setup, const struct bytes *code,
              const json_t *tests);
int hx_put_rust(struct textbuf *out, const struct bytes *code, const json_t *tests);

/* Checks that TESTS, in Rust, have a function that is a test. -EINVAL with FAULT, or -ENOMEM. */
int hx_check_rust(const json_t *tests, struct fault *fault);
