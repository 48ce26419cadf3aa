/* SPDX-License-Identifier: MIT */
#pragma once
/* Explains a refusal of the kernel by what surrounds the daemon: a container and its seccomp
 * profile, masked paths below /proc, settings of the kernel. Text for people, nothing else: no
 * decision depends on it. */

#include <stdbool.h>
#include <stddef.h>

enum engine {
    ENGINE_NONE, /* no sign of a container */
    ENGINE_UNKNOWN,
    ENGINE_DOCKER,
    ENGINE_PODMAN,
    ENGINE_KUBERNETES,
    ENGINE_LXC,
};

struct surroundings {
    enum engine engine;
    bool is_filtered;         /* a seccomp filter is in force on this process */
    bool proc_is_covered;     /* something is mounted over a part of /proc */
    bool apparmor_restricts;  /* kernel.apparmor_restrict_unprivileged_userns */
    bool namespaces_are_zero; /* user.max_user_namespaces */
};

/* Reads the signs in the file system below ROOT ("" but in tests) and in two variables: CONTAINER,
 * as engines set it, and KUBERNETES, the service host of a cluster; each may be NULL. A sign that
 * cannot be read counts as absent. */
void surroundings_read(struct surroundings *ret, const char *root, const char *container,
                       const char *kubernetes);

/* Writes into RET what keeps the daemon from user namespaces, and what to do about it. */
void surroundings_explain_users(const struct surroundings *around, char *ret, size_t size);

/* Writes into RET why /proc cannot be mounted, and what to do about it, as a clause to append to
 * the error; the empty string if there is no sign of a reason. */
void surroundings_explain_proc(const struct surroundings *around, char *ret, size_t size);
