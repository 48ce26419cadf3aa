/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <string.h>

json_t *reply_error(enum reply_api api, const char *code, const char *message, bool retriable)
{
    switch (api) {
    case REPLY_FUSION:
        return json_pack("{s:s}", "detail", message);
    case REPLY_PISTON:
        return json_pack("{s:s}", "message", message);
    case REPLY_OWN:
        break;
    }
    return json_pack("{s:{s:s,s:s,s:b}}", "error", "code", code, "message", message, "retriable",
                     retriable);
}

unsigned reply_status(const char *code, bool retriable)
{
    static const struct {
        const char *code;
        unsigned status;
    } table[] = {
        {"bad_request", 400},     {"not_permitted", 403},    {"denied", 403},
        {"cancelled", 409},       {"frame_too_large", 413},  {"rubric_not_found", 422},
        {"another_rubric", 422},  {"module_not_found", 422}, {"language_not_found", 422},
        {"tests_not_found", 422}, /* they are put for a connection of the daemon, not of a client */
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].code, code) == 0)
            return table[i].status;
    return retriable ? 503 : 500;
}
