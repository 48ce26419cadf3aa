/* SPDX-License-Identifier: MIT */
/* MultiPL-E: HumanEval and MBPP in many languages. The program is the prompt, the completion up to
 * a stop token, and the tests, and passes if it exits with 0. */
#include "formats.h"
#include "hxprogram.h"
#include "langname.h"
#include "mplhead.h"

#include <string.h>
#include <strings.h>

/* Seconds for a run: safe_subprocess.run() of its own evaluator. */
#define TIMEOUT 15

static bool recognise(const json_t *record)
{
    return json_is_string(task_member(record, "tests")) &&
           json_is_string(task_member(record, "prompt")) &&
           (task_member(record, "stop_tokens") || task_member(record, "language"));
}

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the N bytes of WORD are NAME, but for capitals and underscores. */
static bool is_spelling(const char *word, size_t n, const char *name)
{
    size_t at = 0;
    for (; *name; name++) {
        if (*name == '_')
            continue;
        while (at < n && word[at] == '_')
            at++;
        if (at == n || strncasecmp(word + at++, name, 1) != 0)
            return false;
    }
    return at == n;
}

/* Finds how the last line of the PROMPT spells NAME, as in hasCloseElements; itself if it does not.
 */
static json_t *find_spelling(const char *prompt, const char *name)
{
    size_t end = strlen(prompt);
    while (end > 0 && strchr(" \t\r\n", prompt[end - 1]))
        end--;
    size_t at = end;
    while (at > 0 && prompt[at - 1] != '\n')
        at--;
    for (size_t n; at < end; at += MAX(n, (size_t)1)) {
        for (n = 0; at + n < end && is_of_name(prompt[at + n]); n++)
            continue;
        if (is_spelling(prompt + at, n, name))
            return json_stringn(prompt + at, n);
    }
    return json_string(name);
}

/* "HumanEval_0_has_close_elements" is about has_close_elements, "mbpp_3_is_not_prime" too. */
static int take_function(struct task *task)
{
    const char *name = strchr(task->id, '_');
    name = name ? strchr(name + 1, '_') : NULL;
    task->entry_point =
        task_keep(task, find_spelling(json_string_value(task->prompt), name ? name + 1 : ""));
    return task->entry_point ? 0 : -ENOMEM;
}

static int take(struct task *task, const struct task_source *source, struct fault *fault)
{
    const json_t *language = NULL, *stops = NULL;
    int r = task_take_string(task->object, "prompt", &task->prompt, fault);
    if (r == 0)
        r = task_take_string(task->object, "tests", &task->tail, fault);
    if (r == 0)
        r = task_take_optional(task->object, "language", &language, fault);
    if (r == 0 && task_member(task->object, "stop_tokens"))
        r = task_take_strings(task->object, "stop_tokens", &stops, fault);
    if (r == 0)
        r = task_take_optional(task->object, "gpt_solution", &task->solution, fault);
    if (r == 0)
        r = take_function(task);
    if (r < 0)
        return r;
    const char *named = language ? json_string_value(language) : source->language;
    if (!named)
        return fault_set(fault, "language: it is missing; --language names it");
    task->language = langname_of(named);
    if (source->language && strcmp(langname_of(source->language), task->language) != 0)
        return fault_set(fault, "--language %.40s: the task is in %s", source->language,
                         langname_title(task->language));
    task->tests = json_pack("[{s:s}]", "input", "");
    task->is_forgeable = true;
    task->timeout_s = TIMEOUT;
    task->solution_form = SAMPLE_GENERATION;
    task->solution_is_doubtful = true;
    return task->tests ? 0 : -ENOMEM;
}

/* --- programs ----------------------------------------------------------------------------- */

/* Returns how many of the N bytes of TEXT stand before the first stop token behind FROM. */
static size_t stop_at(const struct task *task, const char *text, size_t n, size_t from)
{
    const json_t *stops = json_object_get(task->object, "stop_tokens");
    size_t end = n;
    for (size_t i = 0; i < json_array_size(stops); i++) {
        const json_t *stop = json_array_get(stops, i);
        size_t length = json_string_length(stop);
        const char *found =
            length > 0 ? memmem(text + from, end - from, json_string_value(stop), length) : NULL;
        if (found)
            end = (size_t)(found - text);
    }
    return end;
}

/* Whether the tests begin with the end of the function, so that the code must not have it. */
static bool tests_close(const struct task *task)
{
    const char *tests = json_string_value(task->tail);
    return tests[strspn(tests, " \t\r\n")] == '}';
}

/* Where the function of TEXT, a whole program, begins: at the prompt's last line, which few models
 * change, or where it is defined; 0 if it is not found. */
static size_t find_function(const struct task *task, const char *language, const char *text,
                            size_t n)
{
    const char *prompt = json_string_value(task->prompt);
    size_t end = json_string_length(task->prompt);
    while (end > 0 && strchr(" \t\r\n", prompt[end - 1]))
        end--;
    size_t from = end;
    while (from > 0 && prompt[from - 1] != '\n')
        from--;
    const char *found = end > from ? memmem(text, n, prompt + from, end - from) : NULL;
    if (found)
        return (size_t)(found - text) + (end - from);
    ssize_t at = langname_defines(language, text, n, json_string_value(task->entry_point));
    return at < 0 ? 0 : (size_t)at;
}

