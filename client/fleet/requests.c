/* SPDX-License-Identifier: MIT */
#include "requests.h"

/* After so long without an answer a request is sent again. */
#define REPLY_MS 5000
/* After an answer that its callback does not accept. */
#define AGAIN_MS 300
#define PLACE_BITS 24
#define PLACES_FIRST ((size_t)256)

void requests_init(struct requests *requests)
{
    *requests = (struct requests){.places = NULL};
    TAILQ_INIT(&requests->sent);
    TAILQ_INIT(&requests->again);
}

void requests_deinit(struct requests *requests)
{
    for (size_t i = 0; i < requests->room; i++) {
        struct request *request = requests->places[i];
        if (request) {
            requests_unlist(requests, request);
            requests_drop(requests, request);
        }
    }
    free(requests->places);
    free(requests->uses);
}

static int grow(struct requests *requests)
{
    size_t room = MAX(requests->room * 2, PLACES_FIRST);
    struct request **places =
        reallocarray(requests->places, room, sizeof(*places)); // NOLINT(bugprone-sizeof-expression)
    if (places)
        requests->places = places;
    uint64_t *uses = reallocarray(requests->uses, room, sizeof(*uses));
    if (uses)
        requests->uses = uses;
    if (!places || !uses || room > (size_t)1 << PLACE_BITS)
        return -ENOMEM;
    for (size_t i = requests->room; i < room; i++) {
        places[i] = NULL;
        uses[i] = 0;
    }
    requests->room = room;
    return 0;
}

static size_t place_of(uint64_t number)
{
    return number & ((UINT64_C(1) << PLACE_BITS) - 1);
}

struct request *requests_add(struct requests *requests)
{
    struct request *request = calloc(1, sizeof(*request));
    if (!request || (requests->n * 2 >= requests->room && grow(requests) < 0)) {
        free(request);
        return NULL;
    }
    size_t place = requests->n; /* half of the places are free: one of them is near */
    while (requests->places[place])
        place = (place + 1) % requests->room;
    requests->places[place] = request;
    requests->n++;
    request->number = ++requests->uses[place] << PLACE_BITS | place;
    return request;
}

struct request *requests_find(const struct requests *requests, uint64_t number)
{
    size_t place = place_of(number);
    struct request *request = place < requests->room ? requests->places[place] : NULL;
    return request && request->number == number ? request : NULL;
}

void requests_enlist(struct requests *requests, struct request *request, bool is_again, int64_t now)
{
    request->is_again = is_again;
    request->due_ms = now + (is_again ? AGAIN_MS : REPLY_MS);
    if (is_again)
        TAILQ_INSERT_TAIL(&requests->again, request, link);
    else
        TAILQ_INSERT_TAIL(&requests->sent, request, link);
}

void requests_unlist(struct requests *requests, struct request *request)
{
    if (request->is_again)
        TAILQ_REMOVE(&requests->again, request, link);
    else
        TAILQ_REMOVE(&requests->sent, request, link);
}

void requests_drop(struct requests *requests, struct request *request)
{
    requests->places[place_of(request->number)] = NULL;
    requests->n--;
    natsMsg_Destroy(request->message);
    free(request);
}

int64_t requests_due(const struct requests *requests)
{
    int64_t due = INT64_MAX;
    if (!TAILQ_EMPTY(&requests->sent))
        due = TAILQ_FIRST(&requests->sent)->due_ms;
    if (!TAILQ_EMPTY(&requests->again))
        due = MIN(due, TAILQ_FIRST(&requests->again)->due_ms);
    return due;
}
