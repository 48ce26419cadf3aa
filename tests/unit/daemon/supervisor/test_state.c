/* SPDX-License-Identifier: MIT */
/* Tests the transitions between phases, and the list of connections. */
#include "daemon/supervisor/state.h"
#include "tests/unit/caught.h"

static const enum phase phases[] = {PHASE_RUNNING, PHASE_REFUSING, PHASE_DRAINING, PHASE_KILLING,
                                    PHASE_STOPPING};

static void phases_that_may_follow(void **state)
{
    static const bool legal[ARRAY_SIZE(phases)][ARRAY_SIZE(phases)] = {
        [PHASE_RUNNING] = {[PHASE_REFUSING] = true, [PHASE_DRAINING] = true},
        [PHASE_REFUSING] = {[PHASE_DRAINING] = true},
        [PHASE_DRAINING] = {[PHASE_KILLING] = true, [PHASE_STOPPING] = true},
        [PHASE_KILLING] = {[PHASE_STOPPING] = true},
    };
    static struct supervisor supervisor;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(phases); i++)
        for (size_t k = 0; k < ARRAY_SIZE(phases); k++) {
            supervisor.phase = phases[i];
            if (aborts(state_enter(&supervisor, phases[k]), !legal[i][k]) == legal[i][k])
                fail_msg("from %zu to %zu", i, k);
        }
}

static void what_phases_mean(void **state)
{
    static struct supervisor supervisor;
    (void)state;
    supervisor.phase = PHASE_RUNNING;
    assert_false(state_refuses_jobs(&supervisor));
    assert_false(state_is_draining(&supervisor));
    state_enter(&supervisor, PHASE_REFUSING);
    assert_true(state_refuses_jobs(&supervisor));
    assert_false(state_is_draining(&supervisor));
    state_enter(&supervisor, PHASE_DRAINING);
    assert_true(state_refuses_jobs(&supervisor));
    assert_true(state_is_draining(&supervisor));
    state_enter(&supervisor, PHASE_STOPPING);
    assert_true(state_refuses_jobs(&supervisor));
    assert_true(state_is_draining(&supervisor));
}

static void connections_are_counted(void **state)
{
    static struct supervisor supervisor;
    struct conn first = {.number = 1}, second = {.number = 2};
    (void)state;
    TAILQ_INIT(&supervisor.conns);
    state_add_conn(&supervisor, &first);
    state_add_conn(&supervisor, &second);
    assert_int_equal(supervisor.conn_count, 2);
    state_remove_conn(&supervisor, &first);
    assert_int_equal(supervisor.conn_count, 1);
    assert_ptr_equal(TAILQ_FIRST(&supervisor.conns), &second);
    assert_caught(state_remove_conn(&supervisor, &first)); /* not in the list */
    assert_not_caught(state_enter(&supervisor, PHASE_REFUSING));
    supervisor.conn_count++;
    assert_caught(state_enter(&supervisor, PHASE_REFUSING));
    supervisor.conn_count--;
    state_remove_conn(&supervisor, &second);
    assert_int_equal(supervisor.conn_count, 0);
    assert_true(TAILQ_EMPTY(&supervisor.conns));
}

/* Only a group with the controller bounds the memory of jobs. */
static void settings_know_the_control_groups(void **state)
{
    static struct supervisor supervisor;
    (void)state;
    fault_set(&supervisor.no_cgroups, "there are none");
    for (int i = 0; i < 4; i++) {
        supervisor.cgroups.fd = i & 1 ? 5 : -1;
        supervisor.cgroups.has[CGROUP_MEMORY] = i & 2;
        const struct settings_host host = state_host(&supervisor);
        assert_int_equal(host.bounds_memory, i == 3);
        assert_string_equal(host.no_cgroups ? host.no_cgroups : "", i & 1 ? "" : "there are none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_that_may_follow),
        cmocka_unit_test(what_phases_mean),
        cmocka_unit_test(connections_are_counted),
        cmocka_unit_test(settings_know_the_control_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
