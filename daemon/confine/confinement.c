/* SPDX-License-Identifier: MIT */
#include "confinement.h"
#include "isolation.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int copy(const struct string_list *list, struct string_list *ret)
{
    int r = 0;
    for (size_t i = 0; i < list->count && r == 0; i++)
        r = string_list_add(ret, list->item[i]);
    return r;
}

/* A private daemon runs jobs for its own user, on whose files they often work. */
static int take_idmap(struct confinement *confinement, const struct config *config,
                      const struct confinement_host *host)
{
    struct jailproc_config *jail = &confinement->plain;
    if (host->is_private)
        jail->no_idmap = "a private daemon leaves jobs its own uid";
    else if (!*config->idmap_socket)
        jail->no_idmap = "[isolation] idmap_socket names no helper";
    else if (!(confinement->idmap = strdup(config->idmap_socket)))
        return -ENOMEM;
    jail->idmap = confinement->idmap;
    return 0;
}

/* All jobs see what [isolation] readable names and what any language needs. */
static int copy_paths(struct confinement *confinement, const struct config *config)
{
    int r = isolation_readable(config, &confinement->readable);
    confinement->plain.readable = (const char *const *)confinement->readable.item;
    confinement->plain.readable_count = confinement->readable.count;
    confinement->jail = confinement->plain;
    return r;
}

/* Configures the interpreter that waits in the jails; it is started as rubrics and the checker
 * are. */
static int add_interpreter(struct confinement *confinement, const struct config *config,
                           const struct confinement_host *host, const char *version)
{
    int r = string_list_add(&confinement->interpreter, config->interpreter);
    if (r == 0)
        r = string_list_add(&confinement->interpreter, "-s");
    if (r == 0)
        r = string_list_add(&confinement->interpreter, "-B");
    if (r == 0)
        r = copy(&config->warm_modules, &confinement->modules);
    confinement->environment = isolation_environment(config);
    confinement->version = strdup(version);
    if (r < 0 || !confinement->environment || !confinement->version)
        return -ENOMEM;
    /* Without it, each jail loads the code when its first pair comes. */
    confinement->code = fcntl(host->code, F_DUPFD_CLOEXEC, 0);
    confinement->jail.program = host->warm_program;
    confinement->jail.argv = (const char *const *)confinement->interpreter.item;
    confinement->jail.envp = (const char *const *)confinement->environment;
    confinement->jail.modules = (const char *const *)confinement->modules.item;
    confinement->jail.version = confinement->version;
    confinement->jail.code = confinement->code;
    return 0;
}

/* --- the probe ----------------------------------------------------------------------------- */

/* What a probe is made with. */
struct query {
    const struct config *config;
    const struct confinement_host *host;
    uint32_t without;
    const char *directory;
};

static int ask(struct confinement *confinement, const struct jailproc_config *jail,
               const struct query *query, struct fault *fault)
{
    probe_deinit(&confinement->probe);
    return probe_jails(&confinement->probe, jail, query->without, query->host->no_cgroups,
                       query->directory, fault);
}

/* Jobs must be where they cannot reach the zygote, and the jails see what its interpreter saw. */
static bool may_have_zygote(const struct probe *probe)
{
    return layer_in(probe->layers, LAYER_PID_NAMESPACE) &&
           layer_in(probe->layers, LAYER_MOUNT_NAMESPACE);
}

static void note_cold(struct confinement *confinement, const char *because)
{
    confinement->jail = confinement->plain;
    (void)snprintf(confinement->probe.cold_because, sizeof(confinement->probe.cold_because), "%s",
                   because);
}

/* Finds out by a zygote whether an interpreter can wait in jails whose layers are known. Returns
 * false if no zygote can be had. */
static bool try_zygote(struct confinement *confinement, const struct query *query)
{
    struct probe *found = &confinement->probe;
    if (!may_have_zygote(found))
        return false;
    struct zygote *zygote = zygote_new(&confinement->jail, query->config->work_dir);
    if (!zygote)
        return false;
    confinement->zygote = zygote;
    confinement->is_lazy = query->host->is_private && query->config->warm == CONFIG_WARM_AUTO;
    found->is_warm = confinement->is_lazy || zygote_await(zygote);
    if (!found->is_warm && zygote->is_interpreter_bad) {
        note_cold(confinement, zygote->reason);
        confinement->zygote = zygote_free(zygote);
        return true;
    }
    return found->is_warm;
}

