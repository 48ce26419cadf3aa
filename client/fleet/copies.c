/* SPDX-License-Identifier: MIT */
#include "copies.h"

#include <stdio.h>

void copies_add(const jsStreamInfo *info, json_t *ret)
{
    const jsClusterInfo *cluster = info->Cluster;
    for (int i = 0; cluster && i < cluster->ReplicasLen; i++) {
        const jsPeerInfo *copy = cluster->Replicas[i];
        if (copy->Current && !copy->Offline)
            continue;
        json_t *entry =
            json_pack("{s:s,s:s,s:b,s:I}", "stream", info->Config->Name, "server", copy->Name,
                      "away", copy->Offline, "behind", (json_int_t)copy->Lag);
        if (entry)
            (void)json_array_append_new(ret, entry);
    }
}

void copies_put(const json_t *copies)
{
    for (size_t i = 0; i < json_array_size(copies); i++) {
        const json_t *copy = json_array_get(copies, i);
        const char *server = json_string_value(json_object_get(copy, "server"));
        const char *stream = json_string_value(json_object_get(copy, "stream"));
        if (json_is_true(json_object_get(copy, "away")))
            (void)printf("NATS server %s is away: its copy of %s gets old\n", server, stream);
        else
            (void)printf("NATS server %s: its copy of %s is %lld changes behind; if it stays so, "
                         "restart that server\n",
                         server, stream,
                         (long long)json_integer_value(json_object_get(copy, "behind")));
    }
}
