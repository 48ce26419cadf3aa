/* SPDX-License-Identifier: MIT */
#include "hxprogram.h"
#include "langname.h"

#include <string.h>

static const struct {
    const char *prefix; /* of the task's id */
    const char *language;
} prefixes[] = {
    {"CPP/", "cpp"},       {"Go/", "go"},         {"Java/", "java"}, {"JavaScript/", "javascript"},
    {"JS/", "javascript"}, {"Python/", "python"}, {"Rust/", "rust"},
};

const char *hx_language(const char *id)
{
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (strncmp(id, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0)
            return prefixes[i].language;
    return NULL;
}

/* --- the function under test -------------------------------------------------------------- */

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Where the last line of the N bytes of TEXT that is not blank begins; *N becomes its end. */
static const char *last_line(const char *text, size_t *n)
{
    while (*n > 0 && strchr(" \t\r\n", text[*n - 1]))
        (*n)--;
    size_t from = *n;
    while (from > 0 && text[from - 1] != '\n')
        from--;
    *n -= from;
    return text + from;
}

/* In `const f = (a, b) => {` the name is behind the word, in all others before the parenthesis. */
static size_t end_of_name(const char *line, size_t n)
{
    static const char *const words[] = {"const ", "let ", "var "};
    size_t at = 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const char *word = memmem(line, n, words[i], strlen(words[i]));
        if (!word)
            continue;
        at = (size_t)(word - line) + strlen(words[i]);
        while (at < n && is_of_name(line[at]))
            at++;
        return at;
    }
    /* `fn f<T>(x: T)`, but `vector<int> f(int x)`. */
    bool is_rust = memmem(line, n, "fn ", 3) != NULL;
    while (at < n && line[at] != '(' && !(is_rust && line[at] == '<'))
        at++;
    while (at > 0 && line[at - 1] == ' ')
        at--;
    return at;
}

/* Whether LINE may be the head of a function: in Java a public one, elsewhere not indented, as what
 * stands in a body is. */
static bool is_head(const struct task *task, const char *line, size_t n)
{
    bool is_java = strcmp(task->language, "java") == 0;
    return memchr(line, '(', n) && (is_java ? memmem(line, n, "public ", strlen("public ")) != NULL
                                            : line[0] != ' ' && line[0] != '\t' && line[0] != '/');
}

/* Finds the function that the tests call: the last one in the declaration, which may begin with
 * others that it needs. */
static int find_entry_point(struct task *task, struct fault *fault)
{
    const json_t *text = NULL;
    const char *found = NULL;
    size_t length = 0;
    int r = task_take_string(task->object, "declaration", &text, fault);
    if (r < 0)
        return r;
    for (const char *line = json_string_value(text); *line;) {
        size_t n = strcspn(line, "\n"), end = end_of_name(line, n), from = end;
        while (from > 0 && is_of_name(line[from - 1]))
            from--;
        if (from < end && is_head(task, line, n)) {
            found = line + from;
            length = end - from;
        }
        line += n + (line[n] == '\n');
    }
    if (!found)
        return fault_set(fault, "declaration: there is no head of a function in it");
    task->entry_point = task_keep(task, json_stringn(found, length));
    return task->entry_point ? 0 : -ENOMEM;
}

/* --- tasks -------------------------------------------------------------------------------- */

/* What CodeGeeX and OctoPack give a run at least, in seconds. */
#define TIMEOUT 10

/* Python is judged as HumanEval is. The tests end with a call of check(), which names the function,
 * and which is the judge's to make. */
