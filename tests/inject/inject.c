/* SPDX-License-Identifier: MIT */
/* Preloaded into a daemon, a jail or a client by tests/inject.py: fails one use of one function.
 *
 * Theory of operation. A file that all processes map (INJECT_CONTROL) says in which role which
 * function fails, and at which of its uses. Processes count uses down together, so a use is found
 * again in the next run. A daemon forgets its environment, so the library reads it before main().
 * The daemon executes a jail with an empty environment: the library adds itself to it, in the role
 * of a jail. Programs of jobs do not get it.
 *
 * All arguments and results of these functions are integers and pointers. The calling conventions
 * of x86-64 and aarch64 pass those alike whatever their types, so that one signature does for all.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 24
#define F_DUPFD 0
#define F_DUPFD_CLOEXEC 1030

/* What tests/inject.py packs and unpacks. */
struct control {
    int32_t role;          /* whose uses count */
    int32_t function;      /* an index into the names */
    _Atomic int32_t left;  /* uses until the one that fails, it included; 0: none fails */
    int32_t error;         /* an errno */
    _Atomic int32_t calls; /* uses so far, counted while `left` is above 0 */
    _Atomic int32_t fired; /* the process whose use failed, by its own name for itself; 0: none */
    int32_t frame_count;
    int32_t unused;
    uint64_t frame[FRAMES_MAX]; /* where */
};

enum role { ROLE_NONE, ROLE_DAEMON, ROLE_JAIL, ROLE_CLIENT };

/* clang-format off */
#define NAMES(X) \
    X(malloc) X(calloc) X(realloc) \
    X(open) X(open64) X(openat) X(openat64) X(fopen) X(fopen64) X(opendir) X(fdopendir) X(open_memstream) \
    X(pipe2) X(socketpair) X(socket) X(accept4) X(memfd_create) X(fcntl) X(fcntl64) X(dup2) X(dup3) \
    X(read) X(pread64) X(pwrite64) X(readv) X(write) X(writev) X(send) X(sendto) X(sendmsg) X(recv) X(recvmsg) \
    X(sendfile64) X(splice) X(readlink) X(lseek64) X(fstat64) X(readdir64) X(poll) \
    X(epoll_create1) X(epoll_ctl) X(epoll_wait) X(timerfd_create) X(timerfd_settime) X(eventfd) \
    X(mmap64) X(mkdir) X(mkdirat) X(unlinkat) X(clone) X(wait4) X(setrlimit64) X(mount) \
    X(clone3) X(openat2) X(pidfd_open) X(execveat) X(waitid) X(getrandom) X(realpath)
/* clang-format on */

#define ID(name) ID_##name,
enum id { NAMES(ID) ID_COUNT };

static struct control *control;
static char library[4096], control_path[4096];
static enum role role;
static void *real[ID_COUNT];
static long (*real_syscall)(long, long, long, long, long, long, long);

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern char *getenv(const char *);
extern int getpid(void), close(int);

/* Returns whether this use of the function fails, and sets errno then. */
static int fails(enum id id)
{
    if (!control || control->role != (int32_t)role || control->function != (int32_t)id ||
        atomic_load(&control->left) <= 0)
        return 0;
    atomic_fetch_add(&control->calls, 1);
    if (atomic_fetch_sub(&control->left, 1) != 1)
        return 0;
    void *frames[FRAMES_MAX];
    int n = backtrace(frames, FRAMES_MAX);
    for (int i = 0; i < n; i++)
        control->frame[i] = (uint64_t)(uintptr_t)frames[i];
    control->frame_count = n;
    atomic_store(&control->fired, getpid());
    errno = control->error;
    return 1;
}

static void *resolve(enum id id, const char *name)
{
    if (!real[id])
        real[id] = dlsym(RTLD_NEXT, name);
    return real[id];
}

typedef long generic(long, long, long, long, long, long, long);

