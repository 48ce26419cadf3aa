/* SPDX-License-Identifier: MIT */
#include "serveputs.h"

#include "blobs.h"

#include "proto/program_tests.h"

#include <string.h>
#include <sys/queue.h>

/* Tests that one client, and all of them, may have on their way into the inputs. */
#define CLIENT_BYTES_MAX ((size_t)64 << 20)
#define ALL_BYTES_MAX ((size_t)256 << 20)
/* Digests that are kept for a client; with more it has to put its tests again. */
#define REFS_MAX 65536

/* Tests that are being stored. */
struct upload {
    struct serveputs *puts;
    json_t *answer; /* to be given when they are */
    struct bytes id;
    char digest[PROGRAM_DIGEST_SIZE], ref[BLOBS_REF_SIZE];
    size_t bytes;
    struct blob *blob;
    LIST_ENTRY(upload) link;
};

struct serveputs {
    struct bus *bus;
    struct serveputs_load *load;
    serveputs_answer *answer;
    void *arg;
    json_t *refs; /* by digest */
    size_t bytes; /* what it has of load->bytes */
    LIST_HEAD(, upload) uploads;

    /* The parts so far. */
    char digest[PROGRAM_DIGEST_SIZE]; /* of all; "": there are none */
    struct bytes text;                /* "[...,...", without the end */
    unsigned next_part;
    size_t n_tests;
};

static void hold(struct serveputs *puts, size_t n)
{
    puts->bytes += n;
    puts->load->bytes += n;
}

static void let_go(struct serveputs *puts, size_t n)
{
    puts->bytes -= n;
    puts->load->bytes -= n;
}

static void forget_parts(struct serveputs *puts)
{
    let_go(puts, puts->text.length);
    bytes_deinit(&puts->text);
    puts->digest[0] = '\0';
    puts->n_tests = 0;
}

int serveputs_new(struct bus *bus, struct serveputs_load *load, serveputs_answer *answer, void *arg,
                  struct serveputs **ret)
{
    struct serveputs *puts = calloc(1, sizeof(*puts));
    json_t *refs = json_object();
    if (!puts || !refs) {
        free(puts);
        json_decref(refs);
        return -ENOMEM;
    }
    *puts =
        (struct serveputs){.bus = bus, .load = load, .answer = answer, .arg = arg, .refs = refs};
    LIST_INIT(&puts->uploads);
    *ret = puts;
    return 0;
}

static void upload_free(struct upload *upload)
{
    LIST_REMOVE(upload, link);
    let_go(upload->puts, upload->bytes);
    (void)blob_free(upload->blob);
    json_decref(upload->answer);
    bytes_deinit(&upload->id);
    free(upload);
}

struct serveputs *serveputs_free(struct serveputs *puts)
{
    if (!puts)
        return NULL;
    while (!LIST_EMPTY(&puts->uploads))
        upload_free(LIST_FIRST(&puts->uploads));
    forget_parts(puts);
    json_decref(puts->refs);
    free(puts);
    return NULL;
}

const char *serveputs_ref(const struct serveputs *puts, const char *digest)
{
    return json_string_value(json_object_get(puts->refs, digest));
}

static const struct bytes *id_of(const struct bytes *id)
{
    return id->data ? id : NULL;
}

static void refuse(struct serveputs *puts, const struct bytes *id, enum error_code code,
                   const char *why)
{
    forget_parts(puts);
    puts->answer(puts->arg, NULL, id_of(id), code, why);
}

static void on_stored(void *arg, _unused_ struct bytes *text, const char *why)
{
    struct upload *upload = arg;
    struct serveputs *puts = upload->puts;
    if (!why && json_object_size(puts->refs) >= REFS_MAX)
        (void)json_object_clear(puts->refs);
    if (why || json_object_set_new(puts->refs, upload->digest, json_string(upload->ref)) < 0)
        puts->answer(puts->arg, NULL, id_of(&upload->id), ERROR_INTERNAL,
                     why ? why : "out of memory");
    else
        puts->answer(puts->arg, TAKE_PTR(upload->answer), NULL, ERROR_INTERNAL, NULL);
    upload_free(upload);
}

/* Makes the answer to a put that is kept, with N tests of so many BYTES so far. */
static json_t *make_answer(const struct request *request, size_t n, size_t bytes)
{
    json_t *answer = json_pack("{s:s,s:s,s:I,s:I}", "type", "stored", "digest", request->digest,
                               "tests", (json_int_t)n, "bytes", (json_int_t)bytes);
    if (answer && request->id.data)
        (void)json_object_set_new(answer, "id", json_stringn(request->id.data, request->id.length));
    if (answer && request->parts > 0) {
        (void)json_object_set_new(answer, "part", json_integer(request->part));
        (void)json_object_set_new(answer, "parts", json_integer(request->parts));
    }
    return answer;
}