static int take_python(struct task *task, struct fault *fault)
{
    static const char call[] = "check(";
    const json_t *test = NULL;
    int r = task_take_string(task->object, "test", &test, fault);
    if (r < 0)
        return r;
    size_t n = json_string_length(test), name_n;
    const char *line = last_line(json_string_value(test), &n), *name = line + strlen(call);
    if (n <= strlen(call) || memcmp(line, call, strlen(call)) != 0)
        return fault_set(fault, "test: its last line is no call of check()");
    for (name_n = 0; is_of_name(name[name_n]); name_n++)
        continue;
    if (!task->entry_point && name_n > 0)
        task->entry_point = task_keep(task, json_stringn(name, name_n));
    task->test = task_keep(
        task, json_stringn(json_string_value(test), (size_t)(line - json_string_value(test))));
    task->timeout_s = TIMEOUT;
    if (!task->entry_point)
        return fault_set(fault, "test: its last line does not name a function");
    return task->test ? 0 : -ENOMEM;
}

/* In Rust the declaration stands apart in HumanEval-X, and is a part of the prompt in
 * HumanEvalPack. */
static int take_head(struct task *task)
{
    const json_t *declaration = task_member(task->object, "declaration");
    struct textbuf text = TEXTBUF_NULL;
    json_t *head = NULL;
    const char *known = json_string_value(declaration);
    if (strcmp(task->language, "rust") != 0 || !known ||
        strstr(json_string_value(task->prompt), "fn "))
        return 0;
    int r = textbuf_open(&text);
    if (r < 0)
        return r;
    textbuf_add_json(&text, declaration);
    textbuf_add_json(&text, task->prompt);
    r = textbuf_finish(&text, &head);
    task->prompt = r == 0 ? task_keep(task, head) : NULL;
    return task->prompt ? 0 : -ENOMEM;
}

static int take_program(struct task *task, struct fault *fault)
{
    bool is_javascript = strcmp(task->language, "javascript") == 0;
    int r = task_take_string(task->object, "test", &task->tail, fault);
    if (r == 0 && strcmp(task->language, "rust") == 0)
        r = hx_check_rust(task->tail, fault);
    if (r == 0)
        r = take_head(task);
    if (r < 0)
        return r;
    /* One run, whose status says how it went. In JavaScript it must not write anything either. */
    task->tests = is_javascript ? json_pack("[{s:s,s:s}]", "input", "", "output", "")
                                : json_pack("[{s:s}]", "input", "");
    task->compare = is_javascript ? "exact" : NULL;
    task->is_forgeable = true;
    task->timeout_s = TIMEOUT;
    return task->tests ? 0 : -ENOMEM;
}

int hx_take(struct task *task, const char *wanted, struct fault *fault)
{
    task->language = hx_language(task->id);
    if (!task->language)
        return fault_set(fault,
                         "task_id: \"%.40s\" does not begin with a language: CPP/, Go/, "
                         "Java/, JavaScript/, Python/, Rust/",
                         task->id);
    if (wanted && strcmp(langname_of(wanted), task->language) != 0)
        return fault_set(fault, "--language %.40s: the task is in %s", wanted,
                         langname_title(task->language));
    int r = task_take_string(task->object, "prompt", &task->prompt, fault);
    if (r == 0)
        r = task_take_optional(task->object, "canonical_solution", &task->solution, fault);
    if (r == 0)
        r = task_take_optional(task->object, "entry_point", &task->entry_point, fault);
    if (r == 0 && strcmp(task->language, "python") == 0)
        return take_python(task, fault);
    if (r == 0 && !task->entry_point)
        r = find_entry_point(task, fault);
    return r < 0 ? r : take_program(task, fault);
}

/* --- programs ----------------------------------------------------------------------------- */

/* What the projects put before each C++ program. Boost is not on every host, and most tasks do not
 * need it. */
static const char cpp_head[] = "#include <algorithm>\n#include <climits>\n#include <cmath>\n"
                               "#include <cstring>\n#include <deque>\n#include <fstream>\n"
                               "#include <iostream>\n#include <list>\n#include <map>\n"
                               "#include <math.h>\n#include <numeric>\n#include <queue>\n"
                               "#include <set>\n#include <sstream>\n#include <stack>\n"
                               "#include <stdio.h>\n#include <stdlib.h>\n#include <string>\n"
                               "#include <vector>\n"
                               "#if __has_include(<boost/any.hpp>)\n#include <boost/any.hpp>\n"
                               "#endif\nusing namespace std;\n";

