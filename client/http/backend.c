/* SPDX-License-Identifier: MIT */
#include "backend.h"

#include "client/terminal/text.h"
#include "proto/frame.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

/* Jobs in flight for each slot of the daemon, and the least and the most of them. */
#define WINDOW_PER_SLOT 8
#define WINDOW_MIN 16
#define WINDOW_MAX 4096
/* The most bytes that wait to be written to the daemon before the next job is taken. */
#define UNSENT_MAX ((size_t)1 << 20)
/* Bytes of chance in the ids of a backend's jobs, by which its own are told from those of others.
 */
#define CHANCE_SIZE 8
/* The bytes of a submit beside its job. */
#define SUBMIT_OVERHEAD 256
/* Pauses between attempts to connect. */
#define RETRY_FIRST_MS 50
#define RETRY_LAST_MS 2000

enum state {
    DOWN,
    GREETING, /* connected, and the hello is still to come */
    UP,
    STATES,
};

/* A job in flight. */
struct place {
    struct feeder *feeder; /* NULL: nobody wants the answer */
    void *tag;
    unsigned serial; /* tells the jobs apart that the place has had */
    uint64_t number; /* the daemon's; 0: the job has not started yet, as far as is known */
    bool used;
};

TAILQ_HEAD(feeders, feeder);

struct backend {
    struct backend_host host;
    enum state state;
    bool has_session;
    struct session session;
    struct event *readable, *writable, *retry, *patience;
    uint64_t retry_ms;
    struct place *places;
    size_t window, in_flight;
    struct feeders feeders;
    struct questions questions;
    bool feeding;
    char ids[2 * CHANCE_SIZE + 2]; /* how ids begin: hexadecimal digits and "-" */
    struct fault why;              /* why it is down */
};

static void backend_feed(struct backend *backend);

static void backend_enter(struct backend *backend, enum state state)
{
    static const _unused_ bool legal[STATES][STATES] = {
        [DOWN] = {[GREETING] = true},
        [GREETING] = {[UP] = true, [DOWN] = true},
        [UP] = {[DOWN] = true},
    };
    assert(legal[backend->state][state]);
    backend->state = state;
}

static void arm(struct event *timer, uint64_t ms)
{
    const struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (long)(ms % 1000) * 1000};
    (void)event_add(timer, &tv);
}

/* --- losing the connection ------------------------------------------------------------------ */

static void drop_watch(struct event **event)
{
    if (*event)
        event_free(*event);
    *event = NULL;
}

/* FEEDER has one job less in flight. */
static void wait_again(struct backend *backend, struct feeder *feeder)
{
    if (!feeder->full)
        return;
    feeder->full = false;
    TAILQ_INSERT_TAIL(&backend->feeders, feeder, link);
    feeder->waiting = true;
}

static void lose_jobs(struct backend *backend)
{
    for (size_t i = 0; i < backend->window; i++) {
        struct place place = backend->places[i];
        if (!place.used)
            continue;
        backend->places[i].used = false;
        backend->in_flight--;
        if (place.feeder) {
            place.feeder->in_flight--;
            wait_again(backend, place.feeder);
            place.feeder->ops->lost(place.feeder, place.tag, "daemon_gone", backend->why.text,
                                    true);
        }
    }
}

/* Tells all who wait that there is no daemon. */
static void give_up(struct backend *backend)
{
    struct feeder *feeder;
    questions_fail(&backend->questions, backend->why.text);
    while ((feeder = TAILQ_FIRST(&backend->feeders))) {
        TAILQ_REMOVE(&backend->feeders, feeder, link);
        feeder->waiting = false;
        feeder->ops->unreachable(feeder, backend->why.text);
    }
}

static void go_down(struct backend *backend, const char *why)
{
    bool was_up = backend->state == UP;
    if (why)
        (void)fault_set(&backend->why, "%s", why);
    drop_watch(&backend->readable);
    drop_watch(&backend->writable);
    session_disconnect(&backend->session);
    backend_enter(backend, DOWN);
    if (was_up)
        complain("lost the daemon: %s", backend->why.text);
    backend->retry_ms = was_up ? RETRY_FIRST_MS : MIN(backend->retry_ms * 2, RETRY_LAST_MS);
    arm(backend->retry, backend->retry_ms);
    if (was_up)
        arm(backend->patience, backend->host.patience_ms);
    lose_jobs(backend);
    questions_fail(&backend->questions, backend->why.text);
}

static void on_patience(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    struct backend *backend = userdata;
    if (backend->state == GREETING) {
        (void)fault_set(&backend->why, "%s: connected, but no hello came", backend->host.socket);
        go_down(backend, NULL);
    }
    if (backend->state == DOWN)
        give_up(backend);
}

