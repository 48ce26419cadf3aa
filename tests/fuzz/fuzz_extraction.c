/* SPDX-License-Identifier: MIT */
/* libFuzzer target: checks properties that hold for any text and the code extracted from it.
 *
 *   CC=clang meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
 *   ninja -C build-fuzz tests/fuzz-extraction
 *   build-fuzz/tests/fuzz-extraction -max_total_time=300 CORPUS tests/data/extraction */
#include "daemon/kinds/extraction.h"

#include <string.h>

/* Like assert(), but aborts in NDEBUG builds, too. */
#define CHECK(condition)      \
    do {                      \
        if (!(condition))     \
            __builtin_trap(); \
    } while (0)

__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool holds(const struct bytes *code, const char *word)
{
    return memmem(code->data, code->length, word, strlen(word)) != NULL;
}

static bool is_empty(const struct bytes *code)
{
    for (size_t i = 0; i < code->length; i++)
        if (!strchr(" \t\r\n\v\f", code->data[i]) || code->data[i] == '\0')
            return false;
    return true;
}

/* Returns the length of the longest run of backquotes in CODE. */
static size_t longest_fence(const struct bytes *code)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < code->length; i++) {
        run = code->data[i] == '`' ? run + 1 : 0;
        longest = MAX(longest, run);
    }
    return longest;
}

static void find(const char *text, size_t n, struct bytes *ret_code, bool *ret_fenced)
{
    CHECK(extraction_find(text, n, extraction_python_tags, ret_code, ret_fenced) == 0);
    CHECK(ret_code->length <= n && ret_code->data[ret_code->length] == '\0');
}

/* Extracts non-empty CODE from a fence behind prose. The fence is longer than any in CODE. */
static void find_wrapped(const struct bytes *code, struct bytes *ret)
{
    static const char prose[] = "Here ```is``` the text:\n";
    size_t fence = MAX(longest_fence(code) + 1, (size_t)3), n = 0;
    _cleanup_free_ char *text = malloc(sizeof(prose) + code->length + 2 * fence + 16);
    CHECK(text);
    n = (size_t)(stpcpy(text, prose) - text);
    memset(text + n, '`', fence);
    n = (size_t)(stpcpy(text + n + fence, "Python x=y\n") - text);
    memcpy(text + n, code->data, code->length);
    n += code->length;
    text[n++] = '\n';
    memset(text + n, '`', fence);
    n += fence;

    bool fenced;
    find(text, n, ret, &fenced);
    CHECK(fenced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_bytes_ struct bytes code = BYTES_NULL, shell = BYTES_NULL;
    bool fenced, shell_fenced;
    find((const char *)data, size, &code, &fenced);
    CHECK(extraction_find((const char *)data, size, extraction_shell_tags, &shell, &shell_fenced) ==
          0);
    if (fenced)
        CHECK(!is_empty(&code));

    struct bytes text = {.data = (char *)(uintptr_t)data, .length = size};
    if (!memmem(data, size, "```", 3) && !memmem(data, size, "~~~", 3)) {
        CHECK(!fenced);
        if (!holds(&text, "think>") && !holds(&text, "\r"))
            CHECK(code.length == size && memcmp(code.data, data, size) == 0);
    }
    /* Extraction dedents once; extracting its result again changes nothing. */
    if (fenced && !holds(&text, "think>") && !holds(&text, "\r")) {
        _cleanup_bytes_ struct bytes once = BYTES_NULL, twice = BYTES_NULL;
        find_wrapped(&code, &once);
        find_wrapped(&once, &twice);
        CHECK(twice.length == once.length + 1 && twice.data[once.length] == '\n');
        CHECK(memcmp(twice.data, once.data, once.length) == 0);
    }
    return 0;
}
