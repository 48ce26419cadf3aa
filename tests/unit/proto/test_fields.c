/* SPDX-License-Identifier: MIT */
/* Tests the table decoder and its error messages. */
#include "proto/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Parses JSON with ' for ", which is easier to read in C. */
static json_t *parse(const char *text)
{
    char quoted[2048];
    size_t n = 0;
    for (; text[n]; n++) {
        assert_true(n + 1 < sizeof(quoted));
        quoted[n] = text[n] == '\'' ? '"' : text[n];
    }
    json_t *value = json_loadb(quoted, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!value)
        fail_msg("the test's own JSON is broken: %s", text);
    return value;
}

enum {
    STRING,
    TEXT,
    INTEGER,
    NUMBER,
    BOOLEAN,
    OBJECT,
    ARRAY,
    FIELDS,
};

/* Makes a table with one field of each type, all with PRESENCE. */
static void make_table(struct field table[FIELDS], enum field_presence presence)
{
    static const char *const names[FIELDS] = {"string",  "text",   "integer", "number",
                                              "boolean", "object", "array"};
    static const enum field_type types[FIELDS] = {
        FIELD_STRING,  FIELD_TEXT,   FIELD_INTEGER, FIELD_NUMBER,
        FIELD_BOOLEAN, FIELD_OBJECT, FIELD_ARRAY,
    };
    for (size_t i = 0; i < FIELDS; i++)
        table[i] = (struct field){names[i], types[i], presence};
}

static const char complete[] = "{'string':'a\\u0000b','text':'x','integer':-7,'number':0.5,"
                               "'boolean':false,'object':{},'array':[]}";

static void test_complete(void **state)
{
    (void)state;
    for (enum field_presence presence = FIELD_REQUIRED; presence <= FIELD_NULLABLE; presence++) {
        struct field table[FIELDS];
        const json_t *values[FIELDS];
        struct fault fault = FAULT_NULL;
        make_table(table, presence);
        json_t *object = parse(complete);
        assert_int_equal(fields_decode(object, "", table, FIELDS, values, &fault), 0);
        assert_string_equal(fault.text, "");
        for (size_t i = 0; i < FIELDS; i++) /* borrowed, not copied */
            assert_ptr_equal(values[i], json_object_get(object, table[i].name));
        json_decref(object);
    }
}

static void expect(const char *text, const char *path, enum field_presence presence,
                   const char *message)
{
    struct field table[FIELDS];
    const json_t *values[FIELDS];
    struct fault fault = FAULT_NULL;
    make_table(table, presence);
    json_t *object = parse(text);
    int r = fields_decode(object, path, table, FIELDS, values, &fault);
    json_decref(object);
    if (r != (*message ? -EINVAL : 0) || strcmp(fault.text, message) != 0)
        fail_msg("%s:\n  %d \"%s\", expected\n  \"%s\"", text, r, fault.text, message);
}

static void test_absent(void **state)
{
    (void)state;
    expect("{}", "", FIELD_REQUIRED, "string: missing");
    expect("{}", "job", FIELD_REQUIRED, "job.string: missing");
    expect("{'string':'','text':''}", "job", FIELD_REQUIRED, "job.integer: missing");
    expect("{}", "", FIELD_OPTIONAL, "");
    expect("{}", "", FIELD_NULLABLE, "");
}

static void test_absent_and_null_are_null(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{'string':null,'text':null,'integer':null,'number':null,'boolean':null,'object':null,"
        "'array':null}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct field table[FIELDS];
        const json_t *values[FIELDS];
        make_table(table, FIELD_NULLABLE);
        for (size_t j = 0; j < FIELDS; j++)
            values[j] = (const json_t *)table;
        json_t *object = parse(texts[i]);
        assert_int_equal(fields_decode(object, "", table, FIELDS, values, NULL), 0);
        for (size_t j = 0; j < FIELDS; j++)
            assert_null(values[j]);
        json_decref(object);
    }
}

static void test_null(void **state)
{
    static const char *const messages[FIELDS] = {
        "a.b.string: expected a string, got null",    "a.b.text: expected a string, got null",
        "a.b.integer: expected an integer, got null", "a.b.number: expected a number, got null",
        "a.b.boolean: expected a boolean, got null",  "a.b.object: expected an object, got null",
        "a.b.array: expected an array, got null",
    };
    struct field table[FIELDS];
    (void)state;
    make_table(table, FIELD_OPTIONAL);
    for (size_t i = 0; i < FIELDS; i++) {
        char text[80];
        (void)snprintf(text, sizeof(text), "{'%s':null}", table[i].name);
        expect(text, "a.b", FIELD_OPTIONAL, messages[i]);
        expect(text, "a.b", FIELD_NULLABLE, "");
    }
}

