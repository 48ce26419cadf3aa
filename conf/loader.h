/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads files into a struct config and remembers where each key came from. Private to conf/. */

#include "config_data.h"
#include "keys.h"
#include "lines.h"
#include "problems.h"

/* Where a key was set last. */
struct origin {
    const char *file; /* one of loader.files; NULL: nowhere */
    unsigned line;
    unsigned order; /* counts all settings from 1; 0: none */
    bool refused;   /* its value was a mistake */
};

struct loader {
    struct config *config;
    struct config_problems *problems;
    struct origin *origin; /* one per key of the table */
    struct string_list files;
    unsigned order;
    struct lines lines;
    bool pending; /* libinih has got a line and has not called take_pair for it */
    int error;    /* 0, -EINVAL once there is a problem, -ENOMEM */
};

/* CONFIG and PROBLEMS stay the caller's. Returns 0 or -ENOMEM; loader_deinit is due either way. */
int loader_init(struct loader *loader, struct config *config, struct config_problems *problems);
void loader_deinit(struct loader *loader);
#define _cleanup_loader_ _cleanup_(loader_deinit)

/* All three report into loader->problems and loader->error. */
void loader_read_file(struct loader *loader, const char *path, bool must_exist);
void loader_read_drop_ins(struct loader *loader, const char *path);
void loader_read_settings(struct loader *loader, const char *const *settings, size_t n);

/* Where KEY was set last. */
struct origin *loader_origin(struct loader *loader, const struct config_key *key);

/* Adds a mistake at LINE of FILE, 0 for the file as a whole. SECTION and NAME may be NULL. */
_printf_(6, 7) void loader_report(struct loader *loader, const char *file, unsigned line,
                                  const char *section, const char *name, const char *format, ...);
