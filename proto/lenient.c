/* SPDX-License-Identifier: MIT */
#include "lenient.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Theory of operation: what json_read_object() refuses is looked through once more, member by
 * member, and copied with quotes around each odd number. The copy is then read strictly. Texts that
 * are no JSON at all need no care here: the copy is as wrong as they are. */

/* Bytes of a number that a message shows. */
#define SHOWN_MAX 40

bool json_name_is_among(const char *name, size_t n, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            return true;
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(const char *text, size_t at, size_t n)
{
    while (at < n && is_space(text[at]))
        at++;
    return at;
}

/* Returns the end of the string that begins at AT. */
static size_t skip_string(const char *text, size_t at, size_t n)
{
    for (at++; at < n && text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return MIN(at + 1, n);
}

static bool is_number_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static size_t skip_number(const char *text, size_t at, size_t n)
{
    while (at < n && is_number_byte(text[at]))
        at++;
    return at;
}

/* --- members ------------------------------------------------------------------------------ */

struct member {
    const char *name; /* as it stands in the text, with its escapes */
    size_t name_n;
    size_t start, end; /* of the value */
};

/* Returns the end of the value that begins at AT. */
static size_t skip_value(const char *text, size_t at, size_t n)
{
    size_t depth = 0;
    while (at < n) {
        char c = text[at];
        if (c == '"') {
            at = skip_string(text, at, n);
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            break;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at++;
    }
    return at;
}

/* Finds the first member from *AT, and moves *AT behind it. Returns false if there is none. */
static bool next_member(const char *text, size_t n, size_t *at, struct member *ret)
{
    size_t i = skip_space(text, *at, n);
    if (i < n && (text[i] == ',' || text[i] == '{'))
        i = skip_space(text, i + 1, n);
    if (i >= n || text[i] != '"')
        return false;
    ret->name = text + i + 1;
    size_t end = skip_string(text, i, n);
    ret->name_n = end - i - MIN((size_t)2, end - i);
    i = skip_space(text, end, n);
    if (i >= n || text[i] != ':')
        return false;
    ret->start = skip_space(text, i + 1, n);
    ret->end = *at = skip_value(text, ret->start, n);
    return true;
}

bool json_member_text(const char *text, size_t n, const char *name, const char **ret, size_t *ret_n)
{
    struct member member;
    for (size_t at = 0; next_member(text, n, &at, &member);)
        if (member.name_n == strlen(name) && memcmp(member.name, name, member.name_n) == 0) {
            *ret = text + member.start;
            *ret_n = member.end - member.start;
            return true;
        }
    return false;
}

/* --- numbers ------------------------------------------------------------------------------ */

/* Returns what is odd about TEXT, a word of N bytes that occur in numbers; NULL if that is for
 * json_read_object() to say. */
static const char *oddity(const char *text, size_t n)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    char *copy, *end;
    const char *found = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (n == strlen(words[i]) && memcmp(text, words[i], n) == 0)
            return "not a number in JSON";
    if (text[0] != '-' && (text[0] < '0' || text[0] > '9'))
        return NULL;
    copy = strndup(text, n);
    if (!copy)
        return NULL; /* it is refused then */
    errno = 0;
    bool is_integer = strspn(copy + (*copy == '-'), "0123456789") == n - (*copy == '-');
    if (is_integer) {
        (void)strtoll(copy, &end, 10);
        found = errno == ERANGE ? "an integer beyond 64 bits" : NULL;
    } else if (strpbrk(copy, "xXnNpP") == NULL && isinf(strtod(copy, &end)) && *end == '\0') {
        found = "a number that overflows";
    }
    /* Such a number is none in JSON: 00012. */
    const char *digits = copy + (*copy == '-');
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
        found = NULL;
    free(copy);
    return found;
}

static int refuse(const struct member *member, const char *number, size_t n, const char *why,
                  struct fault *fault)
{
    (void)fault_set(fault, "%.*s: %.*s%s is %s", (int)MIN(member->name_n, (size_t)SHOWN_MAX),
                    member->name, (int)MIN(n, (size_t)SHOWN_MAX), number,
                    n > SHOWN_MAX ? "..." : "", why);
    return -EBADMSG;
}

/* Writes the value of MEMBER to OUT, with quotes around odd numbers. Counts them in *COUNT. */
static int rewrite(const char *text, const struct member *member, bool is_used, FILE *out,
                   size_t *count, struct fault *fault)
{
    for (size_t at = member->start, next; at < member->end; at = next) {
        const char *why = NULL;
        next = at + 1;
        if (text[at] == '"') {
            next = skip_string(text, at, member->end);
        } else if (is_number_byte(text[at])) {
            next = skip_number(text, at, member->end);
            why = oddity(text + at, next - at);
        }
        if (why && is_used)
            return refuse(member, text + at, next - at, why, fault);
        (void)fprintf(out, "%s", why ? "\"" : "");
        (void)fwrite(text + at, 1, next - at, out);
        (void)fprintf(out, "%s", why ? "\"" : "");
        *count += why != NULL;
    }
    return 0;
}

/* Writes TEXT to OUT in the same way. */
static int rewrite_all(const char *text, size_t n, json_is_used *is_used, FILE *out, size_t *count,
                       struct fault *fault)
{
    struct member member;
    size_t done = 0;
    for (size_t at = 0; next_member(text, n, &at, &member); done = member.end) {
        (void)fwrite(text + done, 1, member.start - done, out);
        /* A name with an escape may be any. */
        bool used = memchr(member.name, '\\', member.name_n) || is_used(member.name, member.name_n);
        int r = rewrite(text, &member, used, out, count, fault);
        if (r < 0)
            return r;
    }
    (void)fwrite(text + done, 1, n - done, out);
    return 0;
}

int json_read_lenient(const char *text, size_t n, json_is_used *is_used, json_t **ret,
                      struct fault *fault)
{
    int r = json_read_object(text, n, ret, fault);
    if (r != -EBADMSG)
        return r;
    _cleanup_free_ char *copy = NULL;
    size_t length = 0, count = 0;
    FILE *out = open_memstream(&copy, &length);
    if (!out)
        return -ENOMEM;
    int why = rewrite_all(text, n, is_used, out, &count, fault);
    if (fclose(out) != 0)
        return -ENOMEM;
    if (why < 0)
        return why;
    /* Otherwise the fault is that of the text itself. */
    return count == 0 ? r : json_read_object(copy, length, ret, fault);
}
