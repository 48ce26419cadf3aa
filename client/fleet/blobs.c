/* SPDX-License-Identifier: MIT */
#include "blobs.h"

#include <sha2.h>
#include <string.h>

#define CHUNK_SIZE BLOBS_INLINE_MAX
/* Chunks under way at once, of one blob. */
#define WINDOW 8
#define CHUNKS_MAX 100000
/* A chunk that a replica does not have yet is asked for so often. */
#define MISSES_MAX 10

struct chunk {
    struct blob *blob;
    size_t at;
    uint64_t request; /* 0: none */
};

struct blob {
    struct bus *bus;
    char hex[DIGEST_SIZE];
    struct bytes text;   /* up: what is sent; down: what has come, at its place */
    struct bytes *parts; /* down: the chunks */
    size_t n, next, done_n, misses;
    bool is_up;
    struct chunk window[WINDOW];
    blob_done *done;
    void *arg;
};

void blobs_ref(const char *text, size_t n, const char *hex, char ret[BLOBS_REF_SIZE])
{
    char computed[DIGEST_SIZE];
    if (!hex)
        hex = SHA256Data((const uint8_t *)text, n, computed);
    (void)snprintf(ret, BLOBS_REF_SIZE, "%s %zu", hex, (n + CHUNK_SIZE - 1) / CHUNK_SIZE);
}

static bool read_ref(const char *ref, char hex[DIGEST_SIZE], size_t *ret_n)
{
    char *end;
    if (strlen(ref) < DIGEST_SIZE + 1 || ref[DIGEST_SIZE - 1] != ' ' ||
        strspn(ref, "0123456789abcdef") != DIGEST_SIZE - 1)
        return false;
    memcpy(hex, ref, DIGEST_SIZE - 1);
    hex[DIGEST_SIZE - 1] = '\0';
    unsigned long n = strtoul(ref + DIGEST_SIZE, &end, 10);
    *ret_n = n;
    return *end == '\0' && n > 0 && n <= CHUNKS_MAX;
}

static void name_chunk(const struct blob *blob, size_t at, char ret[NAMES_SUBJECT_SIZE])
{
    (void)snprintf(ret, NAMES_SUBJECT_SIZE, "%s.inputs.%s.%zu", bus_fleet(blob->bus), blob->hex,
                   at);
}

static void advance(struct blob *blob, struct chunk *chunk);

static void finish(struct blob *blob, struct bytes *take_text, const char *why)
{
    for (size_t i = 0; i < WINDOW; i++) {
        bus_forget(blob->bus, blob->window[i].request);
        blob->window[i].request = 0;
    }
    blob->done(blob->arg, take_text, why); /* may free BLOB */
}

/* Puts the chunks together and checks their digest. */
static void finish_down(struct blob *blob)
{
    char hex[DIGEST_SIZE];
    size_t length = 0;
    for (size_t i = 0; i < blob->n; i++)
        length += blob->parts[i].length;
    _cleanup_bytes_ struct bytes text = {.data = malloc(length + 1)};
    if (!text.data) {
        finish(blob, NULL, "out of memory");
        return;
    }
    for (size_t i = 0; i < blob->n; i++) {
        if (blob->parts[i].length > 0)
            memcpy(text.data + text.length, blob->parts[i].data, blob->parts[i].length);
        text.length += blob->parts[i].length;
    }
    text.data[length] = '\0';
    (void)SHA256Data((const uint8_t *)text.data, length, hex);
    if (strcmp(hex, blob->hex) != 0)
        finish(blob, NULL, "an input of the job does not have its digest");
    else
        finish(blob, &text, NULL);
}

static bool on_stored(void *arg, natsMsg *reply)
{
    struct chunk *chunk = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome == API_AGAIN || answer.outcome == API_FULL) {
        bus_complain(chunk->blob->bus, "an input is not stored: %s; trying again%s", answer.text,
                     api_remedy(&answer));
        return true;
    }
    if (answer.outcome != API_OK && answer.outcome != API_EXISTS) {
        finish(chunk->blob, NULL, answer.text);
        return false;
    }
    chunk->request = 0;
    chunk->blob->done_n++;
    advance(chunk->blob, chunk);
    return false;
}

static bool on_fetched(void *arg, natsMsg *reply)
{
    struct chunk *chunk = arg;
    struct blob *blob = chunk->blob;
    if (api_sequence(reply) == 0) {
        if (api_status(reply) != 404 || ++blob->misses < MISSES_MAX)
            return true;
        finish(blob, NULL, "an input of the job is no longer in the fleet");
        return false;
    }
    if (bytes_copy(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply),
                   &blob->parts[chunk->at]) < 0)
        return true;
    chunk->request = 0;
    blob->done_n++;
    advance(blob, chunk);
    return false;
}

/* Has the place of CHUNK do the next one, if there is one; ends when all are done. */
static void advance(struct blob *blob, struct chunk *chunk)
{
    char subject[NAMES_SUBJECT_SIZE], request[API_SUBJECT_SIZE];
    if (blob->done_n == blob->n) {
        if (blob->is_up)
            finish(blob, NULL, NULL);
        else
            finish_down(blob);
        return;
    }
    if (blob->next == blob->n)
        return;
    chunk->at = blob->next++;
    name_chunk(blob, chunk->at, subject);
    if (blob->is_up) {
        size_t from = chunk->at * CHUNK_SIZE;
        chunk->request = bus_request(blob->bus, subject, NULL, blob->text.data + from,
                                     MIN(CHUNK_SIZE, blob->text.length - from), on_stored, chunk);
    } else {
        api_direct_last(bus_fleet(blob->bus), STREAM_INPUTS, subject, request, sizeof(request));
        chunk->request = bus_request(blob->bus, request, NULL, "", 0, on_fetched, chunk);
    }
}

static struct blob *make(struct bus *bus, const char *ref, blob_done *done, void *arg)
{
    struct blob *blob = calloc(1, sizeof(*blob));
    if (!blob || !read_ref(ref, blob->hex, &blob->n)) {
        free(blob);
        return NULL;
    }
    blob->bus = bus;
    blob->done = done;
    blob->arg = arg;
    for (size_t i = 0; i < WINDOW; i++)
        blob->window[i].blob = blob;
    return blob;
}

static void begin(struct blob *blob)
{
    for (size_t i = 0; i < WINDOW; i++)
        advance(blob, &blob->window[i]);
}

struct blob *blob_up(struct bus *bus, struct bytes *take_text, const char *ref, blob_done *done,
                     void *arg)
{
    struct blob *blob = make(bus, ref, done, arg);
    if (!blob)
        return NULL;
    blob->is_up = true;
    blob->text = TAKE_STRUCT(*take_text, BYTES_NULL);
    begin(blob);
    return blob;
}

struct blob *blob_down(struct bus *bus, const char *ref, blob_done *done, void *arg)
{
    struct blob *blob = make(bus, ref, done, arg);
    if (!blob || !(blob->parts = calloc(blob->n, sizeof(*blob->parts))))
        return blob_free(blob);
    begin(blob);
    return blob;
}

struct blob *blob_free(struct blob *blob)
{
    if (!blob)
        return NULL;
    for (size_t i = 0; i < WINDOW; i++)
        bus_forget(blob->bus, blob->window[i].request);
    for (size_t i = 0; blob->parts && i < blob->n; i++)
        bytes_deinit(&blob->parts[i]);
    free(blob->parts);
    bytes_deinit(&blob->text);
    free(blob);
    return NULL;
}
