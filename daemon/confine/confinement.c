/* SPDX-License-Identifier: MIT */
#include "confinement.h"
#include "isolation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static int copy(const struct string_list *list, struct string_list *ret)
{
    int r = 0;
    for (size_t i = 0; i < list->count && r == 0; i++)
        r = string_list_add(ret, list->item[i]);
    return r;
}

static int copy_paths(struct confinement *confinement, const struct string_list *paths)
{
    int r = copy(paths, &confinement->readable);
    confinement->jail.readable = (const char *const *)confinement->readable.item;
    confinement->jail.readable_count = confinement->readable.count;
    return r;
}

/* Configures the interpreter that waits in the jails; it is started as rubrics and the checker
 * are. */
static int add_interpreter(struct confinement *confinement, const struct config *config,
                           const struct confinement_host *host)
{
    int r = string_list_add(&confinement->interpreter, config->interpreter);
    if (r == 0)
        r = string_list_add(&confinement->interpreter, "-s");
    if (r == 0)
        r = string_list_add(&confinement->interpreter, "-B");
    if (r == 0)
        r = copy(&config->warm_modules, &confinement->modules);
    confinement->environment = isolation_environment(config);
    confinement->version = strdup(host->interpreter);
    if (r < 0 || !confinement->environment || !confinement->version)
        return -ENOMEM;
    confinement->jail.program = host->warm_program;
    confinement->jail.argv = (const char *const *)confinement->interpreter.item;
    confinement->jail.envp = (const char *const *)confinement->environment;
    confinement->jail.modules = (const char *const *)confinement->modules.item;
    confinement->jail.version = confinement->version;
    return 0;
}

/* Probes with a jail that has an interpreter, and with one that has none if the former does not
 * start. */
static int probe(struct confinement *confinement, const struct config *config,
                 const struct confinement_host *host, uint32_t without, const char *directory,
                 struct fault *fault)
{
    struct probe *found = &confinement->probe;
    const char *because = config->warm == CONFIG_WARM_NO ? "switched off by [warm] use"
                          : host->warm_program == -ENOENT
                              ? "rubricd-jail-warm does not stand beside rubricd-jail"
                          : host->warm_program < 0 ? strerror(-host->warm_program)
                                                   : NULL;
    if (!because) {
        if (probe_jails(found, &confinement->jail, without, host->no_cgroups, directory, fault) ==
            0)
            return 0;
        because = "rubricd-jail-warm does not start: is its libpython installed?";
        probe_deinit(found);
        confinement->jail = (struct jailproc_config){
            .program = host->jail_program,
            .readable = confinement->jail.readable,
            .readable_count = confinement->jail.readable_count,
        };
    }
    int r = probe_jails(found, &confinement->jail, without, host->no_cgroups, directory, fault);
    (void)snprintf(found->cold_because, sizeof(found->cold_because), "%s", because);
    return r;
}

int confinement_new(const struct config *config, const struct confinement_host *host,
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
        .jail = {.program = host->jail_program},
        .probe = PROBE_NULL,
    };
    r = copy_paths(confinement, &config->readable);
    if (r == 0 && config->warm != CONFIG_WARM_NO && host->warm_program >= 0)
        r = add_interpreter(confinement, config, host);
    if (r < 0)
        fault_set(fault, "out of memory");
    else
        r = probe(confinement, config, host, without, directory, fault);
    if (r < 0)
        confinement_unref(confinement);
    else
        *ret = confinement;
    return r;
}

struct confinement *confinement_ref(struct confinement *confinement)
{
    assert(confinement->references > 0);
    confinement->references++;
    return confinement;
}

struct confinement *confinement_unref(struct confinement *confinement)
{
    assert(!confinement || confinement->references > 0);
    if (confinement && --confinement->references == 0) {
        probe_deinit(&confinement->probe);
        string_list_deinit(&confinement->readable);
        string_list_deinit(&confinement->interpreter);
        string_list_deinit(&confinement->modules);
        isolation_environment_free(confinement->environment);
        free(confinement->version);
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
