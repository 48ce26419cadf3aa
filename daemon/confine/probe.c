/* SPDX-License-Identifier: MIT */
#include "probe.h"
#include "filter.h"
#include "surroundings.h"

#include "conf/config.h"
#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/jail/link.h"
#include "proto/shortage.h"
#include "proto/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#define ANSWER_MS 10000
/* A jail that met a shortage is tried again this often at most. */
#define TRIES_MAX 3

static const uint32_t needs_user_namespace = LAYER_BIT(LAYER_PID_NAMESPACE) |
                                             LAYER_BIT(LAYER_MOUNT_NAMESPACE) |
                                             LAYER_BIT(LAYER_NET_NAMESPACE);

/* Closes the link, which makes the jail exit, and kills it if it does not. */
static void end_jail(struct jailproc *jail)
{
    jail->link_fd = close_fd(jail->link_fd);
    if (!await_readable(jail->pidfd, clock_now_ns() + ANSWER_MS * NS_PER_MS))
        kill_by_pidfd(jail->pidfd);
    (void)waitpid(jail->pid, NULL, 0);
    jail->pidfd = close_fd(jail->pidfd);
}

static int make_shape(const struct jailproc_config *config, uint32_t layers, struct jail_shape *ret)
{
    /* The last slot: its uid is there if those of the others are. */
    struct jail_shape shape = {.layers = layers, .filter = -1, .slot = CONFIG_SLOTS_MAX - 1};
    if (getrandom(&shape.pass, sizeof(shape.pass), 0) != (ssize_t)sizeof(shape.pass))
        return -EIO;
    if (layer_in(layers, LAYER_SECCOMP))
        shape.filter = filter_program(layers, config->bounds_memory, shape.pass);
    if (layer_in(layers, LAYER_SECCOMP) && shape.filter < 0)
        return shape.filter;
    *ret = shape;
    return 0;
}

/* Starts a jail that wants LAYERS and receives its first notice. */
static int ask(const struct jailproc_config *config, uint32_t layers, const char *directory,
               struct link_notice *ret)
{
    struct jail_shape shape;
    struct jailproc jail;
    int unexpected = -1;
    int r = make_shape(config, layers, &shape);
    if (r < 0)
        return r;
    r = jailproc_spawn(config, &shape, directory, &jail);
    jail_shape_deinit(&shape);
    if (r < 0)
        return r;
    r = await_readable(jail.link_fd, clock_now_ns() + ANSWER_MS * NS_PER_MS)
            ? link_receive_notice(jail.link_fd, ret, &unexpected)
            : -ETIMEDOUT;
    close_fd(unexpected);
    end_jail(&jail);
    if (r == 0)
        return -ECONNRESET; /* it has exited and said why on stderr */
    return r < 0 ? r : ret->type == LINK_READY ? 0 : -EPROTO;
}

/* --- reasons ------------------------------------------------------------------------------- */

_printf_(3, 4) static void because(struct probe *probe, enum layer layer, const char *format, ...)
{
    va_list arguments;
    assert(layer < LAYER_COUNT);
    va_start(arguments, format);
    (void)vsnprintf(probe->missing_because[layer], PROBE_REASON_MAX, format, arguments);
    va_end(arguments);
}

/* The variables are those that engines give to what they start. */
static void look_around(struct surroundings *ret)
{
    surroundings_read(ret, "", getenv("container"), getenv("KUBERNETES_SERVICE_HOST"));
}

static void explain_view(struct probe *probe, const struct link_notice *notice)
{
    struct surroundings around;
    char why[PROBE_REASON_MAX] = "";
    int error = notice->layer_errors[LAYER_MOUNT_NAMESPACE];
    if (error == EPERM &&
        strncmp(notice->view_step, LINK_STEP_PROC, sizeof(notice->view_step)) == 0) {
        look_around(&around);
        surroundings_explain_proc(&around, why, sizeof(why));
    }
    because(probe, LAYER_MOUNT_NAMESPACE, "%.*s: %s%s", (int)sizeof(notice->view_step),
            notice->view_step, strerror(error), why);
}

static void explain_means(struct probe *probe, const struct link_notice *notice)
{
    const int32_t *errors = notice->layer_errors;
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (errors[layer] != 0)
            because(probe, layer, "%s", strerror(errors[layer]));
    if (errors[LAYER_MOUNT_NAMESPACE] != 0)
        explain_view(probe, notice);
    if (errors[LAYER_LANDLOCK] == EOPNOTSUPP || errors[LAYER_LANDLOCK] == ENOSYS)
        because(probe, LAYER_LANDLOCK,
                "the kernel does not offer it: 5.13 or newer, with landlock in its list of "
                "security modules (lsm=)");
    if (errors[LAYER_SECCOMP] != 0)
        because(probe, LAYER_SECCOMP,
                "the kernel does not offer filters (CONFIG_SECCOMP_FILTER): %s",
                strerror(errors[LAYER_SECCOMP]));
}

