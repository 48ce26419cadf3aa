/* SPDX-License-Identifier: MIT */
#pragma once
/* Puts a changed configuration into force, or says why not.
 *
 * Every step that can fail comes before the first change: read and check the files and drop-ins,
 * ask the interpreter for its version, probe what the host grants to a jail if the confinement
 * changes, make new slots. A job that was admitted before a reload ends under the settings that it
 * was admitted with (settings.h). */

#include "state.h"

#include "conf/change.h"

struct reload {
    bool is_done;
    enum error_code code; /* unless it is done: why not */
    char *problem;        /* the same for people, one line or more; owned; NULL: memory ran out */
    struct config_change change;
};

#define RELOAD_NULL                  \
    {                                \
        .change = CONFIG_CHANGE_NULL \
    }

/* Reloads, logs the outcome and tells the service manager. Blocks while the interpreter and, if the
 * confinement changes, a jail are started. */
void reload_configuration(struct supervisor *supervisor, struct reload *ret);

/* Prints the reply to a reload that is done. 0 or -ENOMEM. */
int reload_reply(const struct supervisor *supervisor, const struct reload *done, struct bytes *ret);

/* Reloads on SIGHUP, where nobody waits for a reply. */
void reload_on_signal(struct supervisor *supervisor);

void reload_deinit(struct reload *done);
#define _cleanup_reload_ _cleanup_(reload_deinit)
