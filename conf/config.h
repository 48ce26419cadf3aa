/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the configuration of the daemon: a file, its drop-ins and --set, into a struct config.
 *
 * Room conf: what operators and users write: configuration files and command lines. It turns them
 * into plain data and says what is wrong with them; it knows neither jobs nor connections. It may
 * include proto.
 *
 * Invariants:
 *  - A struct config that loaded holds no value out of its bounds and no two that contradict.
 *  - A mistake never ends the reading: all mistakes are found in one run, each with file and line.
 *  - A key is one row of the table in keys.c; an option is one row of its program's table
 *    (optionspec.h). Parser, help, completions and man pages are made from these tables.
 *
 * Inside, from the bottom: value, address, lines, string_list, suggest; config_data (the struct),
 * types, keys; problems, loader; config, change. optparse and layout serve the command lines. */

#include "config_data.h"
#include "problems.h"

/* Sets every field to its default, whatever CONFIG held. Returns 0 or -ENOMEM; config_deinit is
 * due either way. */
int config_init(struct config *config);

/* Frees everything. CONFIG may be CONFIG_NULL or half built. */
void config_deinit(struct config *config);
#define _cleanup_config_ _cleanup_(config_deinit)

/* Reads PATH, then PATH.d/ *.conf in the order of strverscmp (9-a before 10-b), skipping hidden
 * files, and then the N SETTINGS of the command line, each SECTION.KEY=VALUE, whose mistakes are
 * named --set:1, --set:2 and so on. A later value of a key wins. CONFIG has been through
 * config_init; keys that nothing sets keep their values. PATH may be missing unless MUST_EXIST, and
 * PATH.d always; with PATH NULL no file is read.
 *
 * Returns 0; or -EINVAL with every mistake of all files added to PROBLEMS, in the order of
 * reading, contradictions between keys last; or -ENOMEM. After a failure CONFIG is good for
 * config_deinit only. */
int config_load(struct config *config, const char *path, bool must_exist,
                const char *const *settings, size_t n, struct config_problems *problems);

/* The arguments of config_load(), kept so that a reload can read the same sources again. */
struct config_source {
    const char *path;
    bool must_exist;
    const char *const *settings;
    size_t setting_count;
};