static void explain_own_uid(struct probe *probe, const struct jailproc_config *config, int error)
{
    if (!config->idmap)
        because(probe, LAYER_OWN_UID, "%s", config->no_idmap ? config->no_idmap : "");
    else if (error == ENOENT || error == ECONNREFUSED)
        because(probe, LAYER_OWN_UID, "rubricd-idmap does not listen at %.108s: %s", config->idmap,
                strerror(error));
    else if (error == ENODATA)
        because(probe, LAYER_OWN_UID, "/etc/subuid grants the account no ids");
    else if (error == ERANGE)
        because(probe, LAYER_OWN_UID, "/etc/subuid grants the account fewer than %d ids",
                CONFIG_SLOTS_MAX);
    else if (error != 0)
        because(probe, LAYER_OWN_UID, "rubricd-idmap at %.108s: %s", config->idmap,
                strerror(error));
}

static void explain_user_namespace(struct probe *probe, int error)
{
    struct surroundings around;
    char why[PROBE_REASON_MAX];
    look_around(&around);
    surroundings_explain_users(&around, why, sizeof(why));
    because(probe, LAYER_USER_NAMESPACE, "refused: %s; %s", strerror(error), why);
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (needs_user_namespace & LAYER_BIT(layer))
            because(probe, layer, "it takes a user namespace");
}

static void explain_the_rest(struct probe *probe, uint32_t without, const char *no_cgroups)
{
    because(probe, LAYER_NETWORK, "neither a network namespace nor seccomp can be had");
    because(probe, LAYER_CGROUP, "%s", no_cgroups ? no_cgroups : "");
    because(probe, LAYER_FILESYSTEM, "neither a mount namespace nor Landlock can be had");
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (without & LAYER_BIT(layer))
            because(probe, layer, "switched off by [isolation] without");
        else if ((without & LAYER_BIT(LAYER_USER_NAMESPACE)) &&
                 (needs_user_namespace & LAYER_BIT(layer)))
            because(probe, layer, "it takes a user namespace");
}

/* --- the probe ----------------------------------------------------------------------------- */

static bool is_refusal(int r)
{
    return r == -EPERM || r == -EACCES || r == -ENOSPC || r == -EUSERS || r == -ENOSYS ||
           r == -EINVAL || r == -ECONNRESET;
}

/* Returns the first error by which a jail lost a layer to a shortage, or 0. */
static int shortage_in(const struct link_notice *notice)
{
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (is_shortage(notice->layer_errors[layer]))
            return notice->layer_errors[layer];
    return 0;
}

/* Asks until the answer is the host's: jobs would run with fewer layers for as long as the daemon
 * does, only because something was short for a moment. A jail that ends without a word may have met
 * a shortage as well. */
static int ask_surely(const struct jailproc_config *config, uint32_t layers, const char *directory,
                      struct link_notice *ret)
{
    int r = 0;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        r = ask(config, layers, directory, ret);
        bool is_sure = r == 0 ? shortage_in(ret) == 0 : is_refusal(r) && r != -ECONNRESET;
        if (is_sure || r == -ETIMEDOUT) /* the daemon waits meanwhile, and has waited for long */
            return r;
    }
    /* The host says ENOSPC as well where its administrator allows no such namespace. */
    if (r == 0 && shortage_in(ret) != ENOSPC)
        return -shortage_in(ret);
    return r;
}

int probe_jails(struct probe *probe, const struct jailproc_config *config, uint32_t without,
                const char *no_cgroups, const char *directory, struct fault *fault)
{
    *probe = (struct probe)PROBE_NULL;
    struct link_notice notice = {.type = LINK_READY};
    uint32_t without_too = without;
    if (no_cgroups)
        without_too |= LAYER_BIT(LAYER_CGROUP);
    if (!config->idmap)
        without_too |= LAYER_BIT(LAYER_OWN_UID);
    uint32_t wanted = layers_consistent(LAYERS_ALL & ~without_too);
    int r = ask_surely(config, wanted, directory, &notice);
    if (layer_in(wanted, LAYER_USER_NAMESPACE) && is_refusal(r)) {
        explain_user_namespace(probe, -r);
        wanted = layers_consistent(wanted & ~LAYER_BIT(LAYER_USER_NAMESPACE));
        r = ask_surely(config, wanted, directory, &notice);
    }
    (void)rmdir(directory);
    if (r < 0) {
        fault_set(fault, "no jail can be started: %s", strerror(-r));
        return r;
    }
    explain_means(probe, &notice);
    explain_own_uid(probe, config, notice.layer_errors[LAYER_OWN_UID]);
    explain_the_rest(probe, without, no_cgroups);
    probe->layers = notice.layers & wanted;
    probe->is_warm = notice.warm == 1;
    (void)snprintf(probe->cold_because, sizeof(probe->cold_because), "%.*s",
                   (int)sizeof(notice.cold_because), notice.cold_because);
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (!layer_in(probe->layers, layer) && !*probe->missing_because[layer])
            because(probe, layer, "it goes with a layer that is missing");
    const uint32_t network = LAYER_BIT(LAYER_NETWORK) | LAYER_BIT(LAYER_NET_NAMESPACE);
    r = make_shape(config, probe->layers, &probe->shape);
    if (r == 0)
        r = make_shape(config, layers_consistent(probe->layers & ~network), &probe->networked);
    if (r < 0)
        fault_set(fault, "making the filter of system calls: %s", strerror(-r));
    return r;
}

void probe_deinit(struct probe *probe)
{
    jail_shape_deinit(&probe->shape);
    jail_shape_deinit(&probe->networked);
}