static void on_silent(void *userdata)
{
    struct backend *backend = userdata;
    if (backend->state == UP)
        go_down(backend, "the daemon does not answer");
}

/* --- messages ------------------------------------------------------------------------------- */

/* Finds the place of the job whose id is TEXT; NULL if it is none in flight. */
static struct place *find_place(struct backend *backend, const char *text)
{
    char *end = NULL;
    size_t n = strlen(backend->ids);
    if (!text || strncmp(text, backend->ids, n) != 0)
        return NULL;
    unsigned long i = strtoul(text + n, &end, 10);
    if (*end != '.' || i >= backend->window)
        return NULL;
    struct place *place = &backend->places[i];
    return place->used && place->serial == strtoul(end + 1, NULL, 10) ? place : NULL;
}

static void take_answer(struct backend *backend, struct message *message)
{
    struct place *place = find_place(backend, message_text(message, "id"));
    if (!place)
        return; /* to a cancel that came too late */
    struct place answered = *place;
    place->used = false;
    backend->in_flight--;
    struct feeder *feeder = answered.feeder;
    if (!feeder)
        return;
    feeder->in_flight--;
    wait_again(backend, feeder);
    feeder->ops->answer(feeder, answered.tag, message);
}

/* Cancels the job at PLACE number I, which nobody wants. */
static void cancel(struct backend *backend, size_t i)
{
    const struct place *place = &backend->places[i];
    const struct backend_host *host = &backend->host;
    char text[SUBMIT_OVERHEAD];
    /* The daemon may have stopped to read this connection: its jobs found no room in the queue. */
    if (place->number > 0 && host->cancel && host->cancel(place->number, host->userdata))
        return;
    int n = snprintf(text, sizeof(text), "{\"type\":\"cancel\",\"id\":\"%s%zu.%u\"}", backend->ids,
                     i, place->serial);
    if (session_send(&backend->session, text, (size_t)n) < 0)
        complain("out of memory: a job whose client left goes on");
}

/* The cancel of a job that had not started may lie unread still. */
static void take_start(struct backend *backend, const struct message *message)
{
    struct place *place = find_place(backend, message_text(message, "id"));
    if (!place)
        return;
    place->number = (uint64_t)json_integer_value(json_object_get(message->object, "job_no"));
    if (!place->feeder)
        cancel(backend, (size_t)(place - backend->places));
}

/* Sizes the window after the daemon's slots. 0 or -ENOMEM. */
static int size_window(struct backend *backend, const struct message *hello)
{
    json_int_t slots =
        json_integer_value(json_object_get(json_object_get(hello->object, "limits"), "slots"));
    json_int_t wanted = MIN(MAX(slots, 0), WINDOW_MAX) * WINDOW_PER_SLOT;
    wanted = MAX(MIN(wanted, WINDOW_MAX), WINDOW_MIN);
    wanted = MAX(MIN(wanted, backend->session.jobs_per_client), 1);
    assert(backend->in_flight == 0);
    struct place *places = calloc((size_t)wanted, sizeof(*places));
    if (!places)
        return -ENOMEM;
    free(backend->places);
    backend->places = places;
    backend->window = (size_t)wanted;
    return 0;
}

static void watch_output(struct backend *backend)
{
    if (backend->writable && session_unsent(&backend->session) > 0)
        (void)event_add(backend->writable, NULL);
}

static void send_questions(struct backend *backend)
{
    if (backend->state == UP)
        questions_send(&backend->questions, &backend->session);
    watch_output(backend);
}

static int greet(struct backend *backend, const struct message *hello, struct fault *fault)
{
    int r = session_take_hello(&backend->session, hello, fault);
    if (r == 0)
        r = size_window(backend, hello);
    if (r < 0)
        return r;
    backend_enter(backend, UP);
    backend->retry_ms = RETRY_FIRST_MS;
    (void)event_del(backend->patience);
    if (backend->host.greeted)
        backend->host.greeted(hello, backend->host.userdata);
    send_questions(backend);
    return 0;
}

static int take_message(struct backend *backend, struct message *message, struct fault *fault)
{
    if (backend->state == GREETING)
        return greet(backend, message, fault);
    if (message->type == MESSAGE_RESULT || message->type == MESSAGE_ERROR) {
        take_answer(backend, message);
    } else if (message->type == MESSAGE_STARTED) {
        take_start(backend, message);
    } else {
        questions_take(&backend->questions, message);
    }
    return 0;
}

