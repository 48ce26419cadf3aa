/* SPDX-License-Identifier: MIT */
#include "confinement.h"
#include "isolation.h"

#include <stdio.h>

static int copy_paths(struct confinement *confinement, const struct string_list *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        int r = string_list_add(&confinement->readable, paths->item[i]);
        if (r < 0)
            return r;
    }
    confinement->jail.readable = (const char *const *)confinement->readable.item;
    confinement->jail.readable_count = confinement->readable.count;
    return 0;
}

int confinement_new(const struct config *config, int program, const char *no_cgroups,
                    const char *directory, struct confinement **ret, struct fault *fault)
{
    uint32_t without;
    int r = isolation_without(config, &without, fault);
    if (r < 0)
        return r;
    struct confinement *confinement = calloc(1, sizeof(*confinement));
    if (!confinement) {
        fault_set(fault, "out of memory");
        return -ENOMEM;
    }
    *confinement = (struct confinement){
        .references = 1,
        .jail = {.program = program},
        .probe = PROBE_NULL,
    };
    r = copy_paths(confinement, &config->readable);
    if (r < 0)
        fault_set(fault, "out of memory");
    else
        r = probe_jails(&confinement->probe, &confinement->jail, without, no_cgroups, directory,
                        fault);
    if (r < 0)
        confinement_unref(confinement);
    else
        *ret = confinement;
    return r;
}

struct confinement *confinement_ref(struct confinement *confinement)
{
    confinement->references++;
    return confinement;
}

struct confinement *confinement_unref(struct confinement *confinement)
{
    if (confinement && --confinement->references == 0) {
        probe_deinit(&confinement->probe);
        string_list_deinit(&confinement->readable);
        free(confinement);
    }
    return NULL;
}

void confinement_replace(struct confinement **at, struct confinement *confinement)
{
    struct confinement *before = *at;
    *at = confinement_ref(confinement);
    confinement_unref(before);
}

const struct jail_shape *confinement_shape(const struct confinement *confinement, bool networked)
{
    return networked ? &confinement->probe.networked : &confinement->probe.shape;
}

int confinement_spawn(const struct confinement *confinement, bool networked,
                      const char *work_directory, unsigned index, struct jailproc *ret)
{
    char directory[4096];
    int n = snprintf(directory, sizeof(directory), "%s/slot-%u", work_directory, index);
    if (n >= (int)sizeof(directory))
        return -ENAMETOOLONG;
    return jailproc_spawn(&confinement->jail, confinement_shape(confinement, networked), directory,
                          ret);
}
