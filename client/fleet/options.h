/* SPDX-License-Identifier: MIT */
#pragma once
/* The options that every command of rubricctl-fleet takes. */

#include "bus.h"

#include "client/cli/options.h"

struct fleet_globals {
    struct globals base; /* the first member: commands of rubricctl take a pointer to it */
    struct bus_options bus;
};

enum { FLEET_OPTIONS = 12 };
extern const struct option_spec fleet_options[FLEET_OPTIONS];

/* Returns what GLOBALS, which a command got, is a part of. */
static inline const struct fleet_globals *fleet_globals_of(const struct globals *globals)
{
    return (const struct fleet_globals *)(const void *)globals; /* BASE is the first member */
}
