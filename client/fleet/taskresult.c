/* SPDX-License-Identifier: MIT */
#include "taskresult.h"

#include "marks.h"

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

/* Makes the names of the workers of ENTRIES, each once. */
static json_t *workers_of(const json_t *entries)
{
    json_t *names = json_array();
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *name = json_object_get(json_array_get(entries, i), "worker");
        bool is_new = json_is_string(name);
        for (size_t j = 0; is_new && j < json_array_size(names); j++)
            is_new = !json_equal(json_array_get(names, j), name);
        if (is_new && json_array_append(names, name) < 0) {
            json_decref(names);
            return NULL;
        }
    }
    return names;
}

int taskresult_label(struct bytes *text, const char *worker, const json_t *starved, unsigned beside)
{
    size_t n = text->length;
    if (json_array_size(starved) == 0)
        return 0;
    while (n > 0 && text->data[n - 1] != '}')
        n--;
    _cleanup_json_ json_t *label =
        json_pack("{s:s,s:o,s:b}", "worker", worker, "starved_on", workers_of(starved), "same_host",
                  marks_has_worker(starved, worker));
    if (!label || n == 0 ||
        (beside > 0 && json_object_set_new(label, "beside", json_integer(beside)) < 0))
        return -ENOMEM;
    struct printer printer = {.text = {.data = text->data, .length = n - 1}, .room = text->length};
    *text = (struct bytes)BYTES_NULL;
    printer_name(&printer, "fleet");
    printer_value(&printer, label);
    printer_close(&printer);
    return printer_finish(&printer, text);
}

int taskresult_error(const struct bytes *id, const char *code, const char *message, bool retriable,
                     struct bytes *ret)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:s,s:s%,s:s,s:s,s:b}", "type", "error", "id", id->data, id->length, "code",
                  code, "message", message, "retriable", retriable);
    return object ? json_print(object, ret) : -ENOMEM;
}
