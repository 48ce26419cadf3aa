/* SPDX-License-Identifier: MIT */
/* The jobs that are made of other projects' requests, and the answers that are made of results. */
#include "client/http/fusion.h"
#include "client/http/piston.h"

#include "proto/printer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct language_list languages;
    struct steps_host host;
    json_t *limits;
    json_t *status;
};

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    return value;
}

static int setup(void **state)
{
    static struct world world;
    struct config_problems problems = CONFIG_PROBLEMS_NULL;
    assert_int_equal(language_list_load(&world.languages, "", &problems), 0);
    world.limits = parse("{\"defaults\": {\"sandbox\": {\"cpu\": 60, \"memory_bytes\": 1000,"
                         " \"disk_bytes\": 64}}, \"ceilings\": {\"sandbox\": {\"wall_clock\": 300,"
                         " \"cpu\": 200, \"memory_bytes\": 4000, \"output_bytes\": 77}}}");
    world.status =
        parse("[{\"name\": \"python\", \"available\": true, \"version\": \"Python 3.11.2\"},"
              " {\"name\": \"c\", \"available\": true},"
              " {\"name\": \"go\", \"available\": false, \"version\": \"go1.19\"},"
              " {\"name\": \"rust\", \"available\": false, \"why_not\": \"there is no rustc\"}]");
    world.host = (struct steps_host){.limits = world.limits, .python = "/usr/bin/python3"};
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    language_list_deinit(&world->languages);
    json_decref(world->limits);
    json_decref(world->status);
    return 0;
}

/* Takes over GOT. */
static void assert_json(json_t *got, const char *expected)
{
    struct bytes text = BYTES_NULL;
    assert_non_null(got);
    assert_int_equal(json_print(got, &text), 0);
    assert_string_equal(text.data, expected);
    bytes_deinit(&text);
    json_decref(got);
}

static json_t *fusion(const struct world *world, const char *text)
{
    json_t *request = parse(text), *refusal = NULL;
    struct fusion_job job = {.job = NULL};
    struct fault fault = FAULT_NULL;
    assert_int_equal(fusion_job(request, &world->languages, &world->host, &job, &refusal, &fault),
                     0);
    json_decref(request);
    assert_int_equal(json_array_size(json_object_get(job.job, "steps")), steps_count(job.language));
    return job.job;
}

static void test_fusion_python(void **state)
{
    assert_json(
        fusion(*state, "{\"language\": \"python\", \"code\": \"x\", \"stdin\": \"in\","
                       " \"run_timeout\": 1.5, \"fetch_files\": [\"a*\"], \"other\": 1,"
                       " \"files\": {\"f\": \"AA==\", \"n\": null}}"),
        "{\"kind\":\"sandbox\",\"files\":{\"f\":{\"base64\":\"AA==\"},\"main.py\":\"x\"},"
        "\"steps\":[{\"argv\":[\"/usr/bin/env\",\"/usr/bin/python3\",\"-s\",\"-B\",\"main.py\"],"
        "\"stdin\":\"in\",\"limits\":{\"wall_clock\":1.5,\"memory_bytes\":1000}}],"
        "\"limits\":{\"output_bytes\":77,\"disk_bytes\":64},\"collect\":[\"a\\\\*\"]}");
}

/* A runtime that reserves more than it uses gets all address space there is, and its heap's limit
 * from the request. A time above the default for CPU time takes that along. */
static void test_fusion_javascript(void **state)
{
    assert_json(fusion(*state, "{\"language\": \"nodejs\", \"code\": \"\", \"run_timeout\": 100,"
                               " \"memory_limit_MB\": 256}"),
                "{\"kind\":\"sandbox\",\"files\":{\"main.js\":\"\"},"
                "\"steps\":[{\"argv\":[\"/usr/bin/env\",\"OPENSSL_CONF=/dev/null\",\"node\","
                "\"--max-old-space-size=192\",\"main.js\"],\"limits\":{\"wall_clock\":100.0,"
                "\"cpu\":100.0,\"memory_bytes\":4000}}],"
                "\"limits\":{\"output_bytes\":77,\"disk_bytes\":64}}");
}

/* The class of a file that Kotlin names, and the one that Java's is named after. */
static void test_fusion_classes(void **state)
{
    static const char *const names[][2] = {{"kotlin", "MainKt"}, {"java", "Main"}};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char request[64];
        (void)snprintf(request, sizeof(request), "{\"language\": \"%s\", \"code\": \"\"}",
                       names[i][0]);
        json_t *job = fusion(*state, request);
        const json_t *argv =
            json_object_get(json_array_get(json_object_get(job, "steps"), 1), "argv");
        const json_t *last = json_array_get(argv, json_array_size(argv) - 1);
        assert_string_equal(json_string_value(last), names[i][1]);
        json_decref(job);
    }
}

static void test_fusion_answers(void **state)
{
    const struct world *world = *state;
    const struct language *language = language_find(&world->languages, "c");
    json_t *result = parse(
        "{\"steps\": [{\"stdout\": \"o\", \"outcome\": {\"stderr\": \"e\", \"exit_code\": null,"
        " \"signal\": 9, \"limit_exceeded\": \"wall_clock\"}, \"usage\": {\"wall_clock_ms\": "
        "5}}]}");
    assert_json(
        fusion_answer(language, result),
        "{\"status\":\"Failed\",\"message\":\"\",\"compile_result\":{\"status\":"
        "\"TimeLimitExceeded\",\"execution_time\":0.005,\"return_code\":null,\"stdout\":\"o\","
        "\"stderr\":\"e\"},\"run_result\":null,\"executor_pod_name\":null,\"files\":{}}");
    json_decref(result);
}

