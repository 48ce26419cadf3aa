/* SPDX-License-Identifier: MIT */
#include "act.h"
#include "move.h"

#include "proto/util.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* --- programs ------------------------------------------------------------------------------ */

_Noreturn static void fail(const struct lockdown *lockdown, enum link_stage stage, int error)
{
    *lockdown->ret_error = (struct lockdown_error){.stage = stage, .error = error};
    _exit(127);
}

static const char *value_of(char *const *envp, const char *name)
{
    size_t n = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return "";
}

/* Executes the program of that name in the directory of N bytes, if there is one. */
static void try_directory(const struct lockdown *lockdown, const char *directory, size_t n)
{
    char path[PATH_MAX];
    size_t length = strlen(lockdown->argv[0]);
    errno = ENAMETOOLONG;
    if (n + 1 + length >= sizeof(path))
        return;
    memcpy(path, directory, n);
    path[n] = '/';
    memcpy(path + n + 1, lockdown->argv[0], length + 1);
    (void)execve(path, lockdown->argv, lockdown->envp);
}

/* The errno is that of a program that was found and could not be executed, if there is one. */
static int try_path(const struct lockdown *lockdown)
{
    int error = ENOENT;
    const char *at = value_of(lockdown->envp, "PATH");
    while (*at) {
        size_t n = strcspn(at, ":");
        if (n > 0) {
            try_directory(lockdown, at, n);
            if (errno != ENOENT && errno != ENOTDIR)
                error = errno;
        }
        at += n + (at[n] == ':');
    }
    return error;
}

_Noreturn void act_exec(const struct lockdown *lockdown)
{
    if (lockdown->directory && chdir(lockdown->directory) < 0)
        fail(lockdown, LINK_STAGE_CWD, errno);
    if (strchr(lockdown->argv[0], '/'))
        lockdown_exec(lockdown);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    fail(lockdown, LINK_STAGE_EXEC, try_path(lockdown));
}

/* --- files --------------------------------------------------------------------------------- */

/* Checks that FD is a regular file, of a file system that holds files. Returns 0 or an errno. */
static int check_file(int fd, struct stat *ret)
{
    struct statfs fs;
    if (fstat(fd, ret) < 0 || fstatfs(fd, &fs) < 0)
        return errno;
    if (S_ISDIR(ret->st_mode))
        return EISDIR;
    if (!S_ISREG(ret->st_mode))
        return EINVAL;
    return fs.f_type == PROC_SUPER_MAGIC ? EACCES : 0;
}

/* Moves all that FROM holds, at most MAX bytes, to TO. Returns 0 or an errno. */
static int move_all(int from, int to, uint64_t max)
{
    int64_t moved = move_bytes(from, NULL, to, max + 1);
    if (moved < 0)
        return (int)-moved;
    return (uint64_t)moved > max ? EFBIG : 0;
}

static int read_file(const char *path)
{
    struct stat st = {0};
    /* Without waiting for whoever may write to a pipe. */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int error = fd < 0 ? errno : check_file(fd, &st);
    if (error == 0 && (uint64_t)st.st_size > SESSION_FILE_BYTES_MAX)
        error = EFBIG;
    return error == 0 ? move_all(fd, STDOUT_FILENO, SESSION_FILE_BYTES_MAX) : error;
}

/* Makes the directories that PATH lies in. */
static void make_parents(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof(part))
        return;
    memcpy(part, path, length + 1);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0755); /* opening the file says what is wrong */
        *slash = '/';
    }
}

/* Opens the file, which is made if it is missing. Returns a negative errno on failure. */
static int open_target(const struct lockdown *lockdown, const char *path)
{
    const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = open(path, flags);
    if (fd >= 0 || errno != ENOENT)
        return fd < 0 ? -errno : fd;
    make_parents(path);
    fd = open(path, flags | O_CREAT, 0600);
    if (fd >= 0 && fchmod(fd, lockdown->file_mode) < 0)
        return -errno;
    return fd < 0 ? -errno : fd;
}

static int write_file(const struct lockdown *lockdown, const char *path)
{
    struct stat st, input = {0};
    int fd = open_target(lockdown, path);
    int error = fd < 0 ? -fd : check_file(fd, &st);
    if (error == 0 && fstat(STDIN_FILENO, &input) < 0)
        error = errno;
    if (error == 0 && !lockdown->appends && ftruncate(fd, 0) < 0)
        error = errno;
    off_t at = error == 0 ? lseek(fd, 0, SEEK_END) : 0;
    if (error == 0 && at < 0)
        error = errno;
    uint64_t more = error == 0 && S_ISREG(input.st_mode) ? (uint64_t)input.st_size : 0;
    if (error == 0 && (uint64_t)at + more > SESSION_FILE_BYTES_MAX)
        error = EFBIG;
    return error == 0 && more > 0 ? move_all(STDIN_FILENO, fd, SESSION_FILE_BYTES_MAX) : error;
}

_Noreturn void act_on_file(const struct lockdown *lockdown)
{
    const char *path = lockdown->argv[0];
    _exit(lockdown->act == LINK_READ ? read_file(path) : write_file(lockdown, path));
}