#define WRAPPER(name, failed)                                                                  \
    long inject_##name(long, long, long, long, long, long, long) __asm__(#name);               \
    long inject_##name(long a, long b, long c, long d, long e, long f, long g)                 \
    {                                                                                          \
        return fails(ID_##name) ? (failed)                                                     \
                                : ((generic *)resolve(ID_##name, #name))(a, b, c, d, e, f, g); \
    }

/* clang-format off */
#define NUMBERS(X) \
    X(open) X(open64) X(openat) X(openat64) X(pipe2) X(socketpair) X(socket) X(accept4) X(memfd_create) X(dup2) \
    X(dup3) X(read) X(pread64) X(pwrite64) X(readv) X(write) X(writev) X(send) X(sendto) X(sendmsg) X(recv) \
    X(recvmsg) X(sendfile64) X(splice) X(readlink) X(lseek64) X(fstat64) X(poll) X(epoll_create1) X(epoll_ctl) \
    X(epoll_wait) X(timerfd_create) X(timerfd_settime) X(eventfd) X(mmap64) X(mkdir) X(mkdirat) X(unlinkat) \
    X(clone) X(wait4) X(setrlimit64) X(mount) X(waitid) X(getrandom)
#define POINTERS(X) X(fopen) X(fopen64) X(opendir) X(fdopendir) X(open_memstream) X(readdir64) X(realpath)
/* clang-format on */
#define NUMBER(name) WRAPPER(name, -1)
#define POINTER(name) WRAPPER(name, 0)
NUMBERS(NUMBER)
POINTERS(POINTER)

/* --- functions with more to them ----------------------------------------------------------- */

void *inject_malloc(size_t) __asm__("malloc");
void *inject_malloc(size_t n)
{
    return fails(ID_malloc) ? NULL : __libc_malloc(n);
}

void *inject_calloc(size_t, size_t) __asm__("calloc");
void *inject_calloc(size_t n, size_t size)
{
    return fails(ID_calloc) ? NULL : __libc_calloc(n, size);
}

void *inject_realloc(void *, size_t) __asm__("realloc");
void *inject_realloc(void *p, size_t n)
{
    return fails(ID_realloc) ? NULL : __libc_realloc(p, n);
}

/* Only a copy of a descriptor can be short of something. */
#define FCNTL(name)                                                                         \
    int inject_##name(int, int, long) __asm__(#name);                                       \
    int inject_##name(int fd, int command, long argument)                                   \
    {                                                                                       \
        if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && fails(ID_##name))         \
            return -1;                                                                      \
        return ((int (*)(int, int, long))resolve(ID_##name, #name))(fd, command, argument); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

#define NR_OPENAT2 437
#define NR_CLONE3 435
#define NR_PIDFD_OPEN 434
#ifdef __x86_64__
#define NR_EXECVEAT 322
#else
#define NR_EXECVEAT 281
#endif

static int syscall_fails(long number)
{
    switch (number) {
    case NR_OPENAT2:
        return fails(ID_openat2);
    case NR_CLONE3:
        return fails(ID_clone3);
    case NR_PIDFD_OPEN:
        return fails(ID_pidfd_open);
    case NR_EXECVEAT:
        return fails(ID_execveat);
    default:
        return 0;
    }
}

long inject_syscall(long, long, long, long, long, long, long) __asm__("syscall");
long inject_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (!real_syscall)
        real_syscall =
            (long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, "syscall");
    if (syscall_fails(number))
        return -1;
    if (number == NR_EXECVEAT && role == ROLE_DAEMON &&
        control) { /* a jail, which gets no environment */
        static char preload[4200], path[4200], jail[] = "INJECT_ROLE=2";
        (void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library);
        (void)snprintf(path, sizeof(path), "INJECT_CONTROL=%s", control_path);
        char *envp[] = {preload, path, jail, NULL};
        return real_syscall(number, a, b, c, (long)(uintptr_t)envp, e, f);
    }
    return real_syscall(number, a, b, c, d, e, f);
}

/* --- set-up -------------------------------------------------------------------------------- */

__attribute__((constructor)) static void set_up(void)
{
    void *frames[2];
    const char *path = getenv("INJECT_CONTROL"), *as = getenv("INJECT_ROLE"),
               *self = getenv("LD_PRELOAD");
    if (!path || !as || !self)
        return;
    (void)backtrace(frames, 2); /* loads what it needs */
    (void)snprintf(library, sizeof(library), "%s", self);
    (void)snprintf(control_path, sizeof(control_path), "%s", path);
    role = (enum role)(*as - '0');
#define RESOLVE(name) (void)resolve(ID_##name, #name);
    NUMBERS(RESOLVE)
    POINTERS(RESOLVE)
    (void)resolve(ID_fcntl, "fcntl");
    (void)resolve(ID_fcntl64, "fcntl64");
    real_syscall = (long (*)(long, long, long, long, long, long, long))dlsym(RTLD_NEXT, "syscall");
    int fd = (int)((generic *)real[ID_open64])((long)path, 2 /* O_RDWR */, 0, 0, 0, 0, 0);
    if (fd < 0)
        return;
    long at = ((generic *)real[ID_mmap64])(0, sizeof(struct control), 3, 1, fd, 0, 0);
    (void)close(fd);
    if (at != -1)
        control = (struct control *)at;
}
