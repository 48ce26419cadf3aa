/* SPDX-License-Identifier: MIT */
#include "landlock.h"

#include "proto/util.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* The kernel headers of Debian 12 end with version 2. */
#define ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)        /* version 3 */
#define ACCESS_NET_BIND_TCP (UINT64_C(1) << 0)        /* version 4 */
#define ACCESS_NET_CONNECT_TCP (UINT64_C(1) << 1)     /* version 4 */
#define ACCESS_FS_IOCTL_DEV (UINT64_C(1) << 15)       /* version 5 */
#define ACCESS_FS_RESOLVE_UNIX (UINT64_C(1) << 16)    /* version 9 */
#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0) /* version 6 */
#define SCOPE_SIGNAL (UINT64_C(1) << 1)               /* version 6 */

struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* version 4 */
    uint64_t scoped;             /* version 6 */
};

#define ACCESS_FILES_READ \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_FILES_WRITE                                                                        \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                              \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |  \
     LANDLOCK_ACCESS_FS_REFER | ACCESS_FS_TRUNCATE)
#define ACCESS_FILES_NODES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
/* Rights that a rule for anything but a directory may name. */
#define ACCESS_OF_FILE                                                                           \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
     ACCESS_FS_TRUNCATE | ACCESS_FS_IOCTL_DEV)

int landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 ? 0 : (int)version;
}

struct landlock_handled landlock_handled(int version, bool files, bool network)
{
    struct landlock_handled handled = {0};
    if (files && version >= 1) {
        handled.files = ACCESS_FILES_READ | ACCESS_FILES_WRITE | ACCESS_FILES_NODES;
        if (version < 2)
            handled.files &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
        if (version < 3)
            handled.files &= ~ACCESS_FS_TRUNCATE;
        if (version >= 5)
            handled.files |= ACCESS_FS_IOCTL_DEV;
        if (version >= 9)
            handled.files |= ACCESS_FS_RESOLVE_UNIX;
    }
    if (network && version >= 4)
        handled.tcp = ACCESS_NET_BIND_TCP | ACCESS_NET_CONNECT_TCP;
    if (version >= 6)
        handled.scopes = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
    return handled;
}

int landlock_new(int version, bool files, bool network, uint64_t pass)
{
    struct landlock_handled handled = landlock_handled(version, files, network);
    struct ruleset_attr attr = {handled.files, handled.tcp, handled.scopes};
    /* An older kernel accepts the longer struct as long as the fields that it does not know are
     * 0. */
    if (!handled.files && !handled.tcp && !handled.scopes)
        return -EOPNOTSUPP;
    int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0, 0, 0, pass);
    return fd < 0 ? -errno : fd;
}

static uint64_t rights(enum landlock_access access)
{
    switch (access) {
    case LANDLOCK_READ:
        return ACCESS_FILES_READ;
    case LANDLOCK_WRITE:
        /* A socket there may be that of a program joined with this one, in another domain. */
        return ACCESS_FILES_READ | ACCESS_FILES_WRITE | ACCESS_FS_RESOLVE_UNIX;
    case LANDLOCK_DEVICE:
        return LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
    }
    return 0;
}

int landlock_allow(int ruleset, int version, int fd, enum landlock_access access)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    uint64_t allowed = rights(access) & landlock_handled(version, true, false).files;
    if (!S_ISDIR(st.st_mode))
        allowed &= ACCESS_OF_FILE;
    struct landlock_path_beneath_attr rule = {.allowed_access = allowed, .parent_fd = fd};
    long r = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    return r < 0 ? -errno : 0;
}

int landlock_allow_path(int ruleset, int version, const char *path, enum landlock_access access)
{
    _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
    return landlock_allow(ruleset, version, fd, access);
}

int landlock_enforce(int ruleset)
{
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
