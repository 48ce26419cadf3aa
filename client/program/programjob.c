/* SPDX-License-Identifier: MIT */
#include "programjob.h"
#include "language.h"
#include "rule.h"
#include "testfiles.h"
#include "testnames.h"

#include "client/cli/files.h"
#include "client/cli/limits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Takes VALUE, which may be NULL for lack of memory. */
static int put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) < 0 ? -ENOMEM : 0;
}

/* --- tests --------------------------------------------------------------------------------- */

/* Reads file I as content of a test; LEFT counts the bytes that the tests may still have. */
static int read_content(struct test_files *files, size_t i, size_t *left, json_t **ret,
                        struct fault *fault)
{
    _cleanup_bytes_ struct bytes content = BYTES_NULL;
    int r = test_files_read(files, i, *left, &content, fault);
    if (r == -EFBIG)
        (void)fault_set(fault, "%s: the tests have more than %zu MiB", files->path,
                        PROGRAM_JOB_MAX >> 20);
    if (r < 0)
        return r;
    *left -= content.length;
    *ret = file_content(&content);
    return *ret ? 0 : -ENOMEM;
}

static int add_test(struct test_files *files, const struct test_pair *pair, size_t *left,
                    json_t *tests, json_t *names, struct fault *fault)
{
    _cleanup_json_ json_t *input = NULL, *output = NULL, *name = json_string(pair->name);
    if (!name)
        return fault_set(fault, "%s: \"%s\" is not UTF-8", files->path, pair->name);
    int r = read_content(files, pair->input, left, &input, fault);
    if (r == 0)
        r = read_content(files, pair->output, left, &output, fault);
    if (r < 0)
        return r;
    json_t *test = json_pack("{s:O,s:O,s:O}", "name", name, "input", input, "output", output);
    if (json_array_append_new(tests, test) < 0 || json_array_append(names, name) < 0)
        return -ENOMEM;
    return 0;
}

/* Notes the files that are part of no test, and not clearly something else. */
static int note_left(const struct test_files *files, const struct test_pairs *pairs,
                     struct few_names *left)
{
    for (size_t i = 0; i < pairs->n_left; i++)
        if (few_names_add(left, files->names[pairs->left[i]]) < 0)
            return -ENOMEM;
    return few_names_add_all(left, &files->passed);
}

static int put_tests(json_t *job, const char *path, json_t *names, struct few_names *left_out,
                     struct fault *fault)
{
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    _cleanup_test_pairs_ struct test_pairs pairs = TEST_PAIRS_NULL;
    struct fault why = FAULT_NULL;
    size_t left = PROGRAM_JOB_MAX;
    json_t *tests = json_array();
    int r = put(job, "tests", tests);
    if (r == 0)
        r = test_files_open(path, &files, fault);
    if (r < 0)
        return r;
    r = test_pairs_find((const char *const *)files.names, files.n, &pairs, &why);
    if (r < 0 && why.text[0])
        (void)fault_set(fault, "%s: %s", path, why.text);
    for (size_t i = 0; r == 0 && i < pairs.n; i++)
        r = add_test(&files, &pairs.pairs[i], &left, tests, names, fault);
    return r == 0 ? note_left(&files, &pairs, left_out) : r;
}

/* --- the program --------------------------------------------------------------------------- */

/* LANGUAGE may be NULL; INSTEAD says what to do if the file's name does not tell it. */
static int put_language(json_t *job, const char *source, const char *language, const char *instead,
                        struct fault *fault)
{
    const char *known = language ? language : language_of_file(source);
    if (!known)
        return fault_set(fault, "%s: its name does not tell its language; %s", source, instead);
    json_t *text = json_string(known);
    return text ? put(job, "language", text)
                : fault_set(fault, "--language: \"%s\" is not UTF-8", known);
}

/* Puts what is in the file PATH as text. */
static int put_file(json_t *object, const char *name, const char *path, struct fault *fault)
{
    _cleanup_bytes_ struct bytes code = BYTES_NULL;
    int r = file_read_all(path, PROGRAM_JOB_MAX, &code, fault);
    if (r < 0)
        return r;
    json_t *text = json_stringn(code.data, code.length);
    return text ? put(object, name, text) : fault_set(fault, "%s: it is not UTF-8", path);
}

/* Puts testlib.h, which checkers and interactors of judges are written with, if it lies beside the
 * one in the file PATH. */
static int put_testlib(json_t *helper, const char *path, struct fault *fault)
{
    static const char library[] = "testlib.h";
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *beside = NULL;
    if (asprintf(&beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, library) < 0) {
        beside = NULL;
        return -ENOMEM;
    }
    if (access(beside, F_OK) < 0)
        return 0;
    json_t *files = json_object();
    int r = put(helper, "files", files);
    return r == 0 ? put_file(files, library, beside, fault) : r;
}

/* Puts the checker or the interactor, as NAME says, that is in the file PATH. */
static int put_helper(json_t *job, const char *name, const char *path, struct fault *fault)
{
    json_t *helper = json_object();
    int r = put(job, name, helper);
    if (r == 0)
        r = put_language(helper, path, NULL, "give it an ending that does, as in check.cpp", fault);
    if (r == 0)
        r = put_file(helper, "code", path, fault);
    return r == 0 ? put_testlib(helper, path, fault) : r;
}

static int put_judge(json_t *job, const struct program_options *options, struct fault *fault)
{
    if (!!options->compare + !!options->checker + !!options->interactor > 1)
        return fault_set(fault, "give one of --compare, --checker and --interactor: each says when "
                                "an output is right");
    if (options->checker)
        return put_helper(job, "checker", options->checker, fault);
    if (options->interactor)
        return put_helper(job, "interactor", options->interactor, fault);
    if (!options->compare)
        return 0;
    int r = rule_check(options->compare, fault);
    if (r < 0)
        return r;
    return put(job, "compare", json_string(options->compare));
}

static int put_rules(json_t *job, const struct program_options *options, struct fault *fault)
{
    int r = limits_add(job, &options->limits, fault);
    if (r == 0)
        r = limits_add_option(job, "--time", "wall_clock", options->time, &options->limits, fault);
    if (r == 0)
        r = limits_add_option(job, "--memory", "memory_bytes", options->memory, &options->limits,
                              fault);
    if (r == 0)
        r = put(job, "stop", json_string(options->all ? "all" : "first_failure"));
    return r == 0 ? put_judge(job, options, fault) : r;
}

int program_job(const char *source, const struct program_options *options, json_t **ret,
                json_t **ret_names, struct few_names *left, struct fault *fault)
{
    _cleanup_json_ json_t *job = json_pack("{s:s}", "kind", "program"), *names = json_array();
    if (!job || !names)
        return -ENOMEM;
    if (!options->tests)
        return fault_set(fault,
                         "run-program: --tests is missing; see rubricctl run-program --help");
    int r = collect_check(&options->collect, options->json, fault);
    if (r == 0)
        r = collect_put(job, &options->collect, fault);
    if (r == 0)
        r = put_language(job, source, options->language, "give --language", fault);
    if (r == 0)
        r = put_file(job, "code", source, fault);
    if (r == 0)
        r = put_rules(job, options, fault);
    if (r == 0)
        r = put_tests(job, options->tests, names, left, fault);
    if (r == 0) {
        *ret = TAKE_PTR(job);
        *ret_names = TAKE_PTR(names);
    }
    return r;
}
