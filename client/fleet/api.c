/* SPDX-License-Identifier: MIT */
#include "api.h"

#include "proto/json.h"

#include <string.h>

/* Of servers since 2.10, which the library does not know. */
#define DUPLICATE_CONFLICT_ERR 10158

static enum api_outcome outcome_of(int64_t code, int64_t err_code, const char *text)
{
    switch (err_code) {
    case JSStreamWrongLastSequenceErr:
        return API_CONFLICT;
    case JSNoMessageFoundErr:
    case JSSequenceNotFoundErr:
    case JSStreamMsgDeleteFailed:
        return API_GONE;
    case JSInsufficientResourcesErr:
    case JSStorageResourcesExceededErr:
    case JSMemoryResourcesExceededErr:
    case JSAccountResourcesExceededErr:
    case JSStreamLimitsErr:
        return API_FULL;
    case JSStreamMessageExceedsMaximumErr:
        return API_TOO_LARGE;
    case JSStreamStoreFailedErr:
        return strstr(text, "per subject") ? API_EXISTS : API_FULL;
    case DUPLICATE_CONFLICT_ERR:
        return API_AGAIN;
    default:
        return code == 503 ? API_AGAIN : API_REFUSED;
    }
}

const char *api_remedy(const struct api_answer *answer)
{
    return answer->outcome == API_FULL
               ? " (make room on the disk of the NATS server, or raise the limit: that of the "
                 "stream with rubricctl fleet init --max-gib, that of the server in its "
                 "configuration)"
               : "";
}

void api_read(natsMsg *reply, struct api_answer *ret)
{
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    *ret = (struct api_answer){.outcome = API_OK};
    int n = natsMsg_GetDataLength(reply);
    if (n == 0)
        return; /* the answer to an acknowledgement */
    if (json_read_object(natsMsg_GetData(reply), (size_t)n, &object, &fault) < 0) {
        ret->outcome = API_AGAIN;
        (void)snprintf(ret->text, sizeof(ret->text), "%.200s", fault.text);
        return;
    }
    const json_t *error = json_object_get(object, "error");
    ret->seq = (uint64_t)json_integer_value(json_object_get(object, "seq"));
    if (!error && ret->seq == 0 && json_is_true(json_object_get(object, "duplicate"))) {
        /* A copy came before, and may not be stored in the end. */
        ret->outcome = API_AGAIN;
        (void)snprintf(ret->text, sizeof(ret->text),
                       "the server has not stored its first copy yet");
    }
    if (!error)
        return;
    const char *text = json_string_value(json_object_get(error, "description"));
    (void)snprintf(ret->text, sizeof(ret->text), "%s", text ? text : "no reason given");
    ret->outcome = outcome_of(json_integer_value(json_object_get(error, "code")),
                              json_integer_value(json_object_get(error, "err_code")), ret->text);
}

const char *api_header(natsMsg *message, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(message, name, &value) == NATS_OK ? value : NULL;
}

int api_status(natsMsg *message)
{
    const char *status = natsMsg_GetDataLength(message) == 0 ? api_header(message, "Status") : NULL;
    return status ? atoi(status) : 0; // NOLINT(cert-err34-c)
}

uint64_t api_sequence(natsMsg *message)
{
    const char *seq = api_header(message, "Nats-Sequence");
    return seq ? strtoull(seq, NULL, 10) : 0;
}

bool api_read_delivery(const char *reply, struct api_delivery *ret)
{
    /* $JS.ACK.STREAM.CONSUMER.DELIVERED.STREAM_SEQ.CONSUMER_SEQ.TIME.PENDING; newer servers have
     * the domain and the account before the stream, and more at the end. */
    enum { TOKENS_MAX = 12, TOKENS_OLD = 9, BEHIND = 4, MORE = 2 };
    const char *tokens[TOKENS_MAX];
    size_t n = 0;
    if (!reply || strncmp(reply, "$JS.ACK.", 8) != 0)
        return false;
    for (const char *at = reply; at && n < TOKENS_MAX; at = strchr(at, '.'), at = at ? at + 1 : at)
        tokens[n++] = at;
    if (n < TOKENS_OLD)
        return false;
    size_t at = n == TOKENS_OLD ? BEHIND : BEHIND + MORE;
    ret->consumer = tokens[at - 1];
    ret->delivered = strtoull(tokens[at], NULL, 10);
    ret->stream_seq = strtoull(tokens[at + 1], NULL, 10);
    return ret->delivered > 0 && ret->stream_seq > 0;
}

bool api_is_from(const struct api_delivery *delivery, const char *name)
{
    size_t n = strlen(name);
    return strncmp(delivery->consumer, name, n) == 0 && delivery->consumer[n] == '.';
}

void api_subject(const char *what, const char *fleet, enum fleet_stream stream, const char *more,
                 char *ret, size_t size)
{
    (void)snprintf(ret, size, "$JS.API.%s.%s-%s%s%s", what, fleet, names_kind(stream),
                   more ? "." : "", more ? more : "");
}

void api_direct_last(const char *fleet, enum fleet_stream stream, const char *subject, char *ret,
                     size_t size)
{
    api_subject("DIRECT.GET", fleet, stream, subject, ret, size);
}

size_t api_purge(const char *fleet, enum fleet_stream stream, const char *filter,
                 char subject[API_SUBJECT_SIZE], char text[API_PURGE_SIZE])
{
    api_subject("STREAM.PURGE", fleet, stream, NULL, subject, API_SUBJECT_SIZE);
    return (size_t)snprintf(text, API_PURGE_SIZE, "{\"filter\":\"%s\"}", filter);
}