/* The projects link OpenSSL for one task, which uses only these of its functions. */
static const char cpp_md5[] =
    "#ifdef OPENSSL_MD5_H\n"
    "#include <map>\n"
    "#include <string>\n"
    "#include <cmath>\n"
    "static std::map<const void *, std::string> rubric_md5;\n"
    "extern \"C\" int MD5_Init(MD5_CTX *c)\n"
    "{\n"
    "    rubric_md5[c].clear();\n"
    "    return 1;\n"
    "}\n"
    "extern \"C\" int MD5_Update(MD5_CTX *c, const void *data, size_t n)\n"
    "{\n"
    "    rubric_md5[c].append((const char *)data, n);\n"
    "    return 1;\n"
    "}\n"
    "extern \"C\" int MD5_Final(unsigned char *md, MD5_CTX *ctx)\n"
    "{\n"
    "    static const int turns[] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};\n"
    "    unsigned s[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};\n"
    "    std::string text = rubric_md5[ctx];\n"
    "    unsigned long long bits = text.size() * 8ULL;\n"
    "    text += '\\x80';\n"
    "    while (text.size() % 64 != 56)\n"
    "        text += '\\0';\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        text += (char)(bits >> 8 * i);\n"
    "    for (size_t at = 0; at < text.size(); at += 64) {\n"
    "        unsigned w[16], a = s[0], b = s[1], c = s[2], e = s[3];\n"
    "        for (int i = 0; i < 16; i++) {\n"
    "            w[i] = 0;\n"
    "            for (int j = 3; j >= 0; j--)\n"
    "                w[i] = w[i] << 8 | (unsigned char)text[at + 4 * i + j];\n"
    "        }\n"
    "        for (int i = 0; i < 64; i++) {\n"
    "            int r = i / 16, k = r == 0 ? i : r == 1 ? 5 * i + 1 : r == 2 ? 3 * i + 5 : 7 * "
    "i;\n"
    "            unsigned f = r == 0   ? (b & c) | (~b & e)\n"
    "                         : r == 1 ? (e & b) | (~e & c)\n"
    "                         : r == 2 ? b ^ c ^ e\n"
    "                                  : c ^ (b | ~e);\n"
    "            double sine = std::fabs(std::sin(i + 1.0)) * 4294967296.0;\n"
    "            f += a + (unsigned)(long long)sine + w[k % 16];\n"
    "            a = e, e = c, c = b;\n"
    "            b += f << turns[4 * r + i % 4] | f >> (32 - turns[4 * r + i % 4]);\n"
    "        }\n"
    "        s[0] += a, s[1] += b, s[2] += c, s[3] += e;\n"
    "    }\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        md[i] = (unsigned char)(s[i / 4] >> 8 * (i % 4));\n"
    "    return 1;\n"
    "}\n"
    "extern \"C\" unsigned char *MD5(const unsigned char *d, size_t n, unsigned char *md)\n"
    "{\n"
    "    static unsigned char own[16];\n"
    "    MD5_CTX ctx;\n"
    "    MD5_Init(&ctx);\n"
    "    MD5_Update(&ctx, d, n);\n"
    "    MD5_Final(md ? md : own, &ctx);\n"
    "    return md ? md : own;\n"
    "}\n"
    "#endif\n";

/* What fails a program in JavaScript there: anything on its standard error, where a failed
 * console.assert() goes, which does not end the program. One task needs a module of npm, which few
 * hosts have. On the first line of the code, so that lines are counted as its author does. */