/* Each type of field against each type of value. */
static void test_types(void **state)
{
    static const struct {
        const char *value, *is;
        bool good[FIELDS];
    } cases[] = {
        {"''", "a string", {[STRING] = true, [TEXT] = true}},
        {"'x'", "a string", {[STRING] = true, [TEXT] = true}},
        {"'1'", "a string", {[STRING] = true, [TEXT] = true}},
        {"'true'", "a string", {[STRING] = true, [TEXT] = true}},
        {"0", "a number", {[INTEGER] = true, [NUMBER] = true}},
        {"1", "a number", {[INTEGER] = true, [NUMBER] = true}},
        {"-9223372036854775808", "a number", {[INTEGER] = true, [NUMBER] = true}},
        {"1.0", "a number", {[NUMBER] = true}},
        {"1e0", "a number", {[NUMBER] = true}},
        {"-0.5", "a number", {[NUMBER] = true}},
        {"true", "a boolean", {[BOOLEAN] = true}},
        {"false", "a boolean", {[BOOLEAN] = true}},
        {"{}", "an object", {[OBJECT] = true}},
        {"{'a':1}", "an object", {[OBJECT] = true}},
        {"[]", "an array", {[ARRAY] = true}},
        {"[1]", "an array", {[ARRAY] = true}},
    };
    static const char *const wanted[FIELDS] = {
        "a string", "a string", "an integer", "a number", "a boolean", "an object", "an array",
    };
    struct field table[FIELDS];
    (void)state;
    make_table(table, FIELD_OPTIONAL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t j = 0; j < FIELDS; j++) {
            char text[80], message[120] = "";
            (void)snprintf(text, sizeof(text), "{'%s':%s}", table[j].name, cases[i].value);
            if (!cases[i].good[j])
                (void)snprintf(message, sizeof(message), "job.%s: expected %s, got %s",
                               table[j].name, wanted[j], cases[i].is);
            expect(text, "job", FIELD_OPTIONAL, message);
        }
    }
}

static void test_nul(void **state)
{
    static const char *const values[] = {"'\\u0000'", "'a\\u0000'", "'\\u0000a'", "'a\\u0000b'"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        char text[80];
        (void)snprintf(text, sizeof(text), "{'text':%s}", values[i]);
        expect(text, "job", FIELD_OPTIONAL, "job.text: contains a NUL character");
        (void)snprintf(text, sizeof(text), "{'string':%s}", values[i]);
        expect(text, "job", FIELD_OPTIONAL, "");
    }
}

static void test_unknown(void **state)
{
    (void)state;
    expect("{'zzz':1}", "", FIELD_OPTIONAL, "zzz: unknown field");
    expect("{'zzz':null}", "", FIELD_OPTIONAL, "zzz: unknown field");
    expect("{'zzz':1}", "job.sut", FIELD_OPTIONAL, "job.sut.zzz: unknown field");
    expect("{'text':'x','String':'x'}", "", FIELD_OPTIONAL, "String: unknown field");
    expect("{'text ':'x'}", "", FIELD_OPTIONAL, "text : unknown field");
    expect("{'tex':'x'}", "", FIELD_OPTIONAL, "tex: unknown field");
    expect("{'textt':'x'}", "", FIELD_OPTIONAL, "textt: unknown field");
    expect("{'t\xC3\xA9xt':'x'}", "", FIELD_OPTIONAL, "t\xC3\xA9xt: unknown field");
}

/* A wrong field is reported before a missing one, and the first of several wrong ones. */
static void test_order(void **state)
{
    (void)state;
    expect("{'zzz':1}", "", FIELD_REQUIRED, "zzz: unknown field");
    expect("{'integer':'x','zzz':1,'yyy':1}", "", FIELD_OPTIONAL, "zzz: unknown field");
    expect("{'array':1,'text':2}", "", FIELD_OPTIONAL, "text: expected a string, got a number");
}

