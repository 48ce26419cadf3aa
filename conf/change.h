/* SPDX-License-Identifier: MIT */
#pragma once
/* What differs between the configuration in force and one that is to take its place. */

#include "config.h"

/* Which keys, each as "section.name", in the order of the table. */
struct config_change {
    struct string_list live;  /* may take effect while the daemon runs */
    struct string_list fixed; /* only at its next start */
};

#define CONFIG_CHANGE_NULL       \
    {                            \
        .live = STRING_LIST_NULL \
    }

/* Compares NEXT with CURRENT, key by key. What cannot change while the daemon runs is set back in
 * NEXT to what it is in CURRENT: NEXT then says what is really in force. 0 or -ENOMEM;
 * config_change_deinit() frees what there is either way. */
int config_change_find(const struct config *current, struct config *next,
                       struct config_change *ret);

void config_change_deinit(struct config_change *change);
#define _cleanup_config_change_ _cleanup_(config_change_deinit)
