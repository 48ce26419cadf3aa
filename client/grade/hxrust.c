/* SPDX-License-Identifier: MIT */
/* Programs in Rust. The tests are functions for `cargo test`; here they are called by a main(), and
 * `use` of crates that the code does not need is left out, since there is no cargo to bring them.
 */
#include "hxprogram.h"

#include <string.h>

/* Crates that HumanEval-X's declarations name in every task, and what code that needs them has. */
static const struct {
    const char *line;
    const char *sign;
} crates[] = {
    {"use rand::Rng;", "gen_range"},
    {"use regex::Regex;", "Regex::"},
    {"use md5;", "md5::"},
};

static bool has(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Whether LINE, without blanks, is `use` of a crate that TEXT does not need. */
static bool is_needless(const char *line, size_t length, const char *text, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
        if (has(line, length, crates[i].line) && !has(text, n, crates[i].sign))
            return true;
    return false;
}

/* The bytes of `fn main() {}` at TEXT, or 0; with a body of its own, all N. */
static size_t main_at(const char *text, size_t n)
{
    static const char word[] = "fn main";
    size_t at = strlen(word);
    if (n < at || memcmp(text, word, at) != 0)
        return 0;
    while (at < n && strchr(" \t\r\n(){", text[at]))
        at++;
    return at < n && text[at] == '}' ? at + 1 : n;
}

/* Copies the code without main() and without needless crates. */
static void put_code(struct textbuf *out, const char *text, size_t n)
{
    const char *from = text;
    size_t left = n;
    while (left > 0) {
        const char *end = memchr(from, '\n', left);
        size_t length = end ? (size_t)(end - from) + 1 : left;
        const char *found = memmem(from, length, "fn main", strlen("fn main"));
        if (is_needless(from, length, text, n)) {
            (void)fputs("\n", out->out);
        } else if (found) {
            textbuf_add(out, from, (size_t)(found - from));
            length = (size_t)(found - from) + main_at(found, left - (size_t)(found - from));
        } else {
            textbuf_add(out, from, length);
        }
        from += length;
        left -= length;
    }
}

/* Copies the tests with their functions open to main(), and writes the calls of them. */
static void put_tests(struct textbuf *out, FILE *calls, const char *text, size_t n)
{
    static const char only[] = "#[cfg(test)]", test[] = "#[test]", function[] = "fn ";
    while (n > 0) {
        size_t length = 1;
        if (n >= strlen(only) && memcmp(text, only, strlen(only)) == 0) {
            length = strlen(only);
        } else if (n >= strlen(test) && memcmp(text, test, strlen(test)) == 0) {
            const char *name = memmem(text, n, function, strlen(function));
            length = strlen(test);
            (void)fputs("pub ", out->out);
            if (name)
                (void)fprintf(calls, "    tests::%.*s();\n",
                              (int)MIN(strcspn(name + 3, "( \n"), (size_t)200), name + 3);
        } else {
            textbuf_add(out, text, 1);
        }
        text += length;
        n -= length;
    }
}

int hx_put_rust(struct textbuf *out, const struct bytes *code, const json_t *tests)
{
    struct textbuf calls = TEXTBUF_NULL;
    if (textbuf_open(&calls) < 0)
        return -ENOMEM;
    put_code(out, code->data, code->length);
    (void)fputs("\n", out->out);
    put_tests(out, calls.out, json_string_value(tests), json_string_length(tests));
    if (fflush(calls.out) != 0) {
        textbuf_deinit(&calls);
        return -ENOMEM;
    }
    (void)fputs("\nfn main() {\n", out->out);
    textbuf_add(out, calls.data, calls.n);
    (void)fputs("}\n", out->out);
    bool failed = ferror(calls.out) != 0;
    textbuf_deinit(&calls);
    return failed ? -ENOMEM : 0;
}
