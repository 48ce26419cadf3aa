/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fake_client.h"
#include "tests/fuzz/fake_jails.h"
#include "tests/fuzz/fuzz.h"

#include "proto/frame.h"
#include "proto/request.h"

#include <string.h>
#include <sys/socket.h>

#define REPLY_MAX ((size_t)1 << 20)

/* What a request may be answered with at once. */
enum what {
    WHAT_PONG,
    WHAT_STATUS,
    WHAT_METRICS,
    WHAT_ERROR, /* surely, with the id if there is one */
    WHAT_STORED,
    WHAT_RELOADED,  /* or an error */
    WHAT_DRAIN,     /* an error, if anything */
    WHAT_SUBMIT,    /* an error, or its answer later */
    WHAT_CANCEL,    /* an error, or the answer of its job */
    WHAT_CANCEL_NO, /* the same, without an id */
};

struct fake_expected {
    enum what what;
    json_t *id; /* owned; NULL: none */
};

/* --- what is expected ------------------------------------------------------------------------ */

static bool is_certain(enum what what)
{
    return what <= WHAT_RELOADED;
}

static void expect(struct fake_client *client, enum what what, json_t *take_id)
{
    if (client->expected_count == FAKE_EXPECTED_MAX) {
        json_decref(take_id);
        client->has_failed = client->is_garbled = true; /* enough of it: nothing more is checked */
        return;
    }
    client->expected[client->expected_count++] = (struct fake_expected){what, take_id};
}

static void drop_expected(struct fake_client *client, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_decref(client->expected[i].id);
    client->expected_count -= count;
    memmove(client->expected, client->expected + count,
            client->expected_count * sizeof(client->expected[0]));
}

/* Takes the first request that WHAT answers, with ID if IS_WITH_ID; those before it are past.
 * Returns false if there is none, or one before it had to be answered first. */
static bool take_expected(struct fake_client *client, enum what what, const json_t *id)
{
    for (size_t i = 0; i < client->expected_count; i++) {
        const struct fake_expected *next = &client->expected[i];
        bool is_same = id ? next->id && json_equal(next->id, id) : !next->id;
        if (next->what == what && is_same) {
            drop_expected(client, i + 1);
            return true;
        }
        if (is_certain(next->what))
            return false;
    }
    return false;
}

/* How often the job ID was submitted, started or answered. */
static json_int_t count_of(const struct fake_client *client, const json_t *id, const char *what)
{
    const json_t *job =
        json_object_getn(client->jobs, json_string_value(id), json_string_length(id));
    return json_integer_value(json_object_get(job, what));
}

static void count(struct fake_client *client, const json_t *id, const char *what)
{
    json_t *job = json_object_getn(client->jobs, json_string_value(id), json_string_length(id));
    if (!job) {
        job = json_object();
        CHECK(json_object_setn_new_nocheck(client->jobs, json_string_value(id),
                                           json_string_length(id), job) == 0);
    }
    json_int_t before = json_integer_value(json_object_get(job, what));
    CHECK(json_object_set_new(job, what, json_integer(before + 1)) == 0);
}

/* Notes what the payload of a frame asks for, by the decoder of the daemon: other targets check it.
 */
static void note_request(struct fake_client *client, const char *payload, size_t n)
{
    static const enum what whats[] = {
        [REQUEST_SUBMIT] = WHAT_SUBMIT,   [REQUEST_CANCEL] = WHAT_CANCEL,
        [REQUEST_STATUS] = WHAT_STATUS,   [REQUEST_METRICS] = WHAT_METRICS,
        [REQUEST_PING] = WHAT_PONG,       [REQUEST_DRAIN] = WHAT_DRAIN,
        [REQUEST_RELOAD] = WHAT_RELOADED, [REQUEST_PUT] = WHAT_STORED,
    };
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct fault fault = FAULT_NULL;
    json_t *id = NULL;
    if (request_read(payload, n, client->policy, &request, &id, &fault) < 0) {
        expect(client, WHAT_ERROR, id);
        return;
    }
    if (request.id.data)
        id = json_stringn(request.id.data, request.id.length);
    if (request.type == REQUEST_SUBMIT)
        count(client, id, "submitted");
    enum what what = whats[request.type];
    expect(client, what == WHAT_CANCEL && !id ? WHAT_CANCEL_NO : what, id);
}

