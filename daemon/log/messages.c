/* SPDX-License-Identifier: MIT */
#include "messages.h"

#include <assert.h>
#include <stddef.h>

/* Made with `systemd-id128 new`. People search for these ids: a released one keeps its meaning. */
static const struct {
    const char *id, *name;
} messages[LOG_MESSAGE_COUNT] = {
    [LOG_MESSAGE_STARTED] = {"bf9e875865da4e0db4edd63331792811", "started"},
    [LOG_MESSAGE_NOT_STARTED] = {"52d3cce89f364e18b0d323f47e75064f", "not_started"},
    [LOG_MESSAGE_RELOADED] = {"d96c48f5b6c84eec8bd8125f16a7ade2", "reloaded"},
    [LOG_MESSAGE_NOT_RELOADED] = {"050679770a224782969977172358e1e7", "not_reloaded"},
    [LOG_MESSAGE_ILL] = {"7dc4718b8da34bbf8b35257106e5a3ef", "ill"},
    [LOG_MESSAGE_DRAINING] = {"e901e529c88a4cc3b4db39e243ca490d", "draining"},
    [LOG_MESSAGE_GRACE_OVER] = {"cc38dbd302a84cac9ce7c255e020896f", "grace_over"},
    [LOG_MESSAGE_STOPPED] = {"71ff126957e840f68c584b8bf051b31a", "stopped"},
    [LOG_MESSAGE_JOB_VERDICT] = {"22e6dcfae5a64f34926a7399b6d5983b", "job_verdict"},
    [LOG_MESSAGE_JOB_ERROR] = {"8fa39225900b471b937ba5b3652bda90", "job_error"},
    [LOG_MESSAGE_JAIL_LOST] = {"f096f34c558d4da791bb33b6906a0954", "jail_lost"},
    [LOG_MESSAGE_JAIL_NOT_STARTED] = {"11ea4fb23b6f44219af44bc1f50e1dc8", "jail_not_started"},
    [LOG_MESSAGE_ZYGOTE_LOST] = {"ac3bfe0d9a854b42809fc64a54f30625", "zygote_lost"},
    [LOG_MESSAGE_CGROUPS_UNUSABLE] = {"5c0d1dd94556417e8f16577fca78e813", "cgroups_unusable"},
    [LOG_MESSAGE_CGROUP_LEFT] = {"acac8aac50454e6aaba74a1d31937914", "cgroup_left"},
    [LOG_MESSAGE_OUTPUT_HELD] = {"4f1f5c43c09043dfbc66edbc64604f79", "output_held"},
    [LOG_MESSAGE_CLIENT_DISMISSED] = {"992bf4cd52164072a64c86c9ac755d2b", "client_dismissed"},
    [LOG_MESSAGE_CLIENT_REFUSED] = {"1fba1cc7b06543bb83c2703de4ce0f69", "client_refused"},
    [LOG_MESSAGE_DROPPED] = {"e4ad60b08ab8410facb73dc573c440f9", "dropped"},
    [LOG_MESSAGE_SESSION_OPENED] = {"8cfabb2b619a4620be2e0629c6fd6501", "session_opened"},
    [LOG_MESSAGE_SESSION_ENDED] = {"2c48c8ef74d24d30af0741aa6b0e2569", "session_ended"},
};

const char *log_message_id(enum log_message message)
{
    assert(message < LOG_MESSAGE_COUNT);
    return messages[message].id;
}

const char *log_message_name(enum log_message message)
{
    assert(message < LOG_MESSAGE_COUNT);
    return messages[message].name;
}
