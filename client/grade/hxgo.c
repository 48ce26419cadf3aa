/* SPDX-License-Identifier: MIT */
/* Programs in Go. The tests are functions for `go test`, which wants a module and its parts; here
 * they are called by a main(), and the few assertions of testify that they use are defined. */
#include "hxprogram.h"

#include <string.h>

#define IMPORTS_MAX 64

struct imports {
    struct {
        const char *path; /* with its quotes, borrowed */
        size_t n;
    } items[IMPORTS_MAX];
    size_t n;
};

static const char helper[] =
    "type rubricAssert struct{ t *testing.T }\n"
    "type rubricAssertMaker struct{}\n"
    "var assert rubricAssertMaker\n"
    "func (rubricAssertMaker) New(t *testing.T) rubricAssert { return rubricAssert{t} }\n"
    "func (rubricAssertMaker) Equal(t *testing.T, a, b any) bool {\n"
    "    return rubricAssert{t}.Equal(a, b)\n"
    "}\n"
    "func (a rubricAssert) say(ok bool, x, y any) bool {\n"
    "    if !ok {\n"
    "        rubricFmt.Fprintf(rubricOs.Stderr, \"not equal: %#v, %#v\\n\", x, y)\n"
    "        a.t.Fail()\n"
    "    }\n"
    "    return ok\n"
    "}\n"
    "func (a rubricAssert) Equal(x, y any, _ ...any) bool {\n"
    "    return a.say(rubricReflect.DeepEqual(x, y), x, y)\n"
    "}\n"
    "func (a rubricAssert) NotEqual(x, y any, _ ...any) bool {\n"
    "    return a.say(!rubricReflect.DeepEqual(x, y), x, y)\n"
    "}\n"
    "func (a rubricAssert) True(x bool, _ ...any) bool { return a.say(x, x, true) }\n"
    "func (a rubricAssert) False(x bool, _ ...any) bool { return a.say(!x, x, false) }\n"
    "func (a rubricAssert) Nil(x any, _ ...any) bool { return a.say(x == nil, x, nil) }\n"
    "func (a rubricAssert) InDelta(x, y any, delta float64, _ ...any) bool {\n"
    "    f := func(v any) float64 {\n"
    "        return rubricReflect.ValueOf(v).Convert(rubricReflect.TypeOf(0.0)).Float()\n"
    "    }\n"
    "    return a.say(f(x)-f(y) <= delta && f(y)-f(x) <= delta, x, y)\n"
    "}\n";

/* Packages that HumanEval-X adds where the code uses them. */
static const char *const usual[] = {
    "\"math\"",  "\"strings\"", "\"fmt\"",  "\"strconv\"",   "\"time\"",
    "\"bytes\"", "\"regexp\"",  "\"sort\"", "\"math/rand\"", "\"crypto/md5\"",
};

static void add_import(struct imports *imports, const char *path, size_t n)
{
    if (memmem(path, n, "stretchr/testify", strlen("stretchr/testify")))
        return;
    for (size_t i = 0; i < imports->n; i++)
        if (imports->items[i].n == n && memcmp(imports->items[i].path, path, n) == 0)
            return;
    if (imports->n < IMPORTS_MAX) {
        imports->items[imports->n].path = path;
        imports->items[imports->n++].n = n;
    }
}

/* Takes the quoted path in LINE, if there is one. */
static void take_path(struct imports *imports, const char *line, size_t n)
{
    const char *from = memchr(line, '"', n);
    const char *end = from ? memchr(from + 1, '"', n - (size_t)(from + 1 - line)) : NULL;
    if (end)
        add_import(imports, from, (size_t)(end + 1 - from));
}