static int piston(const struct world *world, const char *text, struct piston_job *job,
                  struct fault *fault)
{
    json_t *request = parse(text);
    int r = piston_job(request, &world->languages, world->status, &world->host, job, fault);
    json_decref(request);
    return r;
}

/* A name that is cut within a character would be no JSON: the client got no answer. */
static void test_fusion_cuts_names(void **state)
{
    const struct world *world = *state;
    json_t *request =
        parse("{\"code\": \"\", \"language\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
              "aaaaaaaaaaaaaaaaaaaaaaa\u00e9\"}");
    struct fusion_job job = {.job = NULL};
    json_t *refusal = NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(fusion_job(request, &world->languages, &world->host, &job, &refusal, &fault),
                     -ENOENT);
    json_decref(request);
    assert_string_equal(fault.text, "there is no language 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                    "aaaaaaaaaaaaaaaaaaaaaaa' here");
    json_t *trouble = fusion_trouble(fault.text);
    assert_non_null(trouble);
    json_decref(trouble);
}

static bool may_lack(const char *last_step)
{
    char text[200];
    (void)snprintf(text, sizeof(text), "{\"steps\": [{\"outcome\": {\"exit_code\": 0}}, %s]}",
                   last_step);
    json_t *result = parse(text);
    bool may = fusion_may_lack_language(result);
    json_decref(result);
    return may;
}

static void test_fusion_lacks_a_language(void **state)
{
    const struct world *world = *state;
    static const struct {
        const char *language, *message;
    } table[] = {
        {"rs", "language_not_found: rust: there is no rustc"},
        {"c", ""},
        {"r", ""}, /* the status does not have it */
    };
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const struct language *language = language_find(&world->languages, table[i].language);
        struct fault fault = FAULT_NULL;
        int r = fusion_check_language(language, world->status, &fault);
        assert_int_equal(r, *table[i].message ? -ENOENT : 0);
        assert_string_equal(fault.text, table[i].message);
    }
    assert_true(may_lack("{\"outcome\": {\"exit_code\": 127}}"));
    assert_false(may_lack("{\"outcome\": {\"exit_code\": 1}}"));
    assert_false(may_lack("{\"outcome\": {\"exit_code\": null, \"signal\": 9}}"));
}

static void test_piston_job(void **state)
{
    struct piston_job job = {.job = NULL};
    struct fault fault = FAULT_NULL;
    assert_int_equal(piston(*state,
                            "{\"language\": \"py\", \"version\": \"3.x\", \"args\": [\"a\"],"
                            " \"run_memory_limit\": -1, \"files\": ["
                            "{\"name\": \"d\", \"content\": \"00Ff\", \"encoding\": \"hex\"},"
                            "{\"name\": \"m\", \"content\": \"x\"}, {\"content\": \"y\"}]}",
                            &job, &fault),
                     0);
    assert_string_equal(job.version, "3.11.2");
    assert_json(
        job.job,
        "{\"kind\":\"sandbox\",\"files\":{\"d\":{\"base64\":\"AP8=\"},\"m.py\":\"x\","
        "\"file2.code\":\"y\"},\"steps\":[{\"argv\":[\"/usr/bin/env\",\"/usr/bin/python3\","
        "\"-s\",\"-B\",\"m.py\",\"a\"],\"limits\":{\"wall_clock\":3.0,\"memory_bytes\":1000}}],"
        "\"limits\":{\"output_bytes\":77,\"disk_bytes\":64}}");
}

static void test_piston_refusals(void **state)
{
    static const struct {
        const char *request, *message;
    } table[] = {
        {"{\"language\": 1}", "language is required as a string"},
        {"{\"language\": \"go\", \"version\": \"*\"}", "go-* runtime is unknown"},
        {"{\"language\": \"rs\", \"version\": \"*\"}",
         "rs-* runtime is not available: rust is known, but there is no rustc"},
        {"{\"language\": \"python\", \"version\": \"2\"}", "python-2 runtime is unknown"},
        {"{\"language\": \"x\", \"version\": "
         "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaa\u00e9\"}",
         "x-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa runtime is unknown"},
        {"{\"language\": \"c\", \"version\": \"*\", \"files\": [{\"content\": \"\"}],"
         " \"compile_memory_limit\": 4001}",
         "compile_memory_limit cannot exceed the configured limit of 4000"},
        {"{\"language\": \"c\", \"version\": \"*\", \"files\": [1]}",
         "files[0].content is required as a string"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct piston_job job = {.job = NULL};
        struct fault fault = FAULT_NULL;
        assert_int_equal(piston(*state, table[i].request, &job, &fault), -EINVAL);
        assert_string_equal(fault.text, table[i].message);
    }
}

static void test_piston_runtimes(void **state)
{
    const struct world *world = *state;
    assert_json(
        piston_runtimes(&world->languages, world->status),
        "[{\"language\":\"c\",\"version\":\"0.0.0\",\"aliases\":[\"gcc\",\"c17\",\"gnu17\"]},"
        "{\"language\":\"python\",\"version\":\"3.11.2\",\"aliases\":[\"python3\",\"py\",\"py3\"]}"
        "]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fusion_python),     cmocka_unit_test(test_fusion_javascript),
        cmocka_unit_test(test_fusion_classes),    cmocka_unit_test(test_fusion_answers),
        cmocka_unit_test(test_fusion_cuts_names), cmocka_unit_test(test_fusion_lacks_a_language),
        cmocka_unit_test(test_piston_job),        cmocka_unit_test(test_piston_refusals),
        cmocka_unit_test(test_piston_runtimes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
