/* SPDX-License-Identifier: MIT */
#pragma once
/* Compares the configuration in force with one that is to replace it. */

#include "config.h"

/* The keys that differ, each as "section.name", in the order of the table. */
struct config_change {
    struct string_list live;  /* can take effect while the daemon runs */
    struct string_list fixed; /* take effect at the next start only */
};

#define CONFIG_CHANGE_NULL       \
    {                            \
        .live = STRING_LIST_NULL \
    }

/* Lists the keys in which NEXT differs from CURRENT. Resets in NEXT those that cannot change while
 * the daemon runs, so that NEXT says what will really be in force. 0 or -ENOMEM;
 * config_change_deinit() is due either way. */
int config_change_find(const struct config *current, struct config *next,
                       struct config_change *ret);

void config_change_deinit(struct config_change *change);
#define _cleanup_config_change_ _cleanup_(config_change_deinit)