/* Stores *TAKE_TEXT, which is whole; N tests. */
static void store(struct serveputs *puts, const struct request *request, size_t n,
                  struct bytes *take_text)
{
    struct upload *upload = calloc(1, sizeof(*upload));
    if (!upload) {
        refuse(puts, &request->id, ERROR_INTERNAL, "out of memory");
        return;
    }
    upload->puts = puts;
    upload->bytes = take_text->length;
    upload->answer = make_answer(request, n, take_text->length);
    hold(puts, upload->bytes);
    LIST_INSERT_HEAD(&puts->uploads, upload, link);
    (void)snprintf(upload->digest, sizeof(upload->digest), "%s", request->digest);
    blobs_ref(take_text->data, take_text->length, strchr(request->digest, ':') + 1, upload->ref);
    if (upload->answer &&
        (!request->id.data || bytes_copy(request->id.data, request->id.length, &upload->id) == 0))
        upload->blob = blob_up(puts->bus, take_text, upload->ref, on_stored, upload);
    if (!upload->blob)
        on_stored(upload, NULL, "out of memory");
}

/* Adds the array *TEXT to those of the parts before, of which it is one. 0 or -ENOMEM. */
static int append(struct serveputs *puts, const struct bytes *text)
{
    size_t old = puts->text.length, n = text->length - 1; /* without its last bracket */
    char *data = realloc(puts->text.data, old + n + 2);
    if (!data)
        return -ENOMEM;
    memcpy(data + old, text->data, n);
    if (old > 0 && n > 1)
        data[old] = ','; /* in place of its first bracket */
    else if (old > 0)
        n = 0;
    puts->text = (struct bytes){.data = data, .length = old + n};
    data[old + n] = '\0';
    hold(puts, n);
    return 0;
}

/* All parts are there: stores them if they have the digest. */
static void store_parts(struct serveputs *puts, const struct request *request)
{
    char found[PROGRAM_DIGEST_SIZE];
    size_t n = puts->n_tests;
    _cleanup_bytes_ struct bytes whole = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    let_go(puts, puts->text.length);
    whole = TAKE_STRUCT(puts->text, BYTES_NULL);
    whole.data[whole.length++] = ']';
    whole.data[whole.length] = '\0';
    program_digest(whole.data, whole.length, found);
    if (strcmp(found, request->digest) != 0) {
        (void)program_digest_refuse(found, &fault);
        refuse(puts, &request->id, ERROR_BAD_REQUEST, fault.text);
        return;
    }
    forget_parts(puts);
    store(puts, request, n, &whole);
}

static void take_part(struct serveputs *puts, const struct request *request,
                      const struct bytes *text)
{
    struct fault fault = FAULT_NULL;
    if (request->part == 1) {
        forget_parts(puts);
        memcpy(puts->digest, request->digest, sizeof(puts->digest));
        puts->next_part = 1;
    }
    if (strcmp(puts->digest, request->digest) != 0 || request->part != puts->next_part) {
        (void)fault_set(&fault, "part: %u is not the next one of these tests: begin with part 1",
                        request->part);
        refuse(puts, &request->id, ERROR_BAD_REQUEST, fault.text);
        return;
    }
    puts->next_part++;
    puts->n_tests += request->tests->count;
    if (puts->n_tests > PROGRAM_TESTS_MAX) {
        (void)fault_set(&fault, "tests: more than %d in all parts", PROGRAM_TESTS_MAX);
        refuse(puts, &request->id, ERROR_BAD_REQUEST, fault.text);
        return;
    }
    if (append(puts, text) < 0) {
        refuse(puts, &request->id, ERROR_INTERNAL, "out of memory");
        return;
    }
    if (request->part == request->parts) {
        store_parts(puts, request);
        return;
    }
    json_t *answer = make_answer(request, puts->n_tests, puts->text.length);
    if (answer)
        puts->answer(puts->arg, answer, NULL, ERROR_INTERNAL, NULL);
    else
        refuse(puts, &request->id, ERROR_INTERNAL, "out of memory");
}

void serveputs_take(struct serveputs *puts, const struct request *request, struct bytes *take_text)
{
    _cleanup_bytes_ struct bytes text = TAKE_STRUCT(*take_text, BYTES_NULL);
    struct fault fault = FAULT_NULL;
    size_t size = text.length + (request->part > 1 ? puts->text.length : 0);
    if (size > CLIENT_BYTES_MAX) { /* which no waiting makes better */
        (void)fault_set(&fault,
                        "tests: %zu bytes%s; the tests of a job may have at most %zu in a fleet",
                        size, request->part > 0 ? " in the parts so far" : "", CLIENT_BYTES_MAX);
        refuse(puts, &request->id, ERROR_BAD_REQUEST, fault.text);
    } else if (puts->bytes + text.length > CLIENT_BYTES_MAX ||
               puts->load->bytes + text.length > ALL_BYTES_MAX)
        refuse(puts, &request->id, ERROR_INTERNAL,
               "put: there is no room for more tests that are on their way into the fleet; put "
               "them again later");
    else if (request->parts > 0)
        take_part(puts, request, &text);
    else
        store(puts, request, request->tests->count, &text);
}