static const char javascript_head[] =
    "process.stderr.write = ((write) => function (...args) { process.exitCode = 1; "
    "return write.apply(this, args); })(process.stderr.write); "
    "{ const modules = require('module'), load = modules._load; "
    "modules._load = function (name, ...rest) { try { return load.call(this, name, ...rest); } "
    "catch (error) { if (name !== 'js-md5') throw error; return (text) => "
    "require('crypto').createHash('md5').update(text).digest('hex'); } }; } ";

static void put_cpp(FILE *out, const struct bytes *code, const json_t *tests)
{
    /* The tests have main(); one of the code's own is left out. */
    const char *own = memmem(code->data, code->length, "int main", strlen("int main"));
    (void)fputs(cpp_head, out);
    (void)fwrite(code->data, 1, own ? (size_t)(own - code->data) : code->length, out);
    (void)fputs("\n", out);
    (void)fputs(cpp_md5, out);
    (void)fwrite(json_string_value(tests), 1, json_string_length(tests), out);
}

/* Replaces an empty class of the test's own name, with which some models end. */
static void put_java(struct textbuf *out, const struct bytes *code, bool is_whole)
{
    static const char stub[] = "public class Main {\n    }";
    const char *found = memmem(code->data, code->length, stub, strlen(stub));
    size_t n = found ? (size_t)(found - code->data) : code->length;
    if (is_whole)
        (void)fputs("import java.util.*; import java.lang.*; ", out->out);
    textbuf_add(out, code->data, n);
    if (found)
        textbuf_add(out, found + strlen(stub), code->length - n - strlen(stub));
    (void)fputs("\n", out->out);
}

/* Makes the code of TEXT: a whole program, or one that continues the prompt. */
static int make_code(const struct task *task, const char *language, enum sample_form form,
                     const json_t *text, struct bytes *ret, bool *ret_whole)
{
    const char *data = json_string_value(text), *function = json_string_value(task->entry_point);
    _cleanup_bytes_ struct bytes found = BYTES_NULL;
    bool is_whole = form == SAMPLE_SOLUTION;
    int r = form == SAMPLE_GENERATION
                ? langname_extract(language, data, json_string_length(text), &found)
                : bytes_copy(data, json_string_length(text), &found);
    if (r < 0)
        return r;
    if (form == SAMPLE_GENERATION)
        is_whole = langname_defines(language, found.data, found.length, function) >= 0;
    size_t head = is_whole ? 0 : json_string_length(task->prompt);
    char *code = malloc(head + found.length + 1);
    if (!code)
        return -ENOMEM;
    memcpy(code, head > 0 ? json_string_value(task->prompt) : "", head);
    memcpy(code + head, found.data, found.length + 1);
    *ret = (struct bytes){.data = code, .length = head + found.length};
    *ret_whole = is_whole;
    return 0;
}

int hx_join(const struct task *task, const char *language, enum sample_form form,
            const json_t *text, json_t **ret)
{
    _cleanup_bytes_ struct bytes code = BYTES_NULL;
    _cleanup_textbuf_ struct textbuf out = TEXTBUF_NULL;
    bool is_whole = false;
    int r = make_code(task, language, form, text, &code, &is_whole);
    if (r == 0)
        r = textbuf_open(&out);
    if (r < 0)
        return r;
    if (strcmp(language, "cpp") == 0) {
        put_cpp(out.out, &code, task->tail);
    } else if (strcmp(language, "go") == 0) {
        r = hx_put_go(&out, task_member(task->object, "test_setup"), &code, task->tail);
    } else if (strcmp(language, "rust") == 0) {
        r = hx_put_rust(&out, &code, task->tail);
    } else {
        if (strcmp(language, "javascript") == 0)
            (void)fputs(javascript_head, out.out);
        if (strcmp(language, "java") == 0)
            put_java(&out, &code, is_whole);
        else
            textbuf_add(&out, code.data, code.length);
        (void)fputs("\n", out.out);
        textbuf_add_json(&out, task->tail);
    }
    return r < 0 ? r : textbuf_finish(&out, ret);
}
