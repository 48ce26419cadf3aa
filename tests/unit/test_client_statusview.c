/* SPDX-License-Identifier: MIT */
#include "client/statusview.h"

#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char full[] =
    "{\"type\":\"status\",\"version\":\"0.1.0\",\"protocol\":1,\"pid\":812,\"uptime_ms\":7984000,"
    "\"state\":\"draining\",\"slots\":[{\"slot\":0,\"state\":\"busy\",\"jail_pid\":77,\"job\":"
    "{\"job_no\":1201,\"id\":\"a-long-identifier\\u001b[31m\",\"kind\":\"rubric\",\"label\":"
    "\"sql-answer\",\"client\":3,\"uid\":1000,\"running_ms\":299000,\"remaining_ms\":61000}},"
    "{\"slot\":1,\"state\":\"idle\",\"jail_pid\":78,\"job\":null},{\"slot\":2,\"state\":\"broken\","
    "\"jail_pid\":null,\"job\":null}],\"queue\":{\"jobs\":3,\"jobs_max\":1024,\"bytes\":12300,"
    "\"bytes_max\":67108864},\"clients\":[{\"client\":3,\"uid\":1000,\"gid\":1000,\"pid\":4242,"
    "\"queued\":3,\"running\":1,\"unsent_bytes\":123456,\"paused\":true}],\"clients_total\":140,"
    "\"counters\":{\"submitted\":1203,\"results\":1180,\"passed\":1100,\"failed\":80,\"errors\":"
    "{\"draining\":12,\"internal\":0,\"cancelled\":8}},\"last_failures\":[{\"job_no\":1190,\"id\":"
    "\"q7\",\"kind\":\"rubric\",\"label\":\"exact-match\",\"what\":\"rubric.timeout\","
    "\"ago_ms\":130000}],\"isolation\":{\"class\":\"subprocess\",\"layers\":[\"env\",\"tempdir\","
    "\"rlimits\",\"no_new_privs\",\"subreaper\",\"process_group\",\"landlock\"],\"digest\":"
    "\"0123\","
    "\"missing\":[{\"layer\":\"network\",\"reason\":\"user namespaces are refused\"}]},\"memory\":"
    "{\"rss_bytes\":12900000,\"max_rss_bytes\":15728640}}";

static const char page[] =
    "rubricd 0.1.0: draining, pid 812, up 2 h 13 min\n"
    "memory     12.3 MiB, at most 15.0 MiB so far\n"
    "queue      3 of 1024 jobs, 12.0 KiB of 64.0 MiB\n"
    "jobs       1203 submitted: 1100 passed, 80 failed, 20 errors\n"
    "errors     draining 12, cancelled 8\n"
    "\n"
    "slots: 1 of 3 busy\n"
    "   0  busy     job 1201   sql-answer     a-long-i... 4 min 59 s, 1 min 01 s left\n"
    "   1  idle\n"
    "   2  broken\n"
    "\n"
    "clients: 140\n"
    "   3  uid 1000   pid 4242        3 queued    1 running  120.6 KiB unread  paused\n"
    "      and 139 more (--json lists up to 100)\n"
    "\n"
    "last failures\n"
    "  2 min 10 s ago  job 1190  exact-match  q7\n"
    "    rubric.timeout\n"
    "\n"
    "isolation\n"
    "  class    subprocess\n"
    "  digest   0123\n"
    "  in force env, tempdir, rlimits, no_new_privs, subreaper, process_group,\n"
    "           landlock\n"
    "  missing  network: user namespaces are refused\n";

static char *render(const char *status, bool colour)
{
    _cleanup_json_ json_t *object = json_loads(status, 0, NULL);
    assert_non_null(object);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    statusview_put(out, object, colour);
    (void)fclose(out);
    return text;
}

static void test_full(void **state)
{
    _cleanup_free_ char *text = render(full, false);
    (void)state;
    assert_string_equal(text, page);
}

/* With colour the text is the same, between sequences that all end. */
static void test_colour(void **state)
{
    _cleanup_free_ char *text = render(full, true);
    char *to = text;
    int on = 0;
    (void)state;
    for (const char *from = text; *from;) {
        if (strncmp(from, "\033[", 2) == 0) {
            on += strncmp(from, "\033[0m", 4) == 0 ? -1 : 1;
            from = strchr(from, 'm') + 1;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    assert_int_equal(on, 0);
    assert_string_equal(text, page);
}

static void test_wrong_types(void **state)
{
    static const char *const odd[] = {
        "{}",
        "{\"version\":3,\"slots\":{},\"queue\":[],\"clients\":\"x\",\"counters\":null,"
        "\"last_failures\":7,\"isolation\":[],\"memory\":\"\"}",
        "{\"slots\":[null,3,{\"job\":{}},{\"state\":[]}],\"clients\":[null,{}],\"clients_total\":-"
        "5,"
        "\"last_failures\":[null,{}],\"isolation\":{\"layers\":[3,null],\"missing\":[null,{}]},"
        "\"counters\":{\"errors\":{\"x\":\"y\"}},\"uptime_ms\":-1,\"memory\":{\"rss_bytes\":-7}}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        _cleanup_free_ char *text = render(odd[i], false);
        assert_memory_equal(text, "rubricd ?: ?, pid 0, up 0 ms\n", 29);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_wrong_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
