/* SPDX-License-Identifier: MIT */
#include "program_tests.h"
#include "jobfiles.h"
#include "printer.h"

#include <assert.h>
#include <sha2.h>
#include <string.h>

#define DIGEST_PREFIX "sha256:"

/* --- ownership ---------------------------------------------------------------------------- */

static void free_test(struct program_test *test)
{
    bytes_deinit(&test->input);
    bytes_deinit(&test->output);
    bytes_deinit(&test->alternative);
    free(test->name);
    free(test->argv); /* its texts lie behind it */
}

struct program_tests *program_tests_ref(struct program_tests *tests)
{
    assert(tests->references > 0);
    tests->references++;
    return tests;
}

struct program_tests *program_tests_unref(struct program_tests *tests)
{
    assert(!tests || tests->references > 0);
    if (!tests || --tests->references > 0)
        return NULL;
    if (tests->charged)
        *tests->charged -= tests->size;
    for (size_t i = 0; i < tests->count; i++)
        free_test(&tests->test[i]);
    free(tests->test);
    free(tests);
    return NULL;
}

static void unref_pointer(struct program_tests **tests)
{
    *tests = program_tests_unref(*tests);
}

/* --- one test ----------------------------------------------------------------------------- */

enum {
    TEST_NAME,
    TEST_WALL_CLOCK,
    TEST_ARGV,
    TEST_GIVEN,  /* input, or args */
    TEST_WANTED, /* output, or expected */
    TEST_FIELDS_OF_PROGRAM,
    TEST_ALTERNATIVE = TEST_FIELDS_OF_PROGRAM,
    TEST_FIELDS_OF_CALL,
};

#define COMMON_FIELDS                                                 \
    [TEST_NAME] = {"name", FIELD_TEXT, FIELD_NULLABLE},               \
    [TEST_WALL_CLOCK] = {"wall_clock", FIELD_NUMBER, FIELD_NULLABLE}, \
    [TEST_ARGV] = {"argv", FIELD_ARRAY, FIELD_NULLABLE}

static const struct field fields_of_program[TEST_FIELDS_OF_PROGRAM] = {
    COMMON_FIELDS,
    [TEST_GIVEN] = {"input", FIELD_ANY, FIELD_REQUIRED},
    [TEST_WANTED] = {"output", FIELD_ANY, FIELD_NULLABLE},
};

static const struct field fields_of_call[TEST_FIELDS_OF_CALL] = {
    COMMON_FIELDS,
    [TEST_GIVEN] = {"args", FIELD_ARRAY, FIELD_REQUIRED},
    [TEST_WANTED] = {"expected", FIELD_ANY, FIELD_REQUIRED},
    [TEST_ALTERNATIVE] = {"alternative", FIELD_ANY, FIELD_OPTIONAL},
};

static int decode_name(const json_t *value, const char *parent, char **ret, struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    size_t length = json_string_length(value);
    field_path(path, parent, "name");
    if (length == 0 || length > PROGRAM_TEST_NAME_MAX)
        return fault_set(fault, "%s: expected 1 to %d bytes, got %zu", path, PROGRAM_TEST_NAME_MAX,
                         length);
    return job_copy_text(value, ret);
}

/* Returns the bytes of the strings in ARRAY, each with its NUL, or a negative errno. */
static ssize_t measure_strings(const json_t *array, const char *path, struct fault *fault)
{
    size_t i, length = 0;
    json_t *value;
    json_array_foreach(array, i, value)
    {
        char item[FIELD_PATH_MAX + 32];
        (void)snprintf(item, sizeof(item), "%s[%zu]", path, i);
        int r = field_check_type(value, FIELD_TEXT, item, fault);
        if (r < 0)
            return r;
        length += json_string_length(value) + 1;
    }
    return (ssize_t)length;
}

