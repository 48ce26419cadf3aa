/* SPDX-License-Identifier: MIT */
#pragma once
/* Tests of a program: what it is given and what it is to answer. A job carries them, or they were
 * put once for many jobs. */

#include "fault.h"
#include "jobspec.h"
#include "json.h"

#include <sha2.h>

/* Decodes ARRAY, whose tests are at PATH, for FAULT. CEILINGS bound their limits. 0, -EINVAL, or
 * -ENOMEM; the caller gets the only reference. */
int program_tests_decode(const json_t *array, const char *path, const struct limits *ceilings,
                         struct program_tests **ret, struct fault *fault);

/* Checks that TEXT is "sha256:" and 64 digits in lower case; PATH is for FAULT. */
int program_digest_check(const char *text, const char *path, struct fault *fault);

/* Computes the digest of tests whose compact JSON text is the N bytes at TEXT. */
void program_digest(const char *text, size_t n, char ret[PROGRAM_DIGEST_SIZE]);

/* The digest of tests that come in parts: the text of the whole array is put together again. */
struct program_digest {
    SHA2_CTX context;
    bool has_begun;
};

#define PROGRAM_DIGEST_NULL \
    {                       \
        .has_begun = false  \
    }

/* Adds a part: an array that is not empty, as compact JSON text. */
void program_digest_add(struct program_digest *digest, const struct bytes *text);

/* Ends the array. There was at least one part. */
void program_digest_end(struct program_digest *digest, char ret[PROGRAM_DIGEST_SIZE]);

/* Says that the digest of tests is FOUND, and not the one that came with them. Returns -EINVAL. */
int program_digest_refuse(const char *found, struct fault *fault);

/* Appends the tests of PART to TESTS and drops that, which nobody else uses. Both are for calls, or
 * neither is. The caller sees to what TESTS are charged for. 0; on -ENOMEM nothing has changed. */
int program_tests_append(struct program_tests *tests, struct program_tests *take_part);

struct program_tests *program_tests_ref(struct program_tests *tests);

/* Drops a reference; accepts NULL and returns NULL. */
struct program_tests *program_tests_unref(struct program_tests *tests);

/* Checks that TESTS are for a job that has a function to call (IS_CALL), or has none. */
int program_tests_check_call(const struct program_tests *tests, bool is_call, struct fault *fault);
