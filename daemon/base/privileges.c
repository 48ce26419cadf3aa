/* SPDX-License-Identifier: MIT */
#include "privileges.h"

#include "proto/util.h"

#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LAST_RESORT "nobody"

bool privileges_are_root(void)
{
    return geteuid() == 0 || getuid() == 0;
}

int privileges_find(const char *name, const char *default_name, struct account *ret,
                    struct fault *fault)
{
    const struct passwd *entry = getpwnam(name);
    if (!entry && strcmp(name, default_name) == 0)
        entry = getpwnam(LAST_RESORT);
    if (!entry) {
        fault_set(fault, "[daemon] user: there is no account %s", name);
        return -ENOENT;
    }
    if (entry->pw_uid == 0) {
        fault_set(fault, "[daemon] user: %s is uid 0; jobs are never run as root", name);
        return -EPERM;
    }
    *ret = (struct account){.uid = entry->pw_uid, .gid = entry->pw_gid};
    (void)snprintf(ret->name, sizeof(ret->name), "%s", entry->pw_name);
    return 0;
}

static int give(const char *path, const struct account *account, struct fault *fault)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st = {.st_uid = 0};
    int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && st.st_uid == 0 && fchown(fd, account->uid, account->gid) < 0)
        r = -errno;
    if (r < 0)
        fault_set(fault, "[daemon] work_dir: %s: cannot be given to %s: %s", path, account->name,
                  strerror(-r));
    return r;
}

int privileges_make_directory(const char *path, mode_t mode, const struct account *account,
                              struct fault *fault)
{
    _cleanup_free_ char *copy = strdup(path);
    if (!copy) {
        fault_set(fault, "out of memory");
        return -ENOMEM;
    }
    const char *parent = dirname(copy);
    if (mkdir(parent, 0755) == 0) {
        int r = give(parent, account, fault);
        if (r < 0)
            return r;
    }
    if (mkdir(path, mode) < 0 && errno != EEXIST) {
        int r = -errno;
        fault_set(fault, "[daemon] work_dir: %s: %s", path, strerror(-r));
        return r;
    }
    return give(path, account, fault);
}

int privileges_drop(const struct account *account, struct fault *fault)
{
    if (initgroups(account->name, account->gid) < 0 ||
        setresgid(account->gid, account->gid, account->gid) < 0 ||
        setresuid(account->uid, account->uid, account->uid) < 0) {
        int r = -errno;
        fault_set(fault, "becoming %s: %s", account->name, strerror(-r));
        return r;
    }
    if (setuid(0) == 0 || getegid() != account->gid) {
        fault_set(fault, "becoming %s: the kernel let it be undone", account->name);
        return -EPERM;
    }
    return 0;
}
