/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/* Priorities are not negative in subjects: p0 to p20. */
#define SHIFT (-NAMES_PRIORITY_MIN)

const char *names_kind(enum fleet_stream stream)
{
    static const char *const kinds[FLEET_STREAMS] = {
        [STREAM_JOBS] = "jobs",     [STREAM_RESULTS] = "results", [STREAM_MARKS] = "marks",
        [STREAM_INPUTS] = "inputs", [STREAM_DEAD] = "dead",       [STREAM_HOSTS] = "hosts",
    };
    return kinds[stream];
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

int names_check(const char *what, const char *name, size_t max, struct fault *fault)
{
    size_t n = strlen(name);
    if (n == 0 || n > max)
        return fault_set(fault, "%s \"%.80s\": expected 1 to %zu characters", what, name, max);
    for (size_t i = 0; i < n; i++)
        if (!is_plain(name[i]))
            return fault_set(fault, "%s \"%s\": only letters, digits, _ and - are allowed", what,
                             name);
    return 0;
}

void names_stream(const char *fleet, enum fleet_stream stream, char ret[NAMES_SUBJECT_SIZE])
{
    (void)snprintf(ret, NAMES_SUBJECT_SIZE, "%s-%s", fleet, names_kind(stream));
}

void names_all(const char *fleet, enum fleet_stream stream, char ret[NAMES_SUBJECT_SIZE])
{
    (void)snprintf(ret, NAMES_SUBJECT_SIZE, "%s.%s.>", fleet, names_kind(stream));
}

void names_token(const char *id, size_t n, char ret[NAMES_TOKEN_MAX + 1])
{
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;
    assert(n * 3 <= NAMES_TOKEN_MAX);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)id[i];
        if (is_plain(id[i])) {
            ret[used++] = id[i];
            continue;
        }
        ret[used++] = '%';
        ret[used++] = digits[c >> 4];
        ret[used++] = digits[c & 15];
    }
    ret[used] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int names_id(const char *token, struct bytes *ret)
{
    size_t n = strlen(token), used = 0;
    _cleanup_free_ char *id = malloc(n + 1);
    if (!id)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (is_plain(token[i])) {
            id[used++] = token[i];
            continue;
        }
        int high = token[i] == '%' ? digit_of(token[i + 1]) : -1;
        int low = high >= 0 ? digit_of(token[i + 2]) : -1;
        if (low < 0)
            return -EINVAL;
        id[used++] = (char)(high << 4 | low);
        i += 2;
    }
    return used == 0 ? -EINVAL : bytes_copy(id, used, ret);
}

void names_queue(int64_t priority, char ret[NAMES_QUEUE_SIZE])
{
    (void)snprintf(ret, NAMES_QUEUE_SIZE, "p%" PRId64, priority + SHIFT);
}

void names_job(const char *fleet, const char *run, int64_t priority, const char *token,
               char ret[NAMES_SUBJECT_SIZE])
{
    char queue[NAMES_QUEUE_SIZE];
    names_queue(priority, queue);
    (void)snprintf(ret, NAMES_SUBJECT_SIZE, "%s.jobs.%s.%s.%s", fleet, run, queue, token);
}

void names_of_run(const char *fleet, enum fleet_stream stream, const char *run, const char *token,
                  char ret[NAMES_SUBJECT_SIZE])
{
    (void)snprintf(ret, NAMES_SUBJECT_SIZE, "%s.%s.%s.%s", fleet, names_kind(stream), run, token);
}

void names_consumer(const char *run, int64_t priority, char ret[NAMES_SUBJECT_SIZE])
{
    char queue[NAMES_QUEUE_SIZE];
    names_queue(priority, queue);
    (void)snprintf(ret, NAMES_SUBJECT_SIZE, "%s-%s", run, queue);
}

/* Reads "p12" up to END into a priority. */
static bool read_priority(const char *text, const char *end, int64_t *ret)
{
    int64_t value = 0;
    if (*text != 'p' || end - text < 2 || end - text > 3)
        return false;
    for (const char *c = text + 1; c < end; c++) {
        if (*c < '0' || *c > '9')
            return false;
        value = value * 10 + (*c - '0');
    }
    *ret = value - SHIFT;
    return *ret <= NAMES_PRIORITY_MAX;
}

bool names_read_job(const char *fleet, const char *subject, struct names_job *ret)
{
    char head[NAMES_FLEET_MAX + 16];
    int n = snprintf(head, sizeof(head), "%s.jobs.", fleet);
    if (strncmp(subject, head, (size_t)n) != 0)
        return false;
    const char *run = subject + n, *priority = strchr(run, '.');
    const char *token = priority ? strchr(priority + 1, '.') : NULL;
    if (!token || priority - run > NAMES_RUN_MAX || strlen(token + 1) > NAMES_TOKEN_MAX)
        return false;
    (void)snprintf(ret->run, sizeof(ret->run), "%.*s", (int)(priority - run), run);
    (void)snprintf(ret->token, sizeof(ret->token), "%s", token + 1);
    return read_priority(priority + 1, token, &ret->priority);
}

bool names_read_consumer(const char *name, char ret_run[NAMES_RUN_MAX + 1], int64_t *ret_priority)
{
    const char *dash = strrchr(name, '-');
    if (!dash || dash == name || dash - name > NAMES_RUN_MAX)
        return false;
    (void)snprintf(ret_run, NAMES_RUN_MAX + 1, "%.*s", (int)(dash - name), name);
    return read_priority(dash + 1, dash + strlen(dash), ret_priority);
}

const char *names_last(const char *subject)
{
    const char *dot = strrchr(subject, '.');
    return dot ? dot + 1 : subject;
}

size_t names_consumer_config(const char *fleet, const char *run, int64_t priority,
                             const char *digest, int64_t ack_wait_s, char *ret, size_t size)
{
    char name[NAMES_SUBJECT_SIZE], queue[NAMES_QUEUE_SIZE];
    names_consumer(run, priority, name);
    names_queue(priority, queue);
    int n = snprintf(ret, size,
                     "{\"stream_name\":\"%s-jobs\",\"config\":{\"durable_name\":\"%s\","
                     "\"description\":\"%s\",\"ack_policy\":\"explicit\",\"ack_wait\":%" PRId64
                     ",\"max_deliver\":-1,\"max_ack_pending\":-1,"
                     "\"filter_subject\":\"%s.jobs.%s.%s.>\"}}",
                     fleet, name, digest, ack_wait_s * SECOND_NS, fleet, run, queue);
    return (size_t)n;
}