/* The list and its texts are one allocation: a test may have many short ones. */
static int decode_argv(const json_t *array, const char *parent, struct program_test *test,
                       struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    size_t n = json_array_size(array);
    field_path(path, parent, "argv");
    if (n > PROGRAM_ARGV_MAX)
        return fault_set(fault, "%s: %zu strings, more than %d", path, n, PROGRAM_ARGV_MAX);
    ssize_t length = measure_strings(array, path, fault);
    if (length < 0)
        return (int)length;
    if (length > PROGRAM_STRINGS_MAX)
        return fault_set(fault, "%s: %zd bytes, more than %d", path, length, PROGRAM_STRINGS_MAX);
    test->argv = malloc((n + 1) * sizeof(*test->argv) + (size_t)length);
    if (!test->argv)
        return -ENOMEM;
    char *text = (char *)(test->argv + n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        test->argv[i] = text;
        text = stpcpy(text, json_string_value(value)) + 1;
    }
    test->argv[n] = NULL;
    return 0;
}

/* Prints VALUE into no more memory than its text takes: the printer begins with more. */
static int print_value(const json_t *value, struct bytes *ret)
{
    int r = json_print(value, ret);
    char *data = r == 0 ? realloc(ret->data, ret->length + 1) : NULL;
    if (data)
        ret->data = data;
    return r < 0 ? r : data ? 0 : -ENOMEM;
}

static int decode_content(const json_t *value, const char *parent, const char *name,
                          struct bytes *ret, struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    field_path(path, parent, name);
    return job_decode_content(value, path, ret, fault);
}

static int decode_test(const json_t *item, const char *path, const struct limits *ceilings,
                       bool is_call, struct program_test *test, struct fault *fault)
{
    const struct field *table = is_call ? fields_of_call : fields_of_program;
    const size_t count = is_call ? TEST_FIELDS_OF_CALL : TEST_FIELDS_OF_PROGRAM;
    const json_t *values[TEST_FIELDS_OF_CALL];
    char wall_clock[FIELD_PATH_MAX];
    int r = field_check_type(item, FIELD_OBJECT, path, fault);
    if (r == 0)
        r = fields_decode(item, path, table, count, values, fault);
    if (r == 0 && values[TEST_NAME])
        r = decode_name(values[TEST_NAME], path, &test->name, fault);
    field_path(wall_clock, path, "wall_clock");
    if (r == 0 && values[TEST_WALL_CLOCK])
        r = job_decode_limit(values[TEST_WALL_CLOCK], LIMIT_WALL_CLOCK, ceilings, wall_clock,
                             &test->wall_clock, fault);
    if (r == 0 && values[TEST_ARGV])
        r = decode_argv(values[TEST_ARGV], path, test, fault);
    if (r == 0 && is_call)
        r = print_value(values[TEST_GIVEN], &test->input);
    else if (r == 0)
        r = decode_content(values[TEST_GIVEN], path, "input", &test->input, fault);
    if (r == 0 && is_call)
        r = print_value(values[TEST_WANTED], &test->output);
    else if (r == 0 && values[TEST_WANTED])
        r = decode_content(values[TEST_WANTED], path, "output", &test->output, fault);
    if (r == 0 && is_call && values[TEST_ALTERNATIVE])
        r = print_value(values[TEST_ALTERNATIVE], &test->alternative);
    return r;
}

static size_t measure_argv(char *const *argv)
{
    size_t n = 0;
    while (argv && argv[n])
        n++;
    return argv ? (n + 1) * sizeof(*argv) + texts_length(argv) + ALLOCATION_OVERHEAD : 0;
}

static size_t measure(const struct program_test *test)
{
    return sizeof(*test) + bytes_memory(&test->input) + bytes_memory(&test->output) +
           bytes_memory(&test->alternative) + text_memory(test->name) + measure_argv(test->argv);
}

/* --- all of them -------------------------------------------------------------------------- */

/* The first test says for all of them whether they are calls. If it has `input`, its author wrote
 * `expected` for `output`, and the error is to name that member. */
static bool is_call(const json_t *array)
{
    const json_t *first = json_array_get(array, 0);
    return json_object_get(first, "args") ||
           (json_object_get(first, "expected") && !json_object_get(first, "input"));
}

