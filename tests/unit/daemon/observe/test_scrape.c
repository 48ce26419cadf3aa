/* SPDX-License-Identifier: MIT */
/* Tests which format a scraper gets. The integration tests cover HTTP itself. */
#include "daemon/observe/scrape.h"
#include "proto/util.h"
#include "tests/unit/files.h"
#include "tests/unit/scarce.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OM "application/openmetrics-text"

static void openmetrics(void **state)
{
    static const char *const accepts[] = {
        /* what Prometheus 2 and 3 send */
        OM ";version=1.0.0," OM ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        OM ";version=1.0.0;escaping=allow-utf-8;q=0.5," OM ";version=0.0.1;q=0.4,"
           "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,"
           "*/*;q=0.1",
        OM,
        OM "; version=1.0.0; charset=utf-8",
        "text/html, " OM,
        "text/plain, " OM,
        "text/plain;q=0.5\t, " OM " ; q=0.5",
        "Application/OpenMetrics-Text;Q=1",
        ",," OM,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(accepts); i++)
        if (scrape_negotiate(accepts[i]) != EXPOSITION_OPENMETRICS)
            fail_msg("%s", accepts[i]);
}

static void the_older_format(void **state)
{
    static const char *const accepts[] = {
        NULL,
        "",
        "*/*",
        "text/plain",
        "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;q=0.7,"
        "text/plain;version=0.0.4;q=0.3",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        OM ";q=0",
        OM ";version=1.0.0;q=0.0",
        OM ";q=0.4, text/plain;q=0.5",
        OM ";q=-1",
        OM ";q=7",
        OM ";q=x",
        OM "x",
        "x" OM,
        "application/openmetrics",
        ";;;,,;q=,",
        "q=1",
        ";" OM,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(accepts); i++)
        if (scrape_negotiate(accepts[i]) != EXPOSITION_PROMETHEUS)
            fail_msg("%s", accepts[i] ? accepts[i] : "nothing");
}

/* However early memory runs out: it is told unless libevent can do without, and nothing is left. */
static void out_of_memory(void **state)
{
    static struct log log;
    char path[64], listen[80];
    bool has_failed = true;
    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/test_scrape.%d", (int)getpid());
    (void)snprintf(listen, sizeof(listen), "unix:%s", path);
    const struct scrape_config config = {.listen = listen, .group = ""};
    log_init(&log, LOG_WARNING, CONFIG_LOG_PLAIN);
    event_set_mem_functions(scarce_malloc, realloc, free);
    allocations_left = 1000;
    struct event_base *base = event_base_new();
    assert_non_null(base);
    size_t descriptors = count_descriptors();
    for (int successes = 0; has_failed; successes++) {
        struct scrape scrape;
        struct fault fault = FAULT_NULL;
        allocations_left = successes;
        int r = scrape_init(&scrape, base, &log, &config, &fault);
        if (r < 0) {
            assert_int_equal(r, -ENOMEM);
            assert_string_equal(fault.text, "[metrics] listen: out of memory");
        }
        assert_true(r < 0 || scrape.listener);
        has_failed = allocations_left < 0;
        allocations_left = 1000;
        scrape_deinit(&scrape);
        assert_int_equal(count_descriptors(), descriptors);
        assert_int_equal(access(path, F_OK), -1);
    }
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openmetrics),
        cmocka_unit_test(the_older_format),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