/* Messages cut a client's name to 64 bytes, between characters. */
static void test_long_names(void **state)
{
    static const struct {
        size_t letters;
        const char *tail;
        size_t shown;
    } cases[] = {
        {63, "", 63},
        {64, "", 64},
        {65, "", 64},
        {200, "", 64},
        {1000, "", 64},
        {62, "\xC3\xA9", 64},
        {63, "\xC3\xA9", 63},
        {64, "\xC3\xA9", 64},
        {61, "\xF0\x9F\x98\x80", 61},
        {60, "\xF0\x9F\x98\x80", 64},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char name[1100], text[1200], message[200];
        memset(name, 'n', cases[i].letters);
        (void)strcpy(name + cases[i].letters, cases[i].tail);
        (void)snprintf(text, sizeof(text), "{'%s':1}", name);
        (void)snprintf(message, sizeof(message), "job.%.*s%s: unknown field", (int)cases[i].shown,
                       name, cases[i].shown < strlen(name) ? "..." : "");
        expect(text, "job", FIELD_OPTIONAL, message);
    }
}

static void test_path(void **state)
{
    static const struct {
        const char *path, *name, *expected;
    } cases[] = {
        {"", "id", "id"},
        {"job", "id", "job.id"},
        {"job.case", "rubric_wall_clock_seconds", "job.case.rubric_wall_clock_seconds"},
        {"failure_modes[12]", "code", "failure_modes[12].code"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[FIELD_PATH_MAX];
        field_path(path, cases[i].path, cases[i].name);
        assert_string_equal(path, cases[i].expected);
    }
}

static void test_path_fits(void **state)
{
    char path[FIELD_PATH_MAX], long_path[400], long_name[400];
    (void)state;
    memset(long_path, 'p', sizeof(long_path) - 1);
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_path[sizeof(long_path) - 1] = long_name[sizeof(long_name) - 1] = '\0';
    field_path(path, long_path, long_name);
    assert_int_equal(strlen(path), 80 + 1 + 64 + 3);
    assert_string_equal(path + strlen(path) - 4, "n...");
}

static void test_check_type(void **state)
{
    struct fault fault = FAULT_NULL;
    json_t *value = parse("[1]");
    (void)state;
    assert_int_equal(field_check_type(value, FIELD_ARRAY, "a[0]", &fault), 0);
    assert_string_equal(fault.text, "");
    assert_int_equal(field_check_type(value, FIELD_OBJECT, "a[0]", &fault), -EINVAL);
    assert_string_equal(fault.text, "a[0]: expected an object, got an array");
    assert_int_equal(field_check_type(NULL, FIELD_OBJECT, "a[0]", &fault), -EINVAL);
    assert_string_equal(fault.text, "a[0]: expected an object, got nothing");
    assert_int_equal(field_check_type(value, FIELD_OBJECT, "a[0]", NULL), -EINVAL);
    json_decref(value);
}

/* --- fault -------------------------------------------------------------------------------- */

static void test_fault(void **state)
{
    struct fault fault = FAULT_NULL;
    (void)state;
    assert_string_equal(fault.text, "");
    assert_int_equal(fault_set(&fault, "%s: %d", "x", 7), -EINVAL);
    assert_string_equal(fault.text, "x: 7");
    assert_int_equal(fault_set(&fault, "y"), -EINVAL);
    assert_string_equal(fault.text, "y");
    assert_int_equal(fault_set(NULL, "%s", "nobody asks"), -EINVAL);
}

/* Formats N letters and TAIL. EXPECTED is the length after the cut. */
static void check_cut(size_t letters, const char *tail, size_t expected)
{
    struct fault fault = FAULT_NULL;
    char text[FAULT_MAX + 20];
    memset(text, 'x', letters);
    (void)strcpy(text + letters, tail);
    (void)fault_set(&fault, "%s", text);
    if (strlen(fault.text) != expected || strncmp(fault.text, text, expected) != 0)
        fail_msg("%zu letters and %zu bytes are cut to %zu, expected %zu", letters, strlen(tail),
                 strlen(fault.text), expected);
}

static void test_fault_is_cut_between_characters(void **state)
{
    static const struct {
        const char *character;
        size_t length;
    } cases[] = {{"\xC3\xA9", 2}, {"\xE2\x82\xAC", 3}, {"\xF0\x9F\x98\x80", 4}};
    const size_t max = FAULT_MAX - 1;
    (void)state;
    check_cut(max - 1, "", max - 1);
    check_cut(max, "", max);
    check_cut(max + 1, "", max);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t before = max - 6; before <= max; before++) {
            size_t whole = before + cases[i].length;
            check_cut(before, cases[i].character, whole <= max ? whole : before);
            char tail[12];
            (void)snprintf(tail, sizeof(tail), "%szzzzzz", cases[i].character);
            check_cut(before, tail, whole <= max ? MIN(whole + 6, max) : before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_absent_and_null_are_null),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_path_fits),
        cmocka_unit_test(test_check_type),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_fault_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
