/* SPDX-License-Identifier: MIT */
#pragma once
/* Putting a configuration that was changed into force, or saying why not. Part of the supervisor.
 *
 * All that can go wrong does so before anything is changed: files and drop-ins are read and
 * checked, the interpreter is asked for its version, where the confinement changes a jail shows
 * what the host grants, new slots are made. What was admitted before ends under the settings of
 * that time; see settings.h. */

#include "state.h"

#include "conf/change.h"

struct reload {
    bool is_done;
    enum error_code code; /* why it is not */
    char *problem;        /* the same for people, a line or more; owned; NULL: memory ran out */
    struct config_change change;
};

#define RELOAD_NULL                  \
    {                                \
        .change = CONFIG_CHANGE_NULL \
    }

/* Blocks while the interpreter and, perhaps, a jail are started. Logs what has become of it, and
 * tells the service manager. */
void reload_configuration(struct supervisor *supervisor, struct reload *ret);

/* The answer to one that went well. */
int reload_reply(const struct supervisor *supervisor, const struct reload *done, struct bytes *ret);

/* The same for SIGHUP, where nobody waits for the answer. */
void reload_on_signal(struct supervisor *supervisor);

void reload_deinit(struct reload *done);
#define _cleanup_reload_ _cleanup_(reload_deinit)
