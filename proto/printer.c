/* SPDX-License-Identifier: MIT */
/* Most of a message is names, words and text, which are copied as they are but for escapes. Strings
 * and reals are printed as jansson prints them. */
#include "printer.h"
#include "json.h"
#include "real_text.h"
#include "utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define ROOM_MIN 512

static void *reserve(struct printer *printer, size_t n)
{
    size_t needed = printer->text.length + n + 1;
    if (needed > printer->room && !printer->failed) {
        size_t room = MAX(needed, MAX(printer->room * 2, (size_t)ROOM_MIN));
        char *data = realloc(printer->text.data, room);
        printer->failed = !data;
        if (data) {
            printer->text.data = data;
            printer->room = room;
        }
    }
    return printer->failed ? NULL : printer->text.data + printer->text.length;
}

static void add(struct printer *printer, const char *text, size_t n)
{
    char *end = reserve(printer, n);
    if (!end || n == 0)
        return;
    memcpy(end, text, n);
    printer->text.length += n;
}

static char last(const struct printer *printer)
{
    return printer->text.length > 0 ? printer->text.data[printer->text.length - 1] : '\0';
}

void printer_open(struct printer *printer)
{
    add(printer, "{", 1);
}

void printer_close(struct printer *printer)
{
    add(printer, "}", 1);
}

static void begin_item(struct printer *printer)
{
    if (last(printer) != '{' && last(printer) != '[')
        add(printer, ",", 1);
}

void printer_open_list(struct printer *printer)
{
    add(printer, "[", 1);
}

void printer_close_list(struct printer *printer)
{
    add(printer, "]", 1);
}

void printer_item(struct printer *printer)
{
    begin_item(printer);
}

void printer_name(struct printer *printer, const char *name)
{
    begin_item(printer);
    add(printer, "\"", 1);
    add(printer, name, strlen(name));
    add(printer, "\":", 2);
}

void printer_word(struct printer *printer, const char *word)
{
    add(printer, word, strlen(word));
}

void printer_bytes(struct printer *printer, const struct bytes *printed)
{
    add(printer, printed->data, printed->length);
}

char *printer_room(struct printer *printer, size_t n)
{
    return reserve(printer, n);
}

void printer_advance(struct printer *printer, size_t n)
{
    assert(printer->failed || n < printer->room - printer->text.length);
    printer->text.length += printer->failed ? 0 : n;
}

void printer_boolean(struct printer *printer, bool value)
{
    printer_word(printer, value ? "true" : "false");
}

void printer_integer(struct printer *printer, int64_t value)
{
    char digits[sizeof("-9223372036854775808")], *end = digits + sizeof(digits), *at = end;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--at = '-';
    add(printer, at, (size_t)(end - at));
}

void printer_real(struct printer *printer, double value)
{
    char text[REAL_TEXT_MAX];
    add(printer, text, real_text(value, text)); /* JSON has none that is not finite */
}

/* --- strings and values -------------------------------------------------------------------- */

static void add_escaped(struct printer *printer, unsigned char c)
{
    static const char hex[] = "0123456789ABCDEF", special[] = "\"\\\b\f\n\r\t",
                      letters[] = "\"\\bfnrt";
    const char *found = c ? strchr(special, c) : NULL;
    const char shorter[] = {'\\', found ? letters[found - special] : '\0'};
    const char longer[] = {'\\', 'u', '0', '0', hex[c / 16], hex[c % 16]};
    add(printer, found ? shorter : longer, found ? sizeof(shorter) : sizeof(longer));
}

void printer_string(struct printer *printer, const char *text, size_t n)
{
    size_t printed = 0;
    int length = 1;
    add(printer, "\"", 1);
    for (size_t i = 0; i < n; i += (size_t)length) {
        unsigned char c = (unsigned char)text[i];
        length = c < 0x80 ? 1 : utf8_sequence(text + i, n - i);
        if (length < 0) {
            printer->failed = true; /* no JSON has it */
            return;
        }
        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        add(printer, text + printed, i - printed);
        add_escaped(printer, c);
        printed = i + 1;
    }
    if (printed < n)
        add(printer, text + printed, n - printed);
    add(printer, "\"", 1);
}

static void print_object(struct printer *printer, json_t *object) // NOLINT(misc-no-recursion)
{
    printer_open(printer);
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        const char *name = json_object_iter_key(i);
        begin_item(printer);
        printer_string(printer, name, strlen(name));
        add(printer, ":", 1);
        printer_value(printer, json_object_iter_value(i));
    }
    printer_close(printer);
}

static void print_array(struct printer *printer, const json_t *array) // NOLINT(misc-no-recursion)
{
    add(printer, "[", 1);
    for (size_t i = 0; i < json_array_size(array); i++) {
        begin_item(printer);
        printer_value(printer, json_array_get(array, i));
    }
    add(printer, "]", 1);
}

/* The recursion is bounded: values were read under JSON_DEPTH_MAX or built by this program. */
void printer_value(struct printer *printer, const json_t *value) // NOLINT(misc-no-recursion)
{
    if (json_is_object(value))
        print_object(printer, (json_t *)(uintptr_t)value);
    else if (json_is_array(value))
        print_array(printer, value);
    else if (json_is_string(value))
        printer_string(printer, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        printer_integer(printer, json_integer_value(value));
    else if (json_is_real(value))
        printer_real(printer, json_real_value(value));
    else if (json_is_boolean(value))
        printer_boolean(printer, json_is_true(value));
    else if (json_is_null(value))
        printer_word(printer, "null");
    else
        printer->failed = true;
}

int printer_finish(struct printer *printer, struct bytes *ret)
{
    char *end = reserve(printer, 0);
    if (!end) {
        bytes_deinit(&printer->text);
        return -ENOMEM;
    }
    *end = '\0';
    *ret = printer->text;
    *printer = (struct printer)PRINTER_NULL;
    return 0;
}

int json_print(const json_t *value, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    printer_value(&printer, value);
    return printer_finish(&printer, ret);
}
