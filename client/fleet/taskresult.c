/* SPDX-License-Identifier: MIT */
#include "taskresult.h"

#include "proto/printer.h"

#include <string.h>

/* Prints ID as JSON. */
static int print_id(const struct bytes *id, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    printer_string(&printer, id->data, id->length);
    return printer_finish(&printer, ret);
}

/* Replaces the first TEXT's bytes from FROM on, N of them, by BY. */
static int splice(const struct bytes *text, size_t from, size_t n, const struct bytes *by,
                  struct bytes *ret)
{
    size_t length = text->length - n + by->length;
    char *data = malloc(length + 1);
    if (!data)
        return -ENOMEM;
    memcpy(data, text->data, from);
    memcpy(data + from, by->data, by->length);
    memcpy(data + from + by->length, text->data + from + n, text->length - from - n);
    data[length] = '\0';
    *ret = (struct bytes){.data = data, .length = length};
    return 0;
}

int taskresult_restore(const struct message *message, const char *lane_id, const struct bytes *id,
                       struct bytes *ret)
{
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    char head[128];
    size_t at;
    int r = print_id(id, &printed);
    if (r < 0)
        return r;
    /* The daemon writes the id second, without blanks; nothing of the rest has to be read. */
    at = (size_t)snprintf(head, sizeof(head), "{\"type\":\"%s\",\"id\":",
                          message->type == MESSAGE_ERROR ? "error" : "result");
    (void)snprintf(head + at, sizeof(head) - at, "\"%s\"", lane_id);
    if (strncmp(message->payload.data, head, strlen(head)) == 0)
        return splice(&message->payload, at, strlen(head) - at, &printed, ret);
    _cleanup_json_ json_t *object = json_copy(message->object);
    if (!object || json_object_set_new(object, "id", json_stringn(id->data, id->length)) < 0)
        return -ENOMEM;
    return json_print(object, ret);
}

int taskresult_error(const struct bytes *id, const char *code, const char *message, bool retriable,
                     struct bytes *ret)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:s,s:s%,s:s,s:s,s:b}", "type", "error", "id", id->data, id->length, "code",
                  code, "message", message, "retriable", retriable);
    return object ? json_print(object, ret) : -ENOMEM;
}
