/* SPDX-License-Identifier: MIT */
#pragma once
/* The table of paths. */

#include "exchange.h"

struct route {
    const char *path;
    bool is_post; /* otherwise GET, and HEAD */
    bool lines;   /* takes NDJSON, too */
    enum reply_api api;
    int (*start)(struct exchange *exchange);
};

/* Returns NULL if there is no such path. */
const struct route *route_find(const char *path);

/* Returns the path that may have been meant by PATH, which there is not; NULL if none is near. */
const char *route_meant(const char *path);

/* Whether the route takes METHOD. */
bool route_takes(const struct route *route, const char *method);

/* What the header Allow says of it. */
const char *route_allow(const struct route *route);
