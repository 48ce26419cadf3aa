/* SPDX-License-Identifier: MIT */
#include "route.h"
#include "info.h"
#include "jobs.h"
#include "program.h"

#include "conf/suggest.h"

#include <string.h>

static const struct route table[] = {
    {"/v1/jobs", true, true, REPLY_OWN, jobs_start},
    {"/v1/status", false, false, REPLY_OWN, info_status},
    {"/metrics", false, false, REPLY_OWN, info_metrics},
    {"/healthz", false, false, REPLY_OWN, info_health},
    {"/run_code", true, false, REPLY_FUSION, program_start_fusion},
    {"/api/v2/runtimes", false, false, REPLY_PISTON, info_runtimes},
    {"/api/v2/execute", true, false, REPLY_PISTON, program_start_piston},
};

const struct route *route_find(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (strcmp(table[i].path, path) == 0)
            return &table[i];
    return NULL;
}

const char *route_meant(const char *path)
{
    const char *paths[ARRAY_SIZE(table)];
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        paths[i] = table[i].path;
    return suggest(path, paths, ARRAY_SIZE(table));
}

bool route_takes(const struct route *route, const char *method)
{
    if (route->is_post)
        return strcmp(method, MHD_HTTP_METHOD_POST) == 0;
    return strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
}

const char *route_allow(const struct route *route)
{
    return route->is_post ? "POST" : "GET, HEAD";
}