int program_tests_decode(const json_t *array, const char *path, const struct limits *ceilings,
                         struct program_tests **ret, struct fault *fault)
{
    size_t n = json_array_size(array);
    if (n == 0 || n > PROGRAM_TESTS_MAX)
        return fault_set(fault, "%s: expected 1 to %d tests, got %zu", path, PROGRAM_TESTS_MAX, n);
    _cleanup_(unref_pointer) struct program_tests *tests = calloc(1, sizeof(*tests));
    if (!tests)
        return -ENOMEM;
    tests->references = 1;
    tests->is_call = is_call(array);
    tests->size = sizeof(*tests) + 2 * ALLOCATION_OVERHEAD;
    tests->test = calloc(n, sizeof(*tests->test));
    if (!tests->test)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char item[FIELD_PATH_MAX];
        (void)snprintf(item, sizeof(item), "%s[%zu]", path, i);
        int r = decode_test(json_array_get(array, i), item, ceilings, tests->is_call,
                            &tests->test[tests->count++], fault);
        if (r < 0)
            return r;
        tests->size += measure(&tests->test[i]);
    }
    *ret = TAKE_PTR(tests);
    return 0;
}

int program_tests_append(struct program_tests *tests, struct program_tests *take_part)
{
    assert(take_part->references == 1 && !take_part->charged);
    assert(tests->is_call == take_part->is_call);
    size_t count = tests->count + take_part->count;
    struct program_test *all = reallocarray(tests->test, count, sizeof(*all));
    if (!all)
        return -ENOMEM;
    memcpy(all + tests->count, take_part->test, take_part->count * sizeof(*all));
    tests->test = all;
    tests->count = count;
    tests->size += take_part->size - sizeof(*take_part);
    take_part->count = 0; /* they are the others' now */
    program_tests_unref(take_part);
    return 0;
}

int program_tests_check_call(const struct program_tests *tests, bool is_call, struct fault *fault)
{
    if (is_call && !tests->is_call)
        return fault_set(fault, "job.tests: a job with call has args and expected in each test, "
                                "not input and output");
    if (!is_call && tests->is_call)
        return fault_set(fault, "job.call: missing; args and expected in tests go with it");
    return 0;
}

/* --- digests ------------------------------------------------------------------------------ */

static bool is_digest(const char *text)
{
    size_t at = strlen(DIGEST_PREFIX);
    if (strlen(text) != PROGRAM_DIGEST_SIZE - 1 || strncmp(text, DIGEST_PREFIX, at) != 0)
        return false;
    while (text[at] && strchr("0123456789abcdef", text[at]))
        at++;
    return text[at] == '\0';
}

int program_digest_check(const char *text, const char *path, struct fault *fault)
{
    if (is_digest(text))
        return 0;
    return fault_set(fault, "%s: \"%.*s\" is not a digest: sha256: and 64 hexadecimal digits", path,
                     SHOWN(text));
}

void program_digest(const char *text, size_t n, char ret[PROGRAM_DIGEST_SIZE])
{
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)text, n);
    memcpy(ret, DIGEST_PREFIX, sizeof(DIGEST_PREFIX));
    (void)SHA256End(&context, ret + strlen(DIGEST_PREFIX));
}

void program_digest_add(struct program_digest *digest, const struct bytes *text)
{
    assert(text->length > strlen("[]"));
    if (!digest->has_begun)
        SHA256Init(&digest->context);
    SHA256Update(&digest->context, (const uint8_t *)(digest->has_begun ? "," : "["), 1);
    SHA256Update(&digest->context, (const uint8_t *)text->data + 1, text->length - strlen("[]"));
    digest->has_begun = true;
}

void program_digest_end(struct program_digest *digest, char ret[PROGRAM_DIGEST_SIZE])
{
    assert(digest->has_begun);
    SHA256Update(&digest->context, (const uint8_t *)"]", 1);
    memcpy(ret, DIGEST_PREFIX, sizeof(DIGEST_PREFIX));
    (void)SHA256End(&digest->context, ret + strlen(DIGEST_PREFIX));
}

int program_digest_refuse(const char *found, struct fault *fault)
{
    return fault_set(fault, "digest: that of the tests, as JSON without white space, is %s", found);
}
