/* SPDX-License-Identifier: MIT */
#pragma once
/* Bytes that are too many for one message: they go into the stream of inputs in chunks, by their
 * SHA-256. Whoever needs them is told the digest and the number of chunks, "HEX CHUNKS".
 *
 * The same bytes are stored once: a chunk that is there already is refused by the server, and that
 * is as good. */

#include "api.h"

#include "client/batch/digest.h"

/* A reference: 64 digits, a space, a number. */
#define BLOBS_REF_SIZE (DIGEST_SIZE + 12)

struct blob;

/* Called once. UP: WHY is NULL if all chunks are stored. DOWN: TEXT is what was asked for, which
 * the callee takes over; or it is NULL and WHY says why. Neither is called after blob_free(). */
typedef void blob_done(void *arg, struct bytes *take_text, const char *why);

/* So many bytes go into one message. The size of chunks is the same at every server: a chunk is
 * known by the digest of the whole and its number, so that another size would make it another one.
 * The bus refuses a server that does not take such a message beside its headers. */
#define BLOBS_INLINE_MAX BUS_DATA_MAX

/* Writes the reference of the N bytes at TEXT. HEX is their digest; NULL: it is computed. */
void blobs_ref(const char *text, size_t n, const char *hex, char ret[BLOBS_REF_SIZE]);

/* Stores *TAKE_TEXT under REF. NULL when memory runs out. */
struct blob *blob_up(struct bus *bus, struct bytes *take_text, const char *ref, blob_done *done,
                     void *arg);

/* Fetches what REF names. NULL when memory runs out or REF is none. */
struct blob *blob_down(struct bus *bus, const char *ref, blob_done *done, void *arg);

/* Forgets the requests that have no answer. Accepts NULL and returns NULL. To be called after DONE,
 * too. */
struct blob *blob_free(struct blob *blob);