/* Finds out whether an interpreter can wait in jails: by a zygote, or by a jail that starts its
 * own. */
static int probe_interpreter(struct confinement *confinement, const struct query *query,
                             struct fault *fault)
{
    const int program = query->host->warm_program;
    const char *because = query->config->warm == CONFIG_WARM_NO ? "switched off by [warm] use"
                          : program == -ENOENT
                              ? "rubricd-jail-warm does not stand beside rubricd-jail"
                          : program < 0 ? strerror(-program)
                                        : NULL;
    int r = 0;
    if (!because &&
        (try_zygote(confinement, query) || ask(confinement, &confinement->jail, query, fault) == 0))
        return 0;
    if (!because) {
        because = "rubricd-jail-warm does not start: is its libpython installed?";
        confinement->zygote = zygote_free(confinement->zygote);
        r = ask(confinement, &confinement->plain, query, fault);
    }
    note_cold(confinement, because);
    return r;
}

/* --- the object ---------------------------------------------------------------------------- */

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
        .probe = PROBE_NULL,
        .plain = {.bounds_memory = host->bounds_memory, .code = -1},
        .code = -1,
    };
    const struct query query = {config, host, without, directory};
    r = take_idmap(confinement, config, host);
    if (r == 0)
        r = copy_paths(confinement, config);
    confinement->plain.program = confinement->jail.program = host->jail_program;
    if (r < 0)
        fault_set(fault, "out of memory");
    else
        r = ask(confinement, &confinement->plain, &query, fault);
    if (r < 0) {
        confinement_unref(confinement);
        return r;
    }
    confinement->jail.zygote_has_uids = layer_in(confinement->probe.layers, LAYER_OWN_UID);
    *ret = confinement;
    return 0;
}

int confinement_warm_up(struct confinement *confinement, const struct config *config,
                        const struct confinement_host *host, const char *version,
                        const char *directory, struct fault *fault)
{
    struct query query = {config, host, 0, directory};
    int r = isolation_without(config, &query.without, fault);
    if (r < 0)
        return r;
    if (config->warm != CONFIG_WARM_NO && host->warm_program >= 0)
        r = add_interpreter(confinement, config, host, version);
    if (r < 0) {
        fault_set(fault, "out of memory");
        return r;
    }
    return probe_interpreter(confinement, &query, fault);
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
        zygote_free(confinement->zygote);
        probe_deinit(&confinement->probe);
        string_list_deinit(&confinement->readable);
        string_list_deinit(&confinement->interpreter);
        string_list_deinit(&confinement->modules);
        isolation_environment_free(confinement->environment);
        free(confinement->version);
        free(confinement->idmap);
        close_fd(confinement->code);
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

bool confinement_leaves_orphans(const struct confinement *confinement)
{
    return !confinement_has(confinement, LAYER_PID_NAMESPACE) ||
           (confinement->zygote && confinement->zygote->has_died);
}

static int spawn_warm(const struct confinement *confinement, const struct jail_shape *shape,
                      const char *directory, struct jailproc *ret)
{
    struct zygote *zygote = confinement->zygote;
    int of_copy = zygote ? zygote_copy(zygote, shape, directory, ret) : -ENOENT;
    if (of_copy == 0 || of_copy == -EINPROGRESS)
        return of_copy;
    /* Nobody has seen the interpreter of a lazy confinement start, if no zygote has. */
    bool is_doubtful = confinement->is_lazy && !(zygote && zygote->is_proven);
    int r = jailproc_spawn(is_doubtful ? &confinement->plain : &confinement->jail, shape, directory,
                           ret);
    if (r == 0 && of_copy != -ENOENT)
        zygote_give_up(zygote, of_copy); /* the host grants jails, but not to the zygote */
    return r;
}

int confinement_spawn(const struct confinement *confinement, const struct jail_wish *wish,
                      const char *work_directory, unsigned index, struct jailproc *ret)
{
    struct jail_shape of_slot = *confinement_shape(confinement, wish->networked);
    const struct jail_shape *shape = &of_slot;
    char directory[4096];
    int n = snprintf(directory, sizeof(directory), "%s/slot-%u", work_directory, index);
    if (n >= (int)sizeof(directory))
        return -ENAMETOOLONG;
    of_slot.slot = index;
    return wish->warm && confinement->probe.is_warm
               ? spawn_warm(confinement, shape, directory, ret)
               : jailproc_spawn(&confinement->plain, shape, directory, ret);
}