/* --- what comes ------------------------------------------------------------------------------ */

static void on_answer(struct fake_client *client, const json_t *id)
{
    count(client, id, "answered");
    CHECK(count_of(client, id, "answered") <= count_of(client, id, "submitted"));
}

static bool begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* An error that answers a request at once has no number of a job; TEXT says which request. */
static void on_refusal(struct fake_client *client, const json_t *id, const char *text)
{
    if (begins(text, "id: this connection has no such")) {
        CHECK(take_expected(client, WHAT_CANCEL, id));
    } else if (begins(text, "id: already in use") || begins(text, "the daemon takes no new jobs")) {
        CHECK(take_expected(client, WHAT_SUBMIT, id));
        on_answer(client, id);
    } else {
        CHECK(take_expected(client, WHAT_ERROR, id));
    }
}

static void on_error(struct fake_client *client, const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    const char *text = json_string_value(json_object_get(message, "message"));
    CHECK(text && json_is_string(json_object_get(message, "code")));
    if (json_object_get(message, "job_no")) {
        if (id)
            on_answer(client, id);
        else
            CHECK(take_expected(client, WHAT_CANCEL_NO, NULL));
    } else if (id) {
        on_refusal(client, id, text);
    } else if (begins(text, "frame: ")) {
        client->has_excuse = true;
    } else {
        CHECK(take_expected(client, WHAT_ERROR, NULL) ||
              take_expected(client, WHAT_RELOADED, NULL) ||
              take_expected(client, WHAT_DRAIN, NULL));
    }
}

static void on_result(struct fake_client *client, const json_t *message)
{
    const json_t *id = json_object_get(message, "id"), *score = json_object_get(message, "score");
    json_int_t number = json_integer_value(json_object_get(message, "job_no"));
    CHECK(json_is_string(id) && number > 0);
    on_answer(client, id);
    if (json_is_true(json_object_get(score, "passed")))
        CHECK(fake_jails_ended_well((uint64_t)number));
}

static void on_started(struct fake_client *client, const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    CHECK(json_is_string(id));
    count(client, id, "started");
    CHECK(count_of(client, id, "started") <= count_of(client, id, "submitted"));
    CHECK(count_of(client, id, "answered") < count_of(client, id, "submitted"));
}

static void on_message(struct fake_client *client, const json_t *message)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    CHECK(type && (client->has_greeted || strcmp(type, "hello") == 0 || strcmp(type, "bye") == 0));
    if (strcmp(type, "hello") == 0) {
        CHECK(!client->has_greeted);
        client->has_greeted = true;
    } else if (strcmp(type, "bye") == 0) {
        client->has_excuse = true;
    } else if (client->is_garbled) {
        return; /* nobody knows what it has asked for */
    } else if (strcmp(type, "error") == 0) {
        on_error(client, message);
    } else if (strcmp(type, "result") == 0) {
        on_result(client, message);
    } else if (strcmp(type, "started") == 0) {
        on_started(client, message);
    } else if (strcmp(type, "stored") == 0) {
        CHECK(take_expected(client, WHAT_STORED, json_object_get(message, "id")));
    } else {
        CHECK(take_expected(client,
                            strcmp(type, "pong") == 0       ? WHAT_PONG
                            : strcmp(type, "status") == 0   ? WHAT_STATUS
                            : strcmp(type, "reloaded") == 0 ? WHAT_RELOADED
                                                            : WHAT_METRICS,
                            NULL));
    }
}

/* Handles the whole frames in `unread`. */
static void handle_frames(struct fake_client *client)
{
    size_t at = 0;
    uint32_t length;
    while (client->unread.length - at >= FRAME_HEADER_SIZE) {
        const char *frame = client->unread.data + at;
        CHECK(frame_read_header((const uint8_t *)frame, REPLY_MAX, &length) == FRAME_OK);
        if (client->unread.length - at < FRAME_HEADER_SIZE + (size_t)length)
            break;
        _cleanup_json_ json_t *message = NULL;
        struct fault fault = FAULT_NULL;
        CHECK(json_read_object(frame + FRAME_HEADER_SIZE, length, &message, &fault) == 0);
        on_message(client, message);
        at += FRAME_HEADER_SIZE + length;
    }
    client->unread.length -= at;
    if (at > 0)
        memmove(client->unread.data, client->unread.data + at, client->unread.length);
}

