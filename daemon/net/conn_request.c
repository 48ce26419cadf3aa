/* SPDX-License-Identifier: MIT */
/* What a frame says. */
#include "conn.h"

#include "daemon/jobs/settings.h"

static enum error_code code_of(int error)
{
    return error == -ENOMEM  ? ERROR_INTERNAL
           : error == -EPERM ? ERROR_NOT_PERMITTED
                             : ERROR_BAD_REQUEST;
}

void conn_read_request(struct conn *conn, const char *text, size_t n)
{
    _cleanup_json_ json_t *id = NULL;
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct fault fault = FAULT_NULL;
    struct settings *settings = conn->env->settings;

    int r = request_read(text, n, &settings->policy, &request, &id, &fault);
    if (r < 0) {
        struct bytes name = {(char *)(uintptr_t)json_string_value(id), json_string_length(id)};
        conn_send_error(conn, id ? &name : NULL, 0, code_of(r),
                        r == -ENOMEM ? "out of memory" : fault.text);
        return;
    }
    conn->env->ops->request(conn, &request, n, settings, conn->env->userdata);
}
