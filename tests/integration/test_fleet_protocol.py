# SPDX-License-Identifier: MIT
"""The daemon's own tests of its protocol, against `fleet serve` in front of a fleet of one daemon. Left out are
tests of what a fleet refuses (sessions, terminals, output as it comes), of a daemon's configuration, of counts and numbers
since a daemon's start, and of jobs that a daemon answers before it reads the next message because nothing runs."""

import pytest
from fleet_hosts import need_fleet
from fleet_serve import FleetDaemon

need_fleet()

from test_cancel import (  # noqa: E402, F401
    test_a_running_job,
    test_at_every_moment_of_a_jobs_life,
    test_rubricctl_cancels_by_number,
    test_rubricctl_cancels_nothing_if_a_number_is_none,
    test_what_does_not_run_cannot_be_cancelled,
)
from test_clients import (  # noqa: E402, F401
    test_full_close_of_a_half_closed_client,
    test_half_close_with_nothing_to_wait_for,
    test_many_clients_that_go_away_at_every_moment,
)
from test_protocol import (  # noqa: E402, F401
    test_a_bad_value_costs_its_own_job_alone,
    test_a_field_of_submit_at_its_bounds,
    test_a_field_of_submit_that_is_wrong,
    test_a_frame_without_its_end_and_then_close,
    test_a_frame_without_its_end_and_then_half_close,
    test_a_length_above_the_maximum,
    test_a_type_that_is_none,
    test_an_id_in_use_is_refused_until_its_job_is_answered,
    test_an_id_is_an_unknown_field_where_nothing_needs_one,
    test_an_id_is_echoed_exactly,
    test_an_id_of_a_queued_job_is_in_use_too,
    test_an_id_of_a_wrong_length,
    test_an_id_that_is_unsure_is_left_out,
    test_exactly_the_maximum,
    test_ids_of_running_jobs_are_told_apart_and_echoed,
    test_json_as_deep_as_may_be_is_graded,
    test_json_of_the_built_in_selection,
    test_length_0,
    test_messages_whose_id_is_unusable_are_answered_without_one,
    test_numbers_and_strings_reach_the_rubric_unchanged,
    test_one_connection_survives_all_of_it,
    test_split_at_every_position,
    test_the_end_of_one_frame_comes_with_the_beginning_of_the_next,
)


@pytest.fixture(scope="module", name="daemon")
def start_shared_daemon(tmp_path_factory):
    daemon = FleetDaemon(tmp_path_factory.mktemp("shared"))
    yield daemon
    assert daemon.stop() == 0, daemon.log()


@pytest.fixture
def client(daemon):
    with daemon.connect() as connected:
        yield connected