/* --- the socket ------------------------------------------------------------------------------ */

static void append(struct bytes *to, const void *data, size_t n)
{
    char *text = realloc(to->data, to->length + n + 1);
    CHECK(text);
    if (n > 0)
        memcpy(text + to->length, data, n);
    to->data = text;
    to->length += n;
}

void fake_client_connect(struct fake_client *client, const struct fake_address *address,
                         const struct request_policy *policy)
{
    const struct sockaddr *name = (const struct sockaddr *)&address->name;
    *client = (struct fake_client){.policy = policy, .jobs = json_object()};
    client->expected = calloc(FAKE_EXPECTED_MAX, sizeof(*client->expected));
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(client->expected && client->jobs && client->fd >= 0);
    if (connect(client->fd, name, address->length) < 0) {
        CHECK(errno == EAGAIN || errno == ECONNREFUSED);
        fake_client_close(client);
    }
}

void fake_client_close(struct fake_client *client)
{
    if (client->fd < 0)
        return;
    drop_expected(client, client->expected_count);
    free(client->expected);
    json_decref(client->jobs);
    bytes_deinit(&client->unsent);
    bytes_deinit(&client->unread);
    close_fd(client->fd);
    *client = (struct fake_client){.fd = -1};
}

void fake_client_ask(struct fake_client *client, const char *payload, size_t n)
{
    uint8_t header[FRAME_HEADER_SIZE];
    if (n == 0 || client->is_garbled || client->is_shut)
        return;
    frame_write_header(header, (uint32_t)n);
    append(&client->unsent, header, sizeof(header));
    append(&client->unsent, payload, n);
    note_request(client, payload, n);
}

void fake_client_garble(struct fake_client *client, const uint8_t *bytes, size_t n)
{
    if (client->is_shut || n == 0)
        return;
    client->is_garbled = true;
    append(&client->unsent, bytes, n);
}

bool fake_client_push(struct fake_client *client, size_t max)
{
    size_t n = MIN(max, client->unsent.length);
    if (client->fd < 0 || n == 0 || client->is_over)
        return false;
    ssize_t sent = send(client->fd, client->unsent.data, n, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
        client->has_failed = true;
        sent = (ssize_t)client->unsent.length; /* nobody takes it any more */
    }
    if (sent <= 0)
        return false;
    client->unsent.length -= (size_t)sent;
    memmove(client->unsent.data, client->unsent.data + sent, client->unsent.length);
    return true;
}

void fake_client_shut(struct fake_client *client)
{
    if (client->fd < 0 || client->unsent.length > 0)
        return;
    client->is_shut = true;
    (void)shutdown(client->fd, SHUT_WR);
}

bool fake_client_read(struct fake_client *client, size_t max)
{
    char text[16384];
    if (client->fd < 0 || client->is_over)
        return false;
    ssize_t n = recv(client->fd, text, MIN(max, sizeof(text)), 0);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        client->is_over = true;
        return true;
    }
    append(&client->unread, text, (size_t)n);
    handle_frames(client);
    return true;
}

void fake_client_check_end(const struct fake_client *client)
{
    const char *key;
    json_t *job;
    if (client->fd < 0 || client->is_garbled)
        return;
    if (!client->has_greeted && client->is_over)
        return; /* the listener was closed while it was in line */
    bool is_dismissed = client->has_excuse || client->has_failed;
    CHECK(!client->is_over || is_dismissed || client->is_shut);
    CHECK(client->has_greeted || client->has_excuse);
    if (is_dismissed)
        return;
    CHECK(client->unread.length == 0 && client->unsent.length == 0);
    for (size_t i = 0; i < client->expected_count; i++)
        CHECK(!is_certain(client->expected[i].what));
    json_object_foreach(client->jobs, key, job)
        CHECK(json_equal(json_object_get(job, "submitted"), json_object_get(job, "answered")));
}
