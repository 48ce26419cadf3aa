/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads files into a struct config and remembers where each key was set. Private to conf/. */

#include "config_data.h"
#include "keys.h"
#include "lines.h"
#include "problems.h"

/* The last place that set a key. */
struct origin {
    const char *file; /* one of loader.files; NULL: the key has its default */
    unsigned line;
    unsigned order; /* numbers all settings from 1; 0: the key has its default */
    bool refused;   /* the value was a mistake, and the key kept its former one */
};

struct loader {
    struct config *config;
    struct config_problems *problems;
    struct origin *origin; /* one per key of the table */
    struct string_list files;
    unsigned order;
    struct lines lines;
    bool pending; /* libinih was given a line and has not called take_pair for it */
    int error;    /* 0; -EINVAL once there is a problem; -ENOMEM */
};

/* Borrows CONFIG and PROBLEMS. Returns 0 or -ENOMEM; loader_deinit is due either way. */
int loader_init(struct loader *loader, struct config *config, struct config_problems *problems);
void loader_deinit(struct loader *loader);
#define _cleanup_loader_ _cleanup_(loader_deinit)

/* Each of the three adds mistakes to loader->problems and sets loader->error. */
void loader_read_file(struct loader *loader, const char *path, bool must_exist);
void loader_read_drop_ins(struct loader *loader, const char *path);
void loader_read_settings(struct loader *loader, const char *const *settings, size_t n);

/* Returns the last place that set KEY. */
struct origin *loader_origin(struct loader *loader, const struct config_key *key);

/* Adds a mistake at LINE of FILE; 0 means the file as a whole. SECTION and NAME may be NULL. */
_printf_(6, 7) void loader_report(struct loader *loader, const char *file, unsigned line,
                                  const char *section, const char *name, const char *format, ...);
