/* SPDX-License-Identifier: MIT */
#include "surroundings.h"

#include "proto/util.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- signs --------------------------------------------------------------------------------- */

static void close_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

static FILE *open_below(const char *root, const char *path)
{
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof(whole), "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof(whole) ? fopen(whole, "re") : NULL;
}

static bool exists(const char *root, const char *path)
{
    _cleanup_(close_file) FILE *file = open_below(root, path);
    return file != NULL;
}

/* Returns the number in the file, or OTHERWISE. */
static long number_in(const char *root, const char *path, long otherwise)
{
    _cleanup_(close_file) FILE *file = open_below(root, path);
    char line[32];
    char *end;
    if (!file || !fgets(line, sizeof(line), file))
        return otherwise;
    long value = strtol(line, &end, 10);
    return end == line ? otherwise : value;
}

static bool is_filtered(const char *root)
{
    _cleanup_(close_file) FILE *file = open_below(root, "/proc/self/status");
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    while (file && getline(&line, &size, file) >= 0)
        if (strncmp(line, "Seccomp:", 8) == 0)
            return strtol(line + 8, NULL, 10) == 2;
    return false;
}

/* The fifth word of each line is the mount point. binfmt_misc is the host's own. */
static bool proc_is_covered(const char *root)
{
    _cleanup_(close_file) FILE *file = open_below(root, "/proc/self/mountinfo");
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    while (file && getline(&line, &size, file) >= 0) {
        char *rest = line;
        char *word = NULL;
        for (int i = 0; i < 5; i++)
            word = strtok_r(i == 0 ? line : NULL, " ", &rest);
        if (word && strncmp(word, "/proc/", 6) == 0 &&
            strcmp(word, "/proc/sys/fs/binfmt_misc") != 0)
            return true;
    }
    return false;
}

static enum engine engine_of(const char *root, const char *container, const char *kubernetes)
{
    if (kubernetes && *kubernetes)
        return ENGINE_KUBERNETES;
    if (exists(root, "/run/.containerenv") || (container && strcmp(container, "podman") == 0))
        return ENGINE_PODMAN;
    if (exists(root, "/.dockerenv") || (container && strcmp(container, "docker") == 0))
        return ENGINE_DOCKER;
    if (container && strncmp(container, "lxc", 3) == 0)
        return ENGINE_LXC;
    return container && *container ? ENGINE_UNKNOWN : ENGINE_NONE;
}

void surroundings_read(struct surroundings *ret, const char *root, const char *container,
                       const char *kubernetes)
{
    *ret = (struct surroundings){
        .engine = engine_of(root, container, kubernetes),
        .is_filtered = is_filtered(root),
        .proc_is_covered = proc_is_covered(root),
        .apparmor_restricts =
            number_in(root, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1,
        .namespaces_are_zero = number_in(root, "/proc/sys/user/max_user_namespaces", 1) == 0,
    };
}

/* --- words --------------------------------------------------------------------------------- */

static const char *const profile_setting[] = {
    [ENGINE_UNKNOWN] = "the seccomp profile of the container forbids it; give it one that allows "
                       "unshare and mount",
    [ENGINE_DOCKER] = "Docker's default seccomp profile forbids it; start the container with "
                      "--security-opt seccomp=FILE, podman's profile for one",
    [ENGINE_PODMAN] = "the seccomp profile of the container forbids it; podman's own allows it",
    [ENGINE_KUBERNETES] = "the pod's seccompProfile forbids it; set type: Localhost and a profile "
                          "that allows unshare and mount",
    [ENGINE_LXC] = "the container's seccomp profile forbids it; set lxc.seccomp.profile, or "
                   "security.nesting with Incus and LXD",
};

static const char *const proc_setting[] = {
    [ENGINE_NONE] = "; something is mounted over parts of /proc",
    [ENGINE_UNKNOWN] = "; the container engine covers parts of /proc",
    [ENGINE_DOCKER] = "; Docker covers parts of /proc unless told --security-opt "
                      "systempaths=unconfined",
    [ENGINE_PODMAN] = "; podman covers parts of /proc unless told --security-opt unmask=ALL",
    [ENGINE_KUBERNETES] = "; the pod's /proc is covered in parts unless procMount is Unmasked",
    [ENGINE_LXC] = "; parts of /proc are covered; set lxc.include = "
                   "/usr/share/lxc/config/nesting.conf, or security.nesting with Incus and LXD",
};

void surroundings_explain_users(const struct surroundings *around, char *ret, size_t size)
{
    if (around->namespaces_are_zero)
        (void)snprintf(ret, size, "user.max_user_namespaces is 0 here");
    else if (around->is_filtered && around->engine != ENGINE_NONE) /* the unit has a filter, too */
        (void)snprintf(ret, size, "%s", profile_setting[around->engine]);
    else if (around->apparmor_restricts)
        (void)snprintf(ret, size,
                       "kernel.apparmor_restrict_unprivileged_userns is 1; load the AppArmor "
                       "profile that the package has for rubricd");
    else
        (void)snprintf(ret, size,
                       "see user.max_user_namespaces and "
                       "kernel.apparmor_restrict_unprivileged_userns, and start outside of a "
                       "chroot");
}

void surroundings_explain_proc(const struct surroundings *around, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s", around->proc_is_covered ? proc_setting[around->engine] : "");
}
