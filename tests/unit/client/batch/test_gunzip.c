/* SPDX-License-Identifier: MIT */
#include "client/batch/gunzip.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Compresses TEXT with gzip; returns the length. */
static size_t compress_text(const char *text, size_t n, unsigned char *out, size_t size)
{
    z_stream stream = {.zalloc = NULL};
    unsigned char *copy = malloc(MAX(n, 1));
    memcpy(copy, text, n);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = copy;
    stream.avail_in = (uInt)n;
    stream.next_out = out;
    stream.avail_out = (uInt)size;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t length = size - stream.avail_out;
    (void)deflateEnd(&stream);
    free(copy);
    return length;
}

/* Feeds DATA, STEP bytes at a time. Sets *ret to what gunzip_feed() returned last, and *ret_end to
 * what gunzip_end() returns. */
static void feed(const unsigned char *data, size_t n, size_t step, struct evbuffer *out, int *ret,
                 int *ret_end)
{
    struct gunzip *gunzip = gunzip_new();
    assert_non_null(gunzip);
    *ret = 0;
    for (size_t at = 0; at < n && *ret == 0; at += step)
        *ret = gunzip_feed(gunzip, (const char *)data + at, MIN(step, n - at), out);
    if (*ret < 0)
        assert_int_equal(gunzip_feed(gunzip, "x", 1, out), *ret);
    *ret_end = gunzip_end(gunzip);
    assert_null(gunzip_free(gunzip));
}

static void assert_inflates(const unsigned char *data, size_t n, size_t step, int error, int end,
                            const char *expected)
{
    struct evbuffer *out = evbuffer_new();
    int r, at_end;
    feed(data, n, step, out, &r, &at_end);
    assert_int_equal(r, error);
    if (r == 0)
        assert_int_equal(at_end, end);
    assert_int_equal(evbuffer_get_length(out), strlen(expected));
    if (*expected)
        assert_memory_equal(evbuffer_pullup(out, -1), expected, strlen(expected));
    evbuffer_free(out);
}

static void test_members(void **state)
{
    unsigned char data[256];
    size_t first = compress_text("one\n", 4, data, sizeof(data));
    size_t empty = first + compress_text("", 0, data + first, sizeof(data) - first);
    size_t all = empty + compress_text("two", 3, data + empty, sizeof(data) - empty);
    (void)state;
    for (size_t step = 1; step <= all; step++) {
        assert_inflates(data, first, step, 0, 0, "one\n");
        assert_inflates(data, empty, step, 0, 0, "one\n");
        assert_inflates(data, all, step, 0, 0, "one\ntwo");
    }
}

static void test_cut_anywhere(void **state)
{
    unsigned char data[256];
    size_t n = compress_text("text", 4, data, sizeof(data));
    (void)state;
    for (size_t cut = 0; cut < n; cut++) {
        struct evbuffer *out = evbuffer_new();
        int r, end;
        feed(data, cut, 7, out, &r, &end);
        assert_int_equal(r, 0);
        assert_int_equal(end, -ENODATA);
        evbuffer_free(out);
    }
}

static void test_damaged(void **state)
{
    unsigned char data[256];
    size_t n = compress_text("text", 4, data, sizeof(data));
    (void)state;
    assert_inflates((const unsigned char *)"plain", 5, 5, -EBADMSG, 0, "");
    memcpy(data + n, "xx", 2);
    assert_inflates(data, n + 2, n + 2, -EBADMSG, 0, "text");
    data[n - 5] ^= 1; /* the checksum */
    assert_inflates(data, n, n, -EBADMSG, 0, "");
}

/* Inflates much out of little, more than fits into one step: all of it comes, and one call makes
 * only a bounded part. */
static void test_much_out_of_little(void **state)
{
    enum { MUCH = 20 << 20 };
    char *zeros = calloc(1, MUCH);
    unsigned char *data = malloc(1 << 20);
    size_t n = compress_text(zeros, MUCH, data, 1 << 20), total = 0;
    struct gunzip *gunzip = gunzip_new();
    (void)state;
    for (size_t at = 0; at < n; at += GUNZIP_FEED_MAX) {
        struct evbuffer *out = evbuffer_new();
        const char *from = (const char *)data + at;
        assert_int_equal(gunzip_feed(gunzip, from, MIN(n - at, GUNZIP_FEED_MAX), out), 0);
        assert_true(evbuffer_get_length(out) <= 1100 * GUNZIP_FEED_MAX);
        total += evbuffer_get_length(out);
        evbuffer_free(out);
    }
    assert_int_equal(gunzip_end(gunzip), 0);
    assert_int_equal(total, MUCH);
    (void)gunzip_free(gunzip);
    free(data);
    free(zeros);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(gunzip_wanted("a.gz"));
    assert_true(gunzip_wanted("dir/a.jsonl.gz"));
    assert_false(gunzip_wanted("a.jsonl"));
    assert_false(gunzip_wanted("a.gz.jsonl"));
    assert_false(gunzip_wanted("gz"));
    assert_false(gunzip_wanted(".gz"));
    assert_false(gunzip_wanted("-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members), cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_much_out_of_little),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
