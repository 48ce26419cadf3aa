/* SPDX-License-Identifier: MIT */
#include "guess.h"

#include "conf/suggest.h"
#include "proto/json.h"
#include "proto/util.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- files -------------------------------------------------------------------------------- */

static const struct {
    const char *start;
    size_t n;
    const char *what;
} kinds[] = {
    {"\x1f\x8b", 2, "compressed by gzip: its name has to end in .gz"},
    {"\x28\xb5\x2f\xfd", 4, "compressed by zstd: only gzip can be read, and text"},
    {"\xfd"
     "7zXZ",
     5, "compressed by xz: only gzip can be read, and text"},
    {"BZh", 3, "compressed by bzip2: only gzip can be read, and text"},
    {"PK\x03\x04", 4, "a zip archive: only gzip can be read, and text"},
    {"PAR1", 4, "Parquet; expected JSON"},
    {"\xff\xfe", 2, "in UTF-16; expected UTF-8"},
    {"\xfe\xff", 2, "in UTF-16; expected UTF-8"},
    {"{\0", 2, "in UTF-16; expected UTF-8"},
    {"\0{", 2, "in UTF-16; expected UTF-8"},
};

/* Skips a string at AT, if there is one whole; returns what is behind it. */
static size_t skip_string(const char *text, size_t n, size_t at)
{
    if (at >= n || text[at] != '"')
        return at;
    for (at++; at < n && text[at] != '"' && text[at] != '\n'; at++)
        at += text[at] == '\\';
    return at < n && text[at] == '"' ? at + 1 : n;
}

static size_t skip_blanks(const char *text, size_t n, size_t at)
{
    while (at < n && text[at] && strchr(" \t\r\n", text[at]))
        at++;
    return at;
}

/* Whether an object begins with TEXT that has a member on a further line; none of JSON Lines has. A
 * line that only is cut off has an object behind it. */
static bool has_lines(const char *text, size_t n)
{
    size_t depth = 0, at = 0;
    while (at < n && text[at] != '\n') {
        depth += text[at] == '{' || text[at] == '[';
        if ((text[at] == '}' || text[at] == ']') && depth-- <= 1)
            return false;
        at = text[at] == '"' ? skip_string(text, n, at) : at + 1;
    }
    at = skip_blanks(text, n, at);
    return at < n && text[0] == '{' && text[at] == '"';
}

/* Whether the first member of the object that begins with TEXT is an object. */
static bool has_objects(const char *text, size_t n)
{
    size_t at = skip_string(text, n, skip_blanks(text, n, 1));
    at = skip_blanks(text, n, at);
    at = at < n && text[at] == ':' ? skip_blanks(text, n, at + 1) : n;
    return at < n && text[at] == '{';
}

#define LINES "expected JSON Lines, an object on each line"
#define LINES_OR_ARRAY LINES ", or one array of objects"

static int name_keyed(struct fault *fault)
{
    return fault_set(fault, LINES_OR_ARRAY "; this is an object of objects, as by their ids (jq -c "
                                           "'to_entries[] | {task_id: .key} + .value' makes lines "
                                           "of it)");
}

int guess_check_text(const char *text, size_t n, bool lines, struct fault *fault)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (n >= kinds[i].n && memcmp(text, kinds[i].start, kinds[i].n) == 0)
            return fault_set(fault, "the file is %s", kinds[i].what);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    size_t at = skip_blanks(text, n, 0);
    if (lines && at < n && text[at] == '[')
        return fault_set(fault, LINES "; the file is one array (jq -c '.[]' makes lines of it)");
    if (!has_lines(text + at, n - at))
        return 0;
    if (!lines && has_objects(text + at, n - at))
        return name_keyed(fault);
    return fault_set(fault,
                     "%s; the object of line 1 goes on in line 2 (jq -c . makes a line of each)",
                     lines ? LINES : LINES_OR_ARRAY);
}

/* --- members ------------------------------------------------------------------------------ */

