/* SPDX-License-Identifier: MIT */
#include "client/fleet/copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_those_that_lag_or_are_away(void **state)
{
    static char stream[] = "f-jobs", names[3][3] = {"n0", "n1", "n2"};
    jsPeerInfo current = {.Name = names[0], .Current = true};
    jsPeerInfo lagging = {.Name = names[1], .Lag = 72};
    jsPeerInfo away = {.Name = names[2], .Current = true, .Offline = true};
    jsPeerInfo *copies[] = {&current, &lagging, &away};
    jsClusterInfo cluster = {.Replicas = copies, .ReplicasLen = 3};
    jsStreamConfig config = {.Name = stream};
    jsStreamInfo info = {.Config = &config, .Cluster = &cluster};
    json_t *found = json_array();
    json_t *wanted = json_pack("[{s:s,s:s,s:b,s:i},{s:s,s:s,s:b,s:i}]", "stream", "f-jobs",
                               "server", "n1", "away", 0, "behind", 72, "stream", "f-jobs",
                               "server", "n2", "away", 1, "behind", 0);
    (void)state;
    copies_add(&info, found);
    assert_true(json_equal(found, wanted));
    json_decref(found);
    json_decref(wanted);
}

static void test_a_server_alone(void **state)
{
    jsStreamInfo info = {.Cluster = NULL};
    json_t *found = json_array();
    (void)state;
    copies_add(&info, found);
    assert_int_equal(json_array_size(found), 0);
    json_decref(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_those_that_lag_or_are_away),
        cmocka_unit_test(test_a_server_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
