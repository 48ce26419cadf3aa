/* SPDX-License-Identifier: MIT */
#include "taskbench.h"

#include "proto/json.h"
#include "proto/printer.h"

#include <string.h>

#define FETCHES_MAX 2

int taskbench_init(struct taskbench *bench, struct benches *benches, const char *name)
{
    const size_t digits = RUBRICDIR_DIGEST_SIZE - 1;
    bench->benches = benches;
    bench->lock = -1;
    if (!name)
        return 0;
    if (strlen(name) < digits || name[digits] != ' ')
        return -EINVAL;
    (void)snprintf(bench->digest, sizeof(bench->digest), "%.64s", name);
    name += digits + 1;
    if (!manifest_is_digest(bench->digest) || !benchcache_is_task_class(name))
        return -EINVAL;
    bench->task_class = strdup(name);
    return bench->task_class ? 0 : -ENOMEM;
}

void taskbench_deinit(struct taskbench *bench)
{
    benches_forget(&bench->wait);
    bench->lock = close_fd(bench->lock);
    free(bench->task_class);
    bench->task_class = NULL;
}

int taskbench_use(struct taskbench *bench, struct bytes *body)
{
    char root[PATH_MAX];
    _cleanup_json_ json_t *fields = NULL;
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!bench->task_class || !bench->benches || bench->lock >= 0)
        return 0;
    bench->lock = benches_use(bench->benches, bench->digest, bench->task_class, root);
    if (bench->lock < 0)
        return 0;
    if (json_read_object(body->data, body->length, &fields, NULL) < 0)
        return 0; /* the daemon says what is wrong with it */
    if (json_object_set_new(fields, "bench_root", json_string(root)) < 0 ||
        json_print(fields, &text) < 0)
        return -ENOMEM;
    bytes_deinit(body);
    *body = TAKE_STRUCT(text, BYTES_NULL);
    return 0;
}

/* Whether MESSAGE says that the host has not this rubric. */
static bool is_missing(const struct taskbench *bench, const struct message *message)
{
    static const char *const codes[] = {"another_rubric", "rubric_not_found", "not_permitted"};
    const char *code = message->type == MESSAGE_ERROR ? message_text(message, "code") : NULL;
    /* A cached directory that the daemon may not read does not get better. */
    size_t n = bench->lock >= 0 ? 2 : ARRAY_SIZE(codes);
    if (!bench->task_class || !code)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

bool taskbench_lacks(const struct taskbench *bench, const struct message *message)
{
    return bench->benches && bench->fetched < FETCHES_MAX && is_missing(bench, message);
}

bool taskbench_was_in_vain(const struct taskbench *bench, const struct message *message,
                           char ret[FAULT_MAX])
{
    if (!bench->benches || bench->fetched < FETCHES_MAX || !is_missing(bench, message))
        return false;
    struct fault fault = FAULT_NULL;
    (void)fault_set(&fault, "the daemon cannot use the copy that was fetched: %.40s: %.300s",
                    message_text(message, "code"), message_text(message, "message"));
    (void)snprintf(ret, FAULT_MAX, "%s", fault.text);
    return true;
}

void taskbench_fetch(struct taskbench *bench)
{
    bench->fetched++;
    if (bench->lock >= 0)
        benches_drop(bench->benches, bench->digest, TAKE_FD(bench->lock));
    benches_fetch(bench->benches, bench->digest, bench->task_class, &bench->wait);
}

void taskbench_reason(const struct taskbench *bench, const char *why, const char *host,
                      char ret[FAULT_MAX])
{
    struct fault fault = FAULT_NULL;
    if (host)
        (void)fault_set(&fault,
                        "none of the hosts that were tried (%d times) could run the rubric of "
                        "%.100s with the digest %s; the last one is %.64s (%.200s)",
                        TASKBENCH_TRIES_MAX, bench->task_class, bench->digest, host, why);
    else
        (void)fault_set(&fault,
                        "none of the hosts that were tried (%d times) has the rubric of %.100s "
                        "with the digest %s, and the fleet has not got it (%.150s): `rubricctl "
                        "fleet push-bench` stores it there",
                        TASKBENCH_TRIES_MAX, bench->task_class, bench->digest, why);
    (void)snprintf(ret, FAULT_MAX, "%s", fault.text);
}