static void on_ready(_unused_ evutil_socket_t fd, short events, void *userdata)
{
    struct backend *backend = userdata;
    struct fault fault = FAULT_NULL;
    short revents = (short)((events & EV_READ ? POLLIN : 0) | (events & EV_WRITE ? POLLOUT : 0));
    int r = session_pump(&backend->session, revents);
    while (r >= 0) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        r = session_next(&backend->session, &message, &fault);
        if (r == 0)
            break;
        if (r > 0)
            r = take_message(backend, &message, &fault);
    }
    if (r < 0) {
        go_down(backend, fault.text[0] ? fault.text : strerror(-r));
        return;
    }
    backend_feed(backend);
    watch_output(backend);
}

/* --- connecting ----------------------------------------------------------------------------- */

static int open_session(struct backend *backend, struct fault *fault)
{
    int r = 0;
    if (!backend->has_session)
        r = session_prepare(backend->host.socket, &backend->session);
    if (r < 0)
        return r;
    backend->has_session = true;
    backend->session.connects_at_once = true; /* nobody is served meanwhile */
    return session_reconnect(&backend->session, fault);
}

int backend_connect(struct backend *backend)
{
    if (backend->state != DOWN)
        return 0;
    int r = open_session(backend, &backend->why);
    if (r < 0)
        return r;
    backend_enter(backend, GREETING);
    backend->readable =
        event_new(backend->host.base, backend->session.fd, EV_READ | EV_PERSIST, on_ready, backend);
    backend->writable =
        event_new(backend->host.base, backend->session.fd, EV_WRITE, on_ready, backend);
    if (!backend->readable || !backend->writable || event_add(backend->readable, NULL) < 0) {
        go_down(backend, "out of memory");
        return -ENOMEM;
    }
    if (!event_pending(backend->patience, EV_TIMEOUT, NULL))
        arm(backend->patience, backend->host.patience_ms);
    return 0;
}

static void on_retry(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    struct backend *backend = userdata;
    if (backend_connect(backend) < 0) {
        backend->retry_ms = MIN(backend->retry_ms * 2, RETRY_LAST_MS);
        arm(backend->retry, backend->retry_ms);
    }
}

/* Connects if nothing is there. False if that fails: there is no daemon. */
static bool is_reachable(struct backend *backend)
{
    if (backend->state == DOWN && backend_connect(backend) < 0) {
        if (!event_pending(backend->retry, EV_TIMEOUT, NULL))
            arm(backend->retry, backend->retry_ms);
        return false;
    }
    return true;
}

static int make_ids(struct backend *backend)
{
    uint8_t chance[CHANCE_SIZE];
    char *at = backend->ids;
    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -EIO;
    for (size_t i = 0; i < sizeof(chance); i++)
        at += snprintf(at, 3, "%02x", chance[i]);
    (void)snprintf(at, 2, "-");
    return 0;
}

int backend_new(const struct backend_host *host, struct backend **ret)
{
    struct backend *backend = calloc(1, sizeof(*backend));
    if (!backend)
        return -ENOMEM;
    backend->host = *host;
    backend->session = (struct session)SESSION_NULL;
    backend->retry_ms = RETRY_FIRST_MS;
    TAILQ_INIT(&backend->feeders);
    backend->retry = evtimer_new(host->base, on_retry, backend);
    backend->patience = evtimer_new(host->base, on_patience, backend);
    int r = questions_init(&backend->questions, host->base, on_silent, backend);
    if (r == 0)
        r = backend->retry && backend->patience ? make_ids(backend) : -ENOMEM;
    if (r < 0) {
        (void)backend_free(backend);
        return r;
    }
    *ret = backend;
    return 0;
}

struct backend *backend_free(struct backend *backend)
{
    if (!backend)
        return NULL;
    assert(TAILQ_EMPTY(&backend->feeders));
    drop_watch(&backend->readable);
    drop_watch(&backend->writable);
    drop_watch(&backend->retry);
    drop_watch(&backend->patience);
    questions_deinit(&backend->questions);
    if (backend->has_session)
        session_deinit(&backend->session);
    free(backend->places);
    free(backend);
    return NULL;
}

const char *backend_ids(const struct backend *backend)
{
    return backend->ids;
}

size_t backend_job_max(const struct backend *backend)
{
    uint32_t max = backend->has_session ? backend->session.max_frame : 0;
    return (max ? max : FRAME_MAX_DEFAULT) - SUBMIT_OVERHEAD;
}

int backend_check_size(const struct backend *backend, size_t size, struct fault *fault)
{
    size_t max = backend_job_max(backend);
    return size <= max ? 0
                       : fault_set(fault, "the job has %zu bytes, and the daemon takes at most %zu",
                                   size, max);
}

/* --- jobs ----------------------------------------------------------------------------------- */

