/* SPDX-License-Identifier: MIT */
#pragma once
/* Stores a rubric's directory in the stream of inputs, as benches.h describes: the files first, so
 * that whoever finds their list finds them. What is stored already stays as it is. */

#include "blobs.h"

#include "rubricdir/tree.h"

struct benchpush;

/* Called once, later or at once: WHY is NULL if all is stored. benchpush_free() is to follow. */
typedef void benchpush_done(void *arg, const char *why);

/* Reads the directory at PLACE and begins. Its digest is benchpush_digest(). Negative errno with
 * FAULT. DONE is not called before benchpush_go_on(). */
int benchpush_new(struct bus *bus, const struct tree_place *place, benchpush_done *done, void *arg,
                  struct benchpush **ret, struct fault *fault);

/* Starts. */
void benchpush_go_on(struct benchpush *push);

const char *benchpush_digest(const struct benchpush *push);
size_t benchpush_files(const struct benchpush *push);
uint64_t benchpush_bytes(const struct benchpush *push);

/* Counts the files that are stored: it grows while the server answers. */
size_t benchpush_stored(const struct benchpush *push);

/* Accepts NULL and returns NULL. */
struct benchpush *benchpush_free(struct benchpush *push);