/* Copies the letters and digits of NAME in lower case, as far as there is room. */
static void plain(const char *name, char ret[SUGGEST_WORD_MAX + 1])
{
    size_t n = 0;
    for (; *name && n < SUGGEST_WORD_MAX; name++)
        if (isalnum((unsigned char)*name))
            ret[n++] = (char)tolower((unsigned char)*name);
    ret[n] = '\0';
}

bool guess_is_near(const char *name, const char *meant)
{
    char a[SUGGEST_WORD_MAX + 1], b[SUGGEST_WORD_MAX + 1];
    plain(name, a);
    plain(meant, b);
    size_t n = strlen(b), distance = suggest_distance(a, b);
    /* `text` is not `test`, but `tests` may be. */
    bool is_plural = distance == 1 && strncmp(a, b, n) == 0 && a[n] == 's';
    return strcmp(name, meant) != 0 && (is_plural || distance <= (n > 8 ? 2 : n > 5 ? 1 : 0));
}

const char *guess_member(const json_t *object, const char *meant)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i))
        if (guess_is_near(json_object_iter_key(i), meant))
            return json_object_iter_key(i);
    return NULL;
}

/* --- records ------------------------------------------------------------------------------ */

/* What records of these formats have that those of others need not. */
static const struct shape {
    const char *title;
    const char *members[2];
} shapes[] = {
    {"HumanEval", {"test", "entry_point"}},         {"MBPP", {"test_list", NULL}},
    {"CodeContests", {"public_tests", NULL}},       {"APPS", {"input_output", NULL}},
    {"LiveCodeBench", {"public_test_cases", NULL}}, {"ClassEval", {"class_name", "test_classes"}},
};

static bool has(const json_t *record, const char *name)
{
    const json_t *value = name ? json_object_get(record, name) : NULL;
    return value && !json_is_null(value);
}

/* How many members of SHAPE the record has, or may mean. */
static size_t likeness(const json_t *record, const struct shape *shape)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_SIZE(shape->members) && shape->members[i]; i++)
        n += json_object_get(record, shape->members[i]) || guess_member(record, shape->members[i]);
    return n;
}

static int name_lacking(const json_t *record, const struct shape *shape, struct fault *fault)
{
    const char *const *names = shape->members;
    const char *lacks = has(record, names[0]) ? names[1] : names[0];
    const char *near = lacks ? guess_member(record, lacks) : NULL;
    const json_t *value = lacks ? json_object_get(record, lacks) : NULL;
    if (!lacks) /* its only member is there, so its type is wrong: CodeContests */
        return fault_set(fault, "%s: expected an object with input and output, got %s", names[0],
                         json_type_name(json_object_get(record, names[0])));
    return fault_set(fault, "%s: it is %s%s%s%s; a task of %s has %s%s%s (--list-formats)", lacks,
                     value ? "null" : "missing", near ? ", but there is \"" : "", near ? near : "",
                     near ? "\"" : "", shape->title, names[0], names[1] ? " and " : "",
                     names[1] ? names[1] : "");
}

static bool is_sample(const json_t *record)
{
    static const char *const texts[] = {"completion", "solution", "generation", "completions",
                                        "code_list"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (has(record, texts[i]))
            return true;
    return false;
}

/* Whether RECORD has records, of which at least one is there, by their ids. */
static bool is_keyed(const json_t *record)
{
    json_t *walked = (json_t *)(uintptr_t)record;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i))
        if (!json_is_object(json_object_iter_value(i)))
            return false;
    return json_object_size(record) > 0;
}

int guess_record(const json_t *record, struct fault *fault)
{
    const struct shape *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < ARRAY_SIZE(shapes) && !has(record, "declaration"); i++) {
        size_t n = likeness(record, &shapes[i]);
        if (n > most) {
            most = n;
            best = &shapes[i];
        }
    }
    if (best)
        return name_lacking(record, best, fault);
    if (is_sample(record))
        return fault_set(fault, "this looks like a sample, not like a task: are --dataset and "
                                "--samples swapped?");
    if (is_keyed(record))
        return name_keyed(fault);
    return fault_set(fault, "a record of no known format (rubricctl grade --list-formats); "
                            "HumanEval has test and entry_point, MBPP test_list, CodeContests "
                            "public_tests");
}
