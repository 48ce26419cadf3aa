/* SPDX-License-Identifier: MIT */
#include "langname.h"

#include "proto/extraction.h"

#include <string.h>
#include <strings.h>

#define LIST(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }
/* A definition is as in C. */
#define AS_IN_C NULL

/* How far from a name the rest of its definition is looked for: what a sample makes us look at is
 * bounded. */
#define REACH ((size_t)512)

static const struct langname languages[] = {
    {"bash", "Bash", LIST("bash", "sh", "shell"), LIST("function", "")},
    {"c", "C", LIST("c"), AS_IN_C},
    {"clojure", "Clojure", LIST("clojure", "clj"), LIST("(defn")},
    {"cpp", "C++", LIST("cpp", "c++", "cc", "cxx"), AS_IN_C},
    {"csharp", "C#", LIST("csharp", "c#", "cs"), AS_IN_C},
    {"d", "D", LIST("d", "dlang"), AS_IN_C},
    {"dart", "Dart", LIST("dart"), AS_IN_C},
    {"elixir", "Elixir", LIST("elixir", "ex", "exs"), LIST("def")},
    {"go", "Go", LIST("go", "golang", "go_test.go"), LIST("func")},
    {"haskell", "Haskell", LIST("haskell", "hs"), LIST("")},
    {"java", "Java", LIST("java"), AS_IN_C},
    {"javascript", "JavaScript", LIST("javascript", "js", "node", "nodejs"),
     LIST("function", "const", "let", "var")},
    {"julia", "Julia", LIST("julia", "jl"), LIST("function")},
    {"kotlin", "Kotlin", LIST("kotlin", "kt"), LIST("fun")},
    {"lua", "Lua", LIST("lua"), LIST("function")},
    {"ocaml", "OCaml", LIST("ocaml", "ml"), LIST("let", "rec")},
    {"pascal", "Pascal", LIST("pascal", "pas"), LIST("function", "procedure")},
    {"perl", "Perl", LIST("perl", "pl"), LIST("sub")},
    {"php", "PHP", LIST("php"), LIST("function")},
    {"python", "Python", LIST("python", "py", "python3", "py3"), LIST("def", "class")},
    {"r", "R", LIST("r"), LIST("")},
    {"racket", "Racket", LIST("racket", "rkt"), LIST("(define", "(")},
    {"ruby", "Ruby", LIST("ruby", "rb"), LIST("def")},
    {"rust", "Rust", LIST("rust", "rs"), LIST("fn")},
    {"scala", "Scala", LIST("scala"), LIST("def")},
    {"swift", "Swift", LIST("swift"), LIST("func")},
    {"typescript", "TypeScript", LIST("typescript", "ts"), LIST("function", "const", "let", "var")},
};

const struct langname *langname_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
        for (const char *const *tag = languages[i].tags; *tag; tag++)
            if (strcasecmp(name, *tag) == 0)
                return &languages[i];
    return NULL;
}

/* Bytes of a word that may be a tag. */
#define TAG_MAX 16

const struct langname *langname_in(const char *words)
{
    static const char blanks[] = " \t\r\n()[],;/", version[] = "0123456789.-";
    const struct langname *found = langname_find(words);
    for (const char *at = words; !found && *at;) {
        char word[TAG_MAX + 1];
        at += strspn(at, blanks);
        size_t n = strcspn(at, blanks), kept = n;
        while (kept > 0 && strchr(version, at[kept - 1]))
            kept--;
        if (kept > 0 && kept <= TAG_MAX) {
            (void)snprintf(word, sizeof(word), "%.*s", (int)kept, at);
            found = langname_find(word);
        }
        at += n;
    }
    return found;
}

const char *langname_of(const char *name)
{
    const struct langname *found = langname_find(name);
    return found ? found->name : name;
}

const char *langname_title(const char *name)
{
    const struct langname *found = langname_find(name);
    return found ? found->title : name;
}

/* --- definitions -------------------------------------------------------------------------- */

static bool is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

static size_t skip_blanks(const char *text, size_t at, size_t n)
{
    while (at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
        at++;
    return at;
}

static size_t start_of_line(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

/* Whether one of WORDS stands before AT, on its line; "" is the beginning of the line. */
static bool has_word_before(const char *text, size_t at, const char *const *words)
{
    size_t end = at, from = at - MIN(at, REACH);
    while (end > from && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    for (; *words; words++) {
        size_t n = strlen(*words);
        if (n == 0 && (at == 0 || text[at - 1] == '\n'))
            return true;
        if (n > 0 && end >= n && memcmp(text + end - n, *words, n) == 0 &&
            (end == n || !is_of_word(text[end - n - 1])))
            return true;
    }
    return false;
}

/* Whether what is at AT, behind a name, is the rest of a definition as in C: (...), words, `{`. */
static bool is_head_of_body(const char *text, size_t at, size_t n)
{
    size_t depth = 0;
    n = MIN(n, at + REACH);
    at = skip_blanks(text, at, n);
    if (at == n || text[at] != '(')
        return false;
    for (; at < n; at++) {
        depth += text[at] == '(';
        depth -= text[at] == ')';
        if (depth == 0)
            break;
    }
    at = MIN(at + 1, n);
    while (at < n && (is_of_word(text[at]) || strchr(" \t\r\n,&", text[at])))
        at++;
    return at < n && text[at] == '{';
}

static bool is_definition(const struct langname *language, const char *text, size_t n, size_t at,
                          size_t end)
{
    if (language && language->definitions)
        return has_word_before(text, at, language->definitions);
    return is_head_of_body(text, end, n);
}

ssize_t langname_defines(const char *language, const char *text, size_t n, const char *function)
{
    const struct langname *found = langname_find(language);
    size_t length = strlen(function);
    for (size_t at = 0; length > 0 && at + length <= n; at++) {
        const char *next = memmem(text + at, n - at, function, length);
        if (!next)
            break;
        at = (size_t)(next - text);
        if ((at == 0 || !is_of_word(text[at - 1])) &&
            (at + length == n || !is_of_word(text[at + length])) &&
            is_definition(found, text, n, at, at + length))
            return (ssize_t)start_of_line(text, at);
    }
    return -1;
}

int langname_extract(const char *language, const char *text, size_t n, struct bytes *ret)
{
    static const char *const none[] = {NULL};
    const struct langname *found = langname_find(language);
    bool fenced;
    return extraction_find(text, n, found ? found->tags : none, ret, &fenced);
}
