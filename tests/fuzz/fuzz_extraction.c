/* SPDX-License-Identifier: MIT */
/* Fuzz target: a model's answer in which code is found. Checks properties that hold for any text
 * and the code extracted from it. */
#include "tests/fuzz/fuzz.h"

#include "proto/extraction.h"

#include <string.h>

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

/* Returns whether something may be left out of TEXT besides fences: a thought, the CR before an LF,
 * or what a model ends its turn with. */
static bool is_trimmed(const struct bytes *text)
{
    size_t n = text->length;
    while (n > 0 && text->data[n - 1] != '\0' && strchr(" \t\r\n\v\f", text->data[n - 1]))
        n--;
    return (n > 0 && text->data[n - 1] == '>') || holds(text, "think>") || holds(text, "\r");
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
    if (!data) /* nothing is added to a null pointer */
        data = (const uint8_t *)"";
    find((const char *)data, size, &code, &fenced);
    CHECK(extraction_find((const char *)data, size, extraction_shell_tags, &shell, &shell_fenced) ==
          0);
    if (fenced)
        CHECK(!is_empty(&code));

    /* A byte order mark is no part of the text. */
    size_t mark = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    struct bytes text = {.data = (char *)(uintptr_t)data + mark, .length = size - mark};
    if (!memmem(data, size, "```", 3) && !memmem(data, size, "~~~", 3)) {
        CHECK(!fenced);
        if (!is_trimmed(&text))
            CHECK(code.length == text.length && memcmp(code.data, text.data, text.length) == 0);
    }
    /* Extraction dedents once; extracting its result again changes nothing. */
    if (fenced && !is_trimmed(&text)) {
        _cleanup_bytes_ struct bytes once = BYTES_NULL, twice = BYTES_NULL;
        find_wrapped(&code, &once);
        find_wrapped(&once, &twice);
        CHECK(twice.length == once.length + 1 && twice.data[once.length] == '\n');
        CHECK(memcmp(twice.data, once.data, once.length) == 0);
    }
    return 0;
}