static bool starts(const char *line, size_t n, const char *word)
{
    return n >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* Copies the N bytes of TEXT without its `package` and its imports, which it takes. */
static void copy_without(struct textbuf *out, struct imports *imports, const char *text, size_t n)
{
    bool in_block = false;
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t length = end ? (size_t)(end - text) + 1 : n;
        if (in_block) {
            take_path(imports, text, length);
            in_block = memchr(text, ')', length) == NULL;
        } else if (starts(text, length, "import")) {
            take_path(imports, text, length);
            in_block = memchr(text, '(', length) && !memchr(text, ')', length);
        } else if (!starts(text, length, "package ")) {
            textbuf_add(out, text, length);
        }
        text += length;
        n -= length;
    }
}

/* Whether the N bytes of TEXT use the package PATH (with quotes), elsewhere than in comments. */
static bool uses(const char *text, size_t n, const char *path, size_t path_n)
{
    char word[64];
    const char *slash = memrchr(path, '/', path_n);
    const char *name = slash ? slash + 1 : path + 1;
    size_t length = (size_t)(path + path_n - 1 - name), word_n;
    if (length + 2 > sizeof(word))
        return true;
    word_n = (size_t)snprintf(word, sizeof(word), "%.*s.", (int)length, name);
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t line = end ? (size_t)(end - text) + 1 : n;
        const char *found = memmem(text, line, word, word_n);
        const char *comment = memmem(text, line, "//", 2);
        if (found && (!comment || found < comment) &&
            (found == text || !strchr("abcdefghijklmnopqrstuvwxyz_.", found[-1])))
            return true;
        text += line;
        n -= line;
    }
    return false;
}

/* Writes the functions of TESTS whose names begin with Test, as testing.Main() wants them. */
static void put_calls(FILE *out, const char *text, size_t n)
{
    static const char word[] = "func Test";
    for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), word, strlen(word)));) {
        const char *name = at + strlen("func ");
        size_t length = strcspn(name, "( \n");
        int shown = (int)MIN(length, (size_t)200);
        (void)fprintf(out, "        {\"%.*s\", %.*s},\n", shown, name, shown, name);
        at = name;
    }
}

static void put_imports(FILE *out, const struct imports *imports, const char *text, size_t n)
{
    (void)fputs("package main\n\nimport (\n    rubricFmt \"fmt\"\n    rubricOs \"os\"\n"
                "    rubricReflect \"reflect\"\n    \"testing\"\n",
                out);
    for (size_t i = 0; i < imports->n; i++)
        if (!starts(imports->items[i].path, imports->items[i].n, "\"testing\"") &&
            uses(text, n, imports->items[i].path, imports->items[i].n))
            (void)fprintf(out, "    %.*s\n", (int)imports->items[i].n, imports->items[i].path);
    (void)fputs(")\n\n", out);
}

int hx_put_go(struct textbuf *out, const json_t *setup, const struct bytes *code,
              const json_t *tests)
{
    struct imports imports = {.n = 0};
    struct textbuf body = TEXTBUF_NULL;
    if (textbuf_open(&body) < 0)
        return -ENOMEM;
    copy_without(&body, &imports, json_string_value(setup), json_string_length(setup));
    copy_without(&body, &imports, code->data, code->length);
    (void)fputs("\n", body.out);
    copy_without(&body, &imports, json_string_value(tests), json_string_length(tests));
    if (fflush(body.out) != 0) {
        textbuf_deinit(&body);
        return -ENOMEM;
    }
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
        add_import(&imports, usual[i], strlen(usual[i]));
    put_imports(out->out, &imports, body.data, body.n);
    textbuf_add(out, body.data, body.n);
    (void)fprintf(out->out,
                  "\n%sfunc main() {\n    testing.Main(func(_, _ string) (bool, error) { return "
                  "true, nil },\n"
                  "        []testing.InternalTest{\n",
                  helper);
    put_calls(out->out, json_string_value(tests), json_string_length(tests));
    (void)fputs("    }, nil, nil)\n}\n", out->out);
    bool failed = ferror(body.out) != 0;
    textbuf_deinit(&body);
    return failed ? -ENOMEM : 0;
}
