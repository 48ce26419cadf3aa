/* SPDX-License-Identifier: MIT */
/* Tests that a data set packs: the bytes as a pickle, as what zlib made, and as base64 of that. */
#include "tests/fuzz/fuzz.h"

#include "client/grade/pickle.h"
#include "client/grade/unpack.h"
#include "proto/base64.h"

#include <string.h>
#include <zlib.h>

#define KEY "input_output"
#define INFLATED_MAX ((size_t)1 << 16)

/* Whether the input is a pickle that is read; *ret is its text, which lies in it. */
static bool check_pickle(const char *data, size_t n, struct bytes *ret)
{
    struct fault fault = FAULT_NULL;
    const char *text = NULL;
    size_t length = 0;
    int r = pickle_read_text(data, n, KEY, &text, &length, &fault);
    CHECK(r == 0 ? text >= data && length <= n && text + length <= data + n
                 : r == -EINVAL && !text && strncmp(fault.text, "pickle: ", 8) == 0);
    /* Nothing may follow it, and nothing of it may be missing. */
    if (r == 0 && n > 0)
        CHECK(pickle_read_text(data, n - 1, KEY, &text, &length, &fault) == -EINVAL);
    if (r == 0)
        CHECK(bytes_copy(text, length, ret) == 0);
    return r == 0;
}

static void check_inflate(const char *data, size_t n)
{
    _cleanup_bytes_ struct bytes out = BYTES_NULL, less = BYTES_NULL;
    int r = unpack_inflate(data, n, INFLATED_MAX, &out);
    CHECK(r == 0 || r == -EBADMSG || r == -ENODATA || r == -EFBIG);
    CHECK((r == 0) == (out.data != NULL));
    CHECK(out.length <= INFLATED_MAX);
    if (r == 0 && out.length > 0)
        CHECK(unpack_inflate(data, n, out.length - 1, &less) < 0);
}

/* Packed as data sets do, a pickle gives back the same text. */
static void check_packed(const char *data, size_t n, const struct bytes *text)
{
    _cleanup_bytes_ struct bytes base64 = BYTES_NULL, found = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    uLongf room = compressBound(n);
    _cleanup_free_ unsigned char *packed = malloc(room);
    CHECK(packed && compress(packed, &room, (const unsigned char *)data, n) == Z_OK);
    CHECK(base64_encode((const char *)packed, room, &base64) == 0);
    int r = unpack_text(base64.data, base64.length, KEY, &found, &fault);
    CHECK((r == 0) == (text->data != NULL));
    if (r == 0)
        CHECK(found.length == text->length && memcmp(found.data, text->data, found.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL, other = BYTES_NULL;
    const char *bytes = size > 0 ? (const char *)data : "";
    struct fault fault = FAULT_NULL;
    (void)check_pickle(bytes, size, &text);
    check_inflate(bytes, size);
    check_packed(bytes, size, &text);
    int r = unpack_text(bytes, size, KEY, &other, &fault);
    CHECK(r == 0 || *fault.text);
    return 0;
}