/* Returns a free place; there is one as long as the window is not full. */
static size_t free_place(const struct backend *backend)
{
    size_t i = 0;
    while (backend->places[i].used)
        i++;
    return i;
}

/* Sends JOB, whose size is checked, under an id of its own. 0 or -ENOMEM. */
static int submit(struct backend *backend, struct feeder *feeder, const struct bytes *job,
                  void *tag)
{
    size_t i = free_place(backend);
    char head[SUBMIT_OVERHEAD];
    const char *share = backend->session.may_share ? backend->host.share : "";
    int n = snprintf(
        head, sizeof(head), "{\"type\":\"submit\",\"id\":\"%s%zu.%u\"%s%s%s,\"job\":", backend->ids,
        i, backend->places[i].serial + 1, *share ? ",\"share\":\"" : "", share, *share ? "\"" : "");
    assert(n > 0 && (size_t)n < sizeof(head));
    _cleanup_free_ char *text = malloc((size_t)n + job->length + 1);
    if (!text)
        return -ENOMEM;
    memcpy(text, head, (size_t)n);
    memcpy(text + n, job->data, job->length);
    text[(size_t)n + job->length] = '}';
    int r = session_send(&backend->session, text, (size_t)n + job->length + 1);
    if (r < 0)
        return r;
    backend->places[i] = (struct place){
        .feeder = feeder, .tag = tag, .serial = backend->places[i].serial + 1, .used = true};
    backend->in_flight++;
    feeder->in_flight++;
    return 0;
}

/* Gives FEEDER, which is no longer in the list, its turn. */
static void take_turn(struct backend *backend, struct feeder *feeder)
{
    _cleanup_bytes_ struct bytes job = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    void *tag = NULL;
    int r = feeder->ops->next(feeder, &job, &tag);
    if (r <= 0)
        return;
    bool fits = backend_check_size(backend, job.length, &fault) == 0;
    r = fits ? submit(backend, feeder, &job, tag) : -EMSGSIZE;
    if (r == 0 && feeder->in_flight >= backend->host.jobs_per_feeder) {
        feeder->full = true;
        return;
    }
    TAILQ_INSERT_TAIL(&backend->feeders, feeder, link);
    feeder->waiting = true;
    if (r < 0)
        feeder->ops->lost(feeder, tag, fits ? "internal" : "frame_too_large",
                          fits ? "out of memory" : fault.text, fits);
}

static void backend_feed(struct backend *backend)
{
    struct feeder *feeder;
    if (backend->feeding)
        return;
    backend->feeding = true;
    while (backend->state == UP && backend->in_flight < backend->window &&
           session_unsent(&backend->session) < UNSENT_MAX &&
           (feeder = TAILQ_FIRST(&backend->feeders))) {
        TAILQ_REMOVE(&backend->feeders, feeder, link);
        feeder->waiting = false;
        take_turn(backend, feeder);
    }
    backend->feeding = false;
}

void backend_offer(struct backend *backend, struct feeder *feeder)
{
    if (feeder->waiting || feeder->full)
        return;
    feeder->backend = backend;
    if (!is_reachable(backend)) {
        feeder->ops->unreachable(feeder, backend->why.text);
        return;
    }
    TAILQ_INSERT_TAIL(&backend->feeders, feeder, link);
    feeder->waiting = true;
    backend_feed(backend);
    watch_output(backend);
}

bool backend_cancel(struct backend *backend, uint64_t number)
{
    char text[SUBMIT_OVERHEAD];
    int n = snprintf(text, sizeof(text), "{\"type\":\"cancel\",\"job_no\":%" PRIu64 "}", number);
    if (backend->state != UP || session_send(&backend->session, text, (size_t)n) < 0)
        return false;
    watch_output(backend);
    return true;
}

void backend_withdraw(struct feeder *feeder, void (*drop)(void *tag))
{
    struct backend *backend = feeder->backend;
    if (!backend)
        return;
    if (feeder->waiting)
        TAILQ_REMOVE(&backend->feeders, feeder, link);
    for (size_t i = 0; i < backend->window && feeder->in_flight > 0; i++) {
        struct place *place = &backend->places[i];
        if (!place->used || place->feeder != feeder)
            continue;
        drop(place->tag);
        place->feeder = NULL;
        feeder->in_flight--;
        cancel(backend, i);
    }
    feeder->backend = NULL;
    feeder->waiting = feeder->full = false;
    watch_output(backend);
}

/* --- questions ------------------------------------------------------------------------------ */

void backend_ask(struct backend *backend, enum ask ask, struct asker *asker)
{
    if (!is_reachable(backend)) {
        asker->told(asker, NULL, backend->why.text);
        return;
    }
    questions_add(&backend->questions, ask, asker);
    send_questions(backend);
}
