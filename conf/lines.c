/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include "proto/utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

void lines_init(struct lines *lines, FILE *stream)
{
    *lines = (struct lines){.stream = stream};
}

/* Reads up to the end of the line. Bytes that do not fit count in lines->length but are not kept.
 * Returns 1, 0 at the end of the file, or a negative errno. */
static int read_raw(struct lines *lines)
{
    int c;

    lines->length = 0;
    errno = 0;
    while ((c = getc(lines->stream)) != EOF) {
        if (++lines->total > LINES_FILE_MAX)
            return -EFBIG;
        if (c == '\n')
            break;
        if (lines->length < sizeof(lines->text) - 1)
            lines->text[lines->length] = (char)c;
        lines->length++;
    }
    if (ferror(lines->stream))
        return errno ? -errno : -EIO;
    if (c == EOF && lines->length == 0)
        return 0;
    lines->number++;
    return 1;
}

int lines_check(const char *text, size_t n, struct fault *why)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\0')
            return fault_set(why, "NUL byte at column %zu", i + 1);
        if ((c < 0x20 && c != '\t') || c == 0x7F)
            return fault_set(why, "control character 0x%02X at column %zu", c, i + 1);
    }

    size_t length = 0;
    _cleanup_free_ char *valid = utf8_replace(text, n, &length);
    if (!valid)
        return -ENOMEM;
    size_t same = 0;
    while (same < n && same < length && valid[same] == text[same])
        same++;
    if (same < n || same < length)
        return fault_set(why, "invalid UTF-8 near column %zu", same + 1);
    return 0;
}

int lines_next(struct lines *lines, struct fault *why)
{
    static const char mark[3] = "\xEF\xBB\xBF";

    int r = read_raw(lines);
    if (r <= 0)
        return r;

    bool kept = lines->length < sizeof(lines->text);
    if (kept && lines->length > 0 && lines->text[lines->length - 1] == '\r')
        lines->length--;
    if (lines->length > LINES_LINE_MAX)
        return fault_set(why, "longer than %d bytes", LINES_LINE_MAX);
    if (lines->number == 1 && lines->length >= sizeof(mark) &&
        memcmp(lines->text, mark, sizeof(mark)) == 0) {
        lines->length -= sizeof(mark);
        memmove(lines->text, lines->text + sizeof(mark), lines->length);
    }
    assert(lines->length < sizeof(lines->text));
    lines->text[lines->length] = '\0';

    r = lines_check(lines->text, lines->length, why);
    return r < 0 ? r : 1;
}