static bool is_whole(const struct task *task, const char *language, enum sample_form form,
                     const struct bytes *code)
{
    if (form != SAMPLE_GENERATION)
        return form == SAMPLE_SOLUTION;
    return find_function(task, language, code->data, code->length) > 0 ||
           langname_defines(language, code->data, code->length,
                            json_string_value(task->entry_point)) >= 0;
}

/* A whole program may leave out what only the tests need: those lines of the prompt stand before
 * it. They may be there twice. */
static void put_includes(struct textbuf *out, const struct task *task, const char *language)
{
    static const char *const languages[] = {"cpp", "java", "csharp", "d"};
    static const char *const words[] = {"#include", "import ", "using "};
    const char *line = json_string_value(task->prompt);
    bool wanted = false;
    for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
        wanted |= strcmp(language, languages[i]) == 0;
    for (size_t n; wanted && *line; line += n) {
        n = strcspn(line, "\n");
        n += line[n] == '\n';
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
            if (strncmp(line, words[i], strlen(words[i])) == 0)
                textbuf_add(out, line, n);
    }
}

/* D's tests are a unittest, which runs only if the compiler is told so: main() does it instead. */
static void put_d_tests(struct textbuf *out, const char *text, size_t n)
{
    static const char from[] = "unittest", own[] = "void main(){}";
    const char *found = memmem(text, n, from, strlen(from));
    const char *end = memmem(text, n, own, strlen(own));
    if (!found || !end || end < found) {
        textbuf_add(out, text, n);
        return;
    }
    textbuf_add(out, text, (size_t)(found - text));
    (void)fputs("void main()", out->out);
    textbuf_add(out, found + strlen(from), (size_t)(end - found) - strlen(from));
    textbuf_add(out, end + strlen(own), n - (size_t)(end + strlen(own) - text));
}

static void put_tests(struct textbuf *out, const struct task *task, const char *language)
{
    if (strcmp(language, "d") == 0)
        put_d_tests(out, json_string_value(task->tail), json_string_length(task->tail));
    else
        mpl_put_tests(out, language, json_string_value(task->tail), json_string_length(task->tail));
}

/* Makes the program of TEXT, which in some languages is taken apart and put together again. Go's
 * tests are for `go test`, and not in it yet. */
static int finish(const struct task *task, const char *language, struct textbuf *text, json_t **ret)
{
    _cleanup_textbuf_ struct textbuf out = TEXTBUF_NULL;
    _cleanup_json_ json_t *code = NULL;
    int r = textbuf_finish(text, &code);
    if (r == 0)
        r = textbuf_open(&out);
    if (r < 0)
        return r;
    const struct bytes bytes = {.data = (char *)(uintptr_t)json_string_value(code),
                                .length = json_string_length(code)};
    if (strcmp(language, "go") == 0)
        r = hx_put_go(&out, NULL, &bytes, task->tail);
    else
        mpl_put_program(&out, language, bytes.data, bytes.length);
    return r < 0 ? r : textbuf_finish(&out, ret);
}

static int join(const struct task *task, const char *language, enum sample_form form,
                const json_t *text, json_t **ret)
{
    _cleanup_bytes_ struct bytes code = BYTES_NULL;
    _cleanup_textbuf_ struct textbuf out = TEXTBUF_NULL;
    const char *data = json_string_value(text);
    size_t n = json_string_length(text), end;
    int r = form == SAMPLE_GENERATION ? langname_extract(language, data, n, &code)
                                      : bytes_copy(data, n, &code);
    if (r == 0)
        r = textbuf_open(&out);
    if (r < 0)
        return r;
    mpl_put_head(&out, language);
    bool whole = is_whole(task, language, form, &code);
    if (whole)
        put_includes(&out, task, language);
    else
        textbuf_add_json(&out, task->prompt);
    end = whole ? code.length : stop_at(task, code.data, code.length, 0);
    if (whole && tests_close(task))
        end = stop_at(task, code.data, code.length,
                      find_function(task, language, code.data, code.length));
    textbuf_add(&out, code.data, end);
    (void)fputs("\n", out.out);
    if (strcmp(language, "go") != 0)
        put_tests(&out, task, language);
    return finish(task, language, &out, ret);
}

const struct data_format data_format_multipl_e = {
    .name = "multipl-e",
    .title = "MultiPL-E",
    .what =
        "one run of the prompt, the completion up to a stop token and the tests, by exit status",
    .source = "nuprl/MultiPL-E, evaluation/src; for whole programs bytedance/SandboxFusion, "
              "multiple.py",
    .differs =
        "in a whole program stop tokens count only behind the head of the function; Go calls "
        "its tests from main(), D makes them main(); Lua needs no luaunit, Perl no Test::Deep, "
        "Java "
        "no javatuples; assertions of C# and Java are calls that end the program",
    .samples =
        "name or task_id, and completions, or one completion (continues the prompt), solution "
        "(a whole program) or generation (free text)",
    .ids = (const char *const[]){"task_id", "name", NULL},
    .uses =
        (const char *const[]){"prompt", "tests", "language", "stop_tokens", "gpt_solution", NULL},
    .recognise = recognise,
    .take = take,
    .join = join,
};
