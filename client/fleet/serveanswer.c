/* SPDX-License-Identifier: MIT */
#include "serveanswer.h"

#include "proto/json.h"
#include "proto/printer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* The failure of a longer answer is not looked for. */
#define LOOKED_AT_MAX ((size_t)256 << 10)

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

size_t serveanswer_fleet_id(uint64_t number, const struct bytes *id, char ret[SERVEANSWER_ID_SIZE])
{
    size_t used = (size_t)snprintf(ret, SERVEANSWER_ID_SIZE, "%" PRIu64 "-", number);
    size_t n = MIN(id->length, SERVEANSWER_ID_SIZE - 1 - used);
    while (n < id->length && n > 0 && is_continuation(id->data[n]))
        n--;
    memcpy(ret + used, id->data, n);
    ret[used + n] = '\0';
    return used + n;
}

uint64_t serveanswer_number(const char *token)
{
    return strtoull(token, NULL, 10);
}

/* Prints `{"type":"TYPE","id":"ID","job_no":`. */
static int print_head(const char *type, const char *id, size_t n, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    char *text = NULL;
    printer_string(&printer, id, n);
    int r = printer_finish(&printer, &printed);
    if (r < 0)
        return r;
    int length = asprintf(&text, "{\"type\":\"%s\",\"id\":%s,\"job_no\":", type, printed.data);
    if (length < 0)
        return -ENOMEM;
    *ret = (struct bytes){.data = text, .length = (size_t)length};
    return 0;
}

/* Where only the head differs, and that is as daemons write it, nothing of the rest is read: some
 * results are large. Returns 1 if it was. */
static int splice(const struct bytes *text, uint64_t number, const struct bytes *id,
                  struct bytes *ret)
{
    _cleanup_bytes_ struct bytes old = BYTES_NULL, new = BYTES_NULL;
    char fleet_id[SERVEANSWER_ID_SIZE];
    char *made = NULL;
    size_t n = serveanswer_fleet_id(number, id, fleet_id);
    int r = print_head("result", fleet_id, n, &old);
    if (r == 0)
        r = print_head("result", id->data, id->length, &new);
    if (r < 0)
        return r;
    if (text->length <= old.length || memcmp(text->data, old.data, old.length) != 0)
        return 0;
    size_t digits = strspn(text->data + old.length, "0123456789");
    const char *rest = text->data + old.length + digits;
    size_t n_rest = text->length - old.length - digits;
    if (digits == 0 || *rest != ',')
        return 0;
    made = malloc(new.length + n_rest + SERVEANSWER_ID_SIZE);
    if (!made)
        return -ENOMEM;
    int head = sprintf(made, "%s%" PRIu64, new.data, number);
    memcpy(made + head, rest, n_rest);
    made[(size_t)head + n_rest] = '\0';
    *ret = (struct bytes){.data = made, .length = (size_t)head + n_rest};
    return 1;
}

int serveanswer_restore(const struct bytes *text, uint64_t number, const struct bytes *id,
                        struct bytes *ret)
{
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    int r = splice(text, number, id, ret);
    if (r != 0)
        return MIN(r, 0);
    r = json_read_object(text->data, text->length, &object, &fault);
    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    const char *type = json_string_value(json_object_get(object, "type"));
    if (!type || (strcmp(type, "result") != 0 && strcmp(type, "error") != 0))
        return -EBADMSG;
    if (json_object_set_new(object, "id", json_stringn(id->data, id->length)) < 0 ||
        json_object_set_new(object, "job_no", json_integer((json_int_t)number)) < 0)
        return -ENOMEM;
    return json_print(object, ret);
}

const char *serveanswer_failure(const struct bytes *answer, json_t **ret_owner)
{
    struct fault fault = FAULT_NULL;
    /* A quick look spares most answers the reading. */
    if (answer->length > LOOKED_AT_MAX ||
        (!memmem(answer->data, answer->length, "\"passed\":false", strlen("\"passed\":false")) &&
         !strstr(answer->data, "\"error\"")))
        return NULL;
    if (json_read_object(answer->data, answer->length, ret_owner, &fault) < 0)
        return NULL;
    const char *code = json_string_value(json_object_get(*ret_owner, "code"));
    const json_t *score = json_object_get(*ret_owner, "score");
    const json_t *modes = json_object_get(score, "failure_modes");
    if (code)
        return code;
    if (!json_is_false(json_object_get(score, "passed")))
        return NULL;
    code = json_string_value(json_object_get(json_array_get(modes, 0), "code"));
    return code ? code : "failed";
}
