/* SPDX-License-Identifier: MIT */
/* What a client with a token sees of the daemon's status. */
#include "client/http/redact.h"

#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define JOB(no, id, label)                                                        \
    "{\"job_no\":" no ",\"id\":\"" id "\",\"kind\":\"rubric\",\"label\":\"" label \
    "\",\"client\":3,"                                                            \
    "\"uid\":1000,\"running_ms\":21,\"remaining_ms\":9979,\"new\":\"SECRET\"}"
#define FAILURE(id, label)                                                   \
    "{\"job_no\":4,\"id\":\"" id "\",\"kind\":\"rubric\",\"label\":\"" label \
    "\",\"what\":\"" label " went wrong\",\"ago_ms\":7}"

static const char status[] =
    "{\"type\":\"status\",\"version\":\"0.1.0\",\"pid\":666,\"state\":\"running\",\"new\":"
    "\"SECRET\","
    "\"slots\":[{\"slot\":0,\"state\":\"busy\",\"trouble\":\"SECRET\",\"jail_pid\":666,"
    "\"job\":" JOB(
        "1", "aa-0.1",
        "mine") "},"
                "{\"slot\":1,\"state\":\"busy\",\"jail_pid\":666,\"job\":" JOB(
                    "666", "SECRET",
                    "SECRET") "},"
                              "{\"slot\":2,\"state\":\"idle\",\"job\":null}],"
                              "\"queue\":{\"jobs\":1,\"new\":\"SECRET\"},"
                              "\"clients\":[{\"client\":3,\"uid\":1000,\"pid\":666}],\"clients_"
                              "total\":5,"
                              "\"counters\":{\"submitted\":4711,\"errors\":{\"internal\":2,"
                              "\"text\":\"SECRET\"}},"
                              "\"kinds\":{\"rubric\":{\"passed\":4,\"new\":{\"label\":\"SECRET\"},"
                              "\"recent\":[{\"seconds\":60,\"queue_ms\":null,\"wall_clock_ms\":{"
                              "\"p50\":1.5}}]}},"
                              "\"last_failures\":[" FAILURE("SECRET", "SECRET") "," FAILURE(
                                  "aa-0.2", "mine") "],"
                                                    "\"isolation\":{\"layers\":[\"seccomp\"],"
                                                    "\"missing\":[{\"layer\":\"cgroup\","
                                                    "\"reason\":\"SECRET\"}]}}";

static json_t *see(const char *own)
{
    _cleanup_json_ json_t *value = json_loads(status, 0, NULL);
    assert_non_null(value);
    json_t *seen = redact_status(value, own);
    assert_non_null(seen);
    return seen;
}

static void assert_json(const json_t *got, const char *wanted)
{
    char *text = json_dumps(got, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    assert_string_equal(text, wanted);
    free(text);
}

#define OTHER "{\"job\":{\"remaining_ms\":9979,\"running_ms\":21},\"slot\":1,\"state\":\"busy\"}"
#define IDLE "{\"job\":null,\"slot\":2,\"state\":\"idle\"}"

static void test_own_jobs(void **state)
{
    (void)state;
    _cleanup_json_ json_t *seen = see("aa-");
    assert_json(json_object_get(seen, "slots"),
                "[{\"job\":{\"kind\":\"rubric\",\"label\":\"mine\",\"remaining_ms\":9979,"
                "\"running_ms\":21},\"slot\":0,\"state\":\"busy\"}," OTHER "," IDLE "]");
    assert_json(json_object_get(seen, "last_failures"),
                "[{\"ago_ms\":7,\"kind\":\"rubric\",\"label\":\"mine\","
                "\"what\":\"mine went wrong\"}]");
}

static void test_numbers_of_all(void **state)
{
    (void)state;
    _cleanup_json_ json_t *seen = see(NULL);
    assert_json(json_object_get(seen, "last_failures"), "[]");
    assert_json(json_object_get(seen, "queue"), "{\"jobs\":1}");
    assert_json(json_object_get(seen, "clients_total"), "5");
    assert_json(json_object_get(seen, "counters"),
                "{\"errors\":{\"internal\":2},\"submitted\":4711}");
    assert_json(json_object_get(seen, "kinds"),
                "{\"rubric\":{\"passed\":4,\"recent\":[{\"queue_ms\":null,\"seconds\":60,"
                "\"wall_clock_ms\":{\"p50\":1.5}}]}}");
    assert_json(json_object_get(seen, "isolation"),
                "{\"layers\":[\"seccomp\"],\"missing\":[{\"layer\":\"cgroup\"}]}");
}

/* Nothing of another client, and nothing that is not known to be harmless. */
static void test_no_secrets(void **state)
{
    static const char *const owns[] = {"aa-", "SECRE-", "bb-", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof(owns) / sizeof(owns[0]); i++) {
        _cleanup_json_ json_t *seen = see(owns[i]);
        char *text = json_dumps(seen, JSON_COMPACT);
        assert_null(strstr(text, "SECRET"));
        assert_null(strstr(text, "666"));
        assert_null(strstr(text, "1000"));
        assert_true((strstr(text, "mine") != NULL) == (i == 0));
        free(text);
    }
}

/* What a daemon of another version sends is no reason to fail. */
static void test_other_forms(void **state)
{
    static const char tangled[] = "{\"slots\":[{\"job\":[\"x\"]}],\"queue\":[1],"
                                  "\"kinds\":[{\"a\":1}],\"type\":{\"a\":\"b\"}}";
    static const char *const odd[] = {
        "{}",
        "{\"slots\":3}",
        "{\"slots\":[3,null,[]],\"last_failures\":{\"id\":\"aa-\"}}",
        tangled,
    };
    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        _cleanup_json_ json_t *value = json_loads(odd[i], 0, NULL);
        _cleanup_json_ json_t *seen = redact_status(value, "aa-");
        assert_true(json_is_object(seen));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_jobs),
        cmocka_unit_test(test_numbers_of_all),
        cmocka_unit_test(test_no_secrets),
        cmocka_unit_test(test_other_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
