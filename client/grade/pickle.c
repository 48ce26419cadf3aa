/* SPDX-License-Identifier: MIT */
/* Theory of operation: a pickle is a sequence of operations, each a byte and its arguments. The
 * form that is read here has a fixed order of them,
 *
 *     PROTO, then a TEXT, or EMPTY_DICT and a member, then STOP
 *     member: TEXT TEXT SETITEM, or MARK TEXT TEXT SETITEMS
 *
 * in which FRAME may stand anywhere, and behind a TEXT or a dictionary an operation that only
 * remembers it. */
#include "pickle.h"

#include "proto/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum operation {
    PROTO = 0x80,            /* 1 byte: the protocol */
    FRAME = 0x95,            /* 8 bytes: a length */
    EMPTY_DICT = '}',        /**/
    MARK = '(',              /**/
    SETITEM = 's',           /**/
    SETITEMS = 'u',          /**/
    SHORT_BINUNICODE = 0x8C, /* a length of 1 byte, a text */
    BINUNICODE = 'X',        /* of 4 bytes */
    BINUNICODE8 = 0x8D,      /* of 8 bytes */
    BINPUT = 'q',            /* 1 byte: where to remember */
    LONG_BINPUT = 'r',       /* 4 bytes */
    MEMOIZE = 0x94,          /**/
    STOP = '.',              /**/
};

#define PROTOCOL_MIN 2
#define PROTOCOL_MAX 5

struct reader {
    const char *data;
    size_t n, at;
    struct fault *fault;
};

static int refuse(const struct reader *reader, const char *what)
{
    return fault_set(reader->fault, "pickle: byte %zu: %s", reader->at, what);
}

/* Reads a number of SIZE bytes, the lowest first. */
static int read_number(struct reader *reader, size_t size, uint64_t *ret)
{
    uint64_t value = 0;
    if (reader->n - reader->at < size)
        return refuse(reader, "it ends too early");
    for (size_t i = size; i > 0; i--)
        value = value << 8 | (unsigned char)reader->data[reader->at + i - 1];
    reader->at += size;
    *ret = value;
    return 0;
}

/* The operation that is next, behind any frames; -EINVAL if there is none. Does not move behind it.
 */
static int peek(struct reader *reader)
{
    while (reader->at < reader->n && (unsigned char)reader->data[reader->at] == FRAME) {
        uint64_t length = 0;
        reader->at++;
        if (read_number(reader, 8, &length) < 0)
            return -EINVAL;
        if (length > reader->n - reader->at)
            return refuse(reader, "a frame is longer than the rest");
    }
    if (reader->at == reader->n)
        return refuse(reader, "it ends too early");
    return (unsigned char)reader->data[reader->at];
}

static int expect(struct reader *reader, enum operation operation, const char *what)
{
    int next = peek(reader);
    if (next >= 0 && next != (int)operation)
        return refuse(reader, what);
    reader->at += next >= 0;
    return MIN(next, 0);
}

/* Passes over the operation that remembers what was just read, if there is one. */
static int skip_memo(struct reader *reader)
{
    uint64_t where = 0;
    int next = peek(reader);
    size_t size = next == BINPUT ? 1 : next == LONG_BINPUT ? 4 : 0;
    if (next < 0)
        return next;
    if (next != MEMOIZE && size == 0)
        return 0;
    reader->at++;
    return size > 0 ? read_number(reader, size, &where) : 0;
}

static int read_text(struct reader *reader, const char **ret, size_t *ret_n)
{
    uint64_t length = 0;
    int next = peek(reader);
    size_t size = next == SHORT_BINUNICODE ? 1 : next == BINUNICODE ? 4 : 8;
    if (next < 0)
        return next;
    if (next != SHORT_BINUNICODE && next != BINUNICODE && next != BINUNICODE8)
        return refuse(reader, "expected a text; a pickle that does anything else is not read");
    reader->at++;
    if (read_number(reader, size, &length) < 0)
        return -EINVAL;
    if (length > reader->n - reader->at)
        return refuse(reader, "a text is longer than the rest");
    *ret = reader->data + reader->at;
    *ret_n = (size_t)length;
    reader->at += (size_t)length;
    return skip_memo(reader);
}

/* Reads the dictionary and its member KEY. */
static int read_member(struct reader *reader, const char *key, const char **ret, size_t *ret_n)
{
    const char *name = NULL;
    size_t name_n = 0;
    int r = expect(reader, EMPTY_DICT, "expected a dictionary");
    if (r == 0)
        r = skip_memo(reader);
    int next = r == 0 ? peek(reader) : r;
    bool marked = next == MARK;
    reader->at += marked;
    if (next >= 0)
        next = read_text(reader, &name, &name_n);
    if (next < 0)
        return next;
    if (!name || name_n != strlen(key) || memcmp(name, key, name_n) != 0)
        return fault_set(reader->fault, "pickle: expected the member %s, got another", key);
    r = read_text(reader, ret, ret_n);
    if (r < 0)
        return r;
    return marked ? expect(reader, SETITEMS, "expected the end of the dictionary")
                  : expect(reader, SETITEM, "expected the end of a member");
}

int pickle_read_text(const char *data, size_t n, const char *key, const char **ret, size_t *ret_n,
                     struct fault *fault)
{
    struct reader reader = {.data = data, .n = n, .fault = fault};
    const char *text = NULL;
    size_t text_n = 0;
    uint64_t protocol = 0;
    int r = n > 0 && (unsigned char)data[0] == PROTO ? 0 : refuse(&reader, "not a pickle");
    reader.at += r == 0;
    if (r == 0)
        r = read_number(&reader, 1, &protocol);
    if (r == 0 && (protocol < PROTOCOL_MIN || protocol > PROTOCOL_MAX))
        r = refuse(&reader, "of a protocol that is not known");
    int next = r == 0 ? peek(&reader) : r;
    if (next >= 0)
        next = next == EMPTY_DICT ? read_member(&reader, key, &text, &text_n)
                                  : read_text(&reader, &text, &text_n);
    if (next == 0)
        next = expect(&reader, STOP, "expected the end");
    if (next == 0 && reader.at != n)
        next = refuse(&reader, "something follows its end");
    if (next < 0)
        return next;
    *ret = text;
    *ret_n = text_n;
    return 0;
}
