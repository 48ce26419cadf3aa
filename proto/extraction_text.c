/* SPDX-License-Identifier: MIT */
#include "extraction_text.h"

#include <errno.h>
#include <stdlib.h>

/* --- thoughts and line ends --------------------------------------------------------------- */

static bool is_quote(char c)
{
    return c == '\'' || c == '"' || c == '`';
}

/* Returns whether the <think> at AT follows a quote, so that the text only mentions the tag. */
static bool is_start_quoted(const char *text, size_t at)
{
    return at > 0 && is_quote(text[at - 1]);
}

/* The same for a </think> that ends at END and precedes a quote. A code fence is not a quote. */
static bool is_end_quoted(const char *text, size_t n, size_t end)
{
    return end < n && is_quote(text[end]) &&
           !(text[end] == '`' && begins_with(text + end, n - end, "```"));
}

/* Returns the end of the thought whose content begins at AT. */
static size_t skip_thought(const char *text, size_t n, size_t at)
{
    size_t last_end = n;
    for (unsigned depth = 1; at < n;) {
        if (begins_with(text + at, n - at, "<think>") && !is_start_quoted(text, at)) {
            depth++;
            at += strlen("<think>");
        } else if (begins_with(text + at, n - at, "</think>") &&
                   !is_end_quoted(text, n, at + strlen("</think>"))) {
            at += strlen("</think>");
            last_end = at;
            if (--depth == 0)
                break;
        } else {
            at++;
        }
    }
    return last_end;
}

/* Copies TEXT without its thoughts to OUT. Returns the number of bytes copied. */
static size_t drop_thoughts(const char *text, size_t n, char *out)
{
    bool spoken = false; /* the text has mentioned <think> */
    size_t length = 0;
    for (size_t i = 0; i < n;) {
        if (text[i] == '<' && begins_with(text + i, n - i, "<think>")) {
            if (!is_start_quoted(text, i)) {
                i = skip_thought(text, n, i + strlen("<think>"));
                continue;
            }
            spoken = true;
        } else if (text[i] == '<' && begins_with(text + i, n - i, "</think>")) {
            size_t end = i + strlen("</think>");
            if (!spoken && !is_end_quoted(text, n, end)) {
                length = 0;
                i = end;
                continue;
            }
        }
        out[length++] = text[i++];
    }
    return length;
}

static size_t unify_line_ends(char *text, size_t n)
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n')
            continue;
        text[length++] = text[i];
    }
    return length;
}

static size_t drop_byte_order_mark(char *text, size_t n)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (!begins_with(text, n, mark))
        return n;
    n -= strlen(mark);
    memmove(text, text + strlen(mark), n);
    return n;
}

/* --- end marks ---------------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t at, size_t end, const char *word)
{
    size_t length = strlen(word);
    return end - at >= length && memcmp(text + end - length, word, length) == 0;
}

/* Returns the start of the end mark that ends at END, or END if there is none after AT. */
static size_t before_end_mark(const char *text, size_t at, size_t end)
{
    static const char *const marks[] = {"</s>", "<eos>", "<end_of_turn>"};
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (ends_with(text, at, end, marks[i]))
            return end - strlen(marks[i]);
    if (!ends_with(text, at, end, "|>"))
        return end;
    size_t start = end - strlen("|>");
    while (start > at && ((is_word(text[start - 1]) && (unsigned char)text[start - 1] < 0x80) ||
                          text[start - 1] == '_'))
        start--;
    bool has_word = start < end - strlen("|>");
    return has_word && ends_with(text, at, start, "<|") ? start - strlen("<|") : end;
}

size_t extraction_skip_end_marks(const char *text, size_t at, size_t end)
{
    size_t before = end;
    do {
        end = before;
        while (end > at && is_blank(text[end - 1]))
            end--;
        before = before_end_mark(text, at, end);
    } while (before < end);
    return end;
}

/* Returns the length of the text without the end marks that end it. Keeps white space before the
 * first of them. */
static size_t drop_end_marks(const char *text, size_t n)
{
    for (size_t end = n;;) {
        while (end > 0 &&
               (is_blank(text[end - 1]) || (text[end - 1] >= '\n' && text[end - 1] <= '\f')))
            end--;
        size_t before = before_end_mark(text, 0, end);
        if (before == end)
            return n;
        n = end = before;
    }
}

/* --- all of it ---------------------------------------------------------------------------- */

int extraction_clean(const char *text, size_t n, struct bytes *ret)
{
    char *copy = malloc(n + 1);
    if (!copy)
        return -ENOMEM;
    size_t length = drop_thoughts(text, n, copy);
    length = unify_line_ends(copy, drop_byte_order_mark(copy, length));
    length = drop_end_marks(copy, length);
    copy[length] = '\0';
    *ret = (struct bytes){.data = copy, .length = length};
    return 0;
}
