/* SPDX-License-Identifier: MIT */
/* Compares outputs for tests/compare_check.py. A question is a rule, what a program wrote and what
 * was expected, each with its length in front, in 4 bytes, big-endian. The answer is one byte that
 * says whether they differ (0 or 1), the line in 4 bytes, and both excerpts and the reason with
 * their lengths. */
#include "daemon/compare/compare.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Reads into an allocation of exactly that size: a sanitizer sees what is read behind it. Returns
 * 1, 0 at the end of the input, or -1. */
static int read_bytes(struct bytes *ret)
{
    uint32_t length;
    if (fread(&length, sizeof(length), 1, stdin) != 1)
        return feof(stdin) ? 0 : -1;
    length = ntohl(length);
    *ret = (struct bytes){.data = malloc(length ? length : 1), .length = length};
    return ret->data && fread(ret->data, 1, length, stdin) == length ? 1 : -1;
}

static void write_bytes(const char *data, size_t n)
{
    uint32_t length = htonl((uint32_t)n);
    (void)fwrite(&length, sizeof(length), 1, stdout);
    if (n > 0)
        (void)fwrite(data, 1, n, stdout);
}

static int answer(const struct bytes *rule, const struct bytes *got, const struct bytes *expected)
{
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    struct compare compare;
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", (int)rule->length, rule->data);
    if (compare_parse(name, &compare, NULL) < 0 ||
        compare_outputs(&compare, got, expected, &difference) < 0)
        return -1;
    uint32_t line = htonl((uint32_t)difference.line);
    (void)putchar(difference.differs);
    (void)fwrite(&line, sizeof(line), 1, stdout);
    write_bytes(difference.got.data, difference.got.length);
    write_bytes(difference.expected.data, difference.expected.length);
    write_bytes(difference.why, difference.why ? strlen(difference.why) : 0);
    return 0;
}

int main(void)
{
    for (;;) {
        _cleanup_bytes_ struct bytes rule = BYTES_NULL, got = BYTES_NULL, expected = BYTES_NULL;
        int r = read_bytes(&rule);
        if (r <= 0)
            return r == 0 && fflush(stdout) == 0 ? 0 : 1;
        if (read_bytes(&got) <= 0 || read_bytes(&expected) <= 0 ||
            answer(&rule, &got, &expected) < 0)
            return 1;
    }
}
