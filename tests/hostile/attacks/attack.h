/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by all attacks. An attack is one program with one of three verdicts:
 *
 *   exit 0, "SUCCEEDED: what it got"       it reached its goal
 *   exit 1, "refused: what: ERRNO" lines   every way that it tried was refused
 *   exit 2, "unclear: what"                it cannot judge its result: a bug of the attack
 *
 * A successful attack must do no harm: the tests also run attacks without any confinement, some of
 * them as root, to show that they work. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ATTACK_SUCCEEDED = 0, ATTACK_REFUSED = 1, ATTACK_UNCLEAR = 2 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Returns the name of an errno, even of one that glibc does not know. */
static inline const char *errno_name(int error)
{
    const char *name = strerrorname_np(error);
    return name ? name : "E?";
}

_Noreturn static inline __attribute__((format(printf, 3, 0))) void
end_with(int status, const char *verdict, const char *format, va_list arguments)
{
    (void)printf("%s: ", verdict);
    (void)vprintf(format, arguments);
    (void)printf("\n");
    (void)fflush(stdout);
    _exit(status);
}

_Noreturn static inline __attribute__((format(printf, 1, 2))) void succeeded(const char *format,
                                                                             ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_with(ATTACK_SUCCEEDED, "SUCCEEDED", format, arguments);
}

_Noreturn static inline __attribute__((format(printf, 1, 2))) void refused(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_with(ATTACK_REFUSED, "refused", format, arguments);
}

_Noreturn static inline __attribute__((format(printf, 1, 2))) void unclear(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_with(ATTACK_UNCLEAR, "unclear", format, arguments);
}

/* Prints that one way was refused, and errno as the reason. The attack may try others. Preserves
 * errno. */
static inline __attribute__((format(printf, 1, 2))) void barred(const char *format, ...)
{
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    (void)printf("refused: ");
    (void)vprintf(format, arguments);
    (void)printf(": %s\n", errno_name(error));
    (void)fflush(stdout);
    va_end(arguments);
    errno = error;
}

/* Exits after every way was refused and barred() has printed each refusal. */
_Noreturn static inline void all_barred(void)
{
    (void)fflush(stdout);
    _exit(ATTACK_REFUSED);
}

/* Judges the RESULT of a call with harmless arguments. Unless the kernel refuses permission or
 * lacks the call, the attack has succeeded. */
static inline void must_not_get_in(long result, const char *what)
{
    if (result >= 0)
        succeeded("%s worked", what);
    if (errno != EPERM && errno != EACCES && errno != ENOSYS)
        succeeded("%s was let in, and only then said %s", what, errno_name(errno));
    barred("%s", what);
}

/* Returns argv[i], which must exist. */
static inline char *argument(int argc, char **argv, int i)
{
    if (i >= argc)
        unclear("argument %d is missing", i);
    return argv[i];
}

static inline long argument_number(int argc, char **argv, int i)
{
    char *end;
    const char *text = argument(argc, argv, i);
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0')
        unclear("%s is not a number", text);
    return value;
}

/* Returns the pid that argv[i] names: "parent", or a number. */
static inline pid_t argument_process(int argc, char **argv, int i)
{
    if (strcmp(argument(argc, argv, i), "parent") == 0)
        return getppid();
    return (pid_t)argument_number(argc, argv, i);
}

/* Reads up to SIZE - 1 bytes of a file and appends a NUL. Returns their number, or -1 with
 * errno. */
static inline ssize_t read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buffer, size - 1);
    int error = errno;
    (void)close(fd);
    errno = error;
    buffer[n < 0 ? 0 : n] = '\0';
    return n;
}

/* Writes TEXT to an existing file. Returns 0, or -1 with errno. */
static inline int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    int error = errno;
    (void)close(fd);
    errno = error;
    return n < 0 ? -1 : 0;
}

/* Returns the state letter of a process from /proc, or '?' if /proc does not show the process. */
static inline char process_state(pid_t pid)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof(text)) <= 0)
        return '?';
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : '?';
}

/* Waits until a child has ended. Returns its wait status. */
static inline int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            unclear("waitpid: %s", errno_name(errno));
    return status;
}

/* Enters a new user namespace, in which this process has every capability, and the namespaces in
 * FLAGS. If that is refused, prints so and returns false. */
static inline bool enter_new_namespaces(int flags)
{
    char map[64];
    unsigned uid = getuid(), gid = getgid();
    if (unshare(CLONE_NEWUSER | flags) < 0) {
        barred("unshare(CLONE_NEWUSER)");
        return false;
    }
    (void)write_file("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof(map), "0 %u 1\n", uid);
    if (write_file("/proc/self/uid_map", map) < 0)
        barred("writing uid_map");
    (void)snprintf(map, sizeof(map), "0 %u 1\n", gid);
    (void)write_file("/proc/self/gid_map", map);
    return true;
}

/* Enters a new mount namespace that the host does not see, as root or in a new user namespace. If
 * neither is possible, prints so and returns false. */
static inline bool enter_new_mount_namespace(void)
{
    if (unshare(CLONE_NEWNS) < 0) {
        barred("unshare(CLONE_NEWNS)");
        if (!enter_new_namespaces(CLONE_NEWNS))
            return false;
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        return true;
    if (geteuid() == 0) /* our mounts would appear on the host */
        unclear("a mount namespace of our own, but not private: %s", errno_name(errno));
    barred("making mounts private");
    return false;
}
