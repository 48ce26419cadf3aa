/* SPDX-License-Identifier: MIT */
#include "benchcache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

/* The daemon has another account. */
#define DIRECTORY_MODE 0755
#define FILE_MODE 0644
#define PROGRAM_MODE 0755
/* What a file or a directory takes at least. */
#define BLOCK ((uint64_t)4096)
/* Renames and locks that somebody else came before. */
#define TRIES_MAX 8
#define NEW ".new-"
#define OLD ".old-"

bool benchcache_is_task_class(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t n = strlen(name);
    return n > 0 && n <= NAME_MAX && strchr(letters, name[0]) && strspn(name, letters) <= n &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

/* --- removing ----------------------------------------------------------------------------- */

typedef void visitor(const FTSENT *entry, void *arg);

/* Calls VISIT for all that PATH holds, and for PATH after it. */
static void walk(const char *path, visitor *visit, void *arg)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;
    while (fts && (entry = fts_read(fts)) != NULL)
        if (entry->fts_info != FTS_D)
            visit(entry, arg);
    if (fts)
        (void)fts_close(fts);
}

static void remove_entry(const FTSENT *entry, _unused_ void *arg)
{
    if (entry->fts_info == FTS_DP)
        (void)rmdir(entry->fts_accpath);
    else
        (void)unlink(entry->fts_accpath);
}

static void add_size(const FTSENT *entry, void *sum_)
{
    uint64_t *sum = sum_;
    if (entry->fts_info == FTS_F || entry->fts_info == FTS_DP)
        *sum += ((uint64_t)entry->fts_statp->st_size + BLOCK - 1) / BLOCK * BLOCK + BLOCK;
}

static void name_own(const char *prefix, char ret[32])
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        number = (uint64_t)getpid();
    (void)snprintf(ret, 32, "%s%016" PRIx64, prefix, number);
}

static void remove_tree(const struct benchcache *cache, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", cache->path, name) < (int)sizeof(path))
        walk(path, remove_entry, NULL);
}

/* Whether PATH beneath AT still leads to the directory that FD is open on; FLAGS as of fstatat().
 */
static bool leads_to(int at, const char *path, int flags, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && fstatat(at, path, &named, flags) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* Opens the directory NAME and locks it. -EWOULDBLOCK: others have it; -ENOENT: it has gone. */
static int open_locked(const struct benchcache *cache, const char *name, int how)
{
    struct stat opened, named;
    _cleanup_close_ int fd =
        openat(cache->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, how | LOCK_NB) < 0)
        return -errno;
    /* Whoever had it before may have renamed it. */
    if (fstat(fd, &opened) < 0 || fstatat(cache->fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return opened.st_ino == named.st_ino ? TAKE_FD(fd) : -ENOENT;
}

/* Removes the directory NAME unless it is in use. Returns whether it is gone. */
static bool try_remove(const struct benchcache *cache, const char *name)
{
    char old[32];
    _cleanup_close_ int fd = open_locked(cache, name, LOCK_EX);
    if (fd < 0)
        return fd == -ENOENT;
    name_own(OLD, old);
    if (renameat(cache->fd, name, cache->fd, old) < 0)
        return false;
    remove_tree(cache, old);
    return true;
}

/* Takes the directory NAME that FD is open on out of the cache, whoever else uses it, and closes
 * FD. Its files stay for as long as somebody has it locked. */
static void put_away(const struct benchcache *cache, const char *name, int take_fd)
{
    char old[32];
    bool is_it = leads_to(cache->fd, name, AT_SYMLINK_NOFOLLOW, take_fd);
    name_own(OLD, old);
    is_it = is_it && renameat(cache->fd, name, cache->fd, old) == 0;
    (void)close_fd(take_fd);
    if (is_it)
        (void)try_remove(cache, old);
}

void benchcache_drop(const struct benchcache *cache, const char *digest, int take_lock)
{
    put_away(cache, digest, take_lock);
}

/* --- the bound ---------------------------------------------------------------------------- */

struct kept {
    char name[RUBRICDIR_DIGEST_SIZE];
    struct timespec used;
    uint64_t bytes;
};

struct kept_list {
    struct kept *items;
    size_t n, room;
    uint64_t bytes;
};

static int add_kept(const struct benchcache *cache, const char *name, struct kept_list *list)
{
    struct stat st;
    char path[PATH_MAX];
    if (fstatat(cache->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    if (list->n == list->room) {
        size_t room = MAX(list->room * 2, (size_t)16);
        struct kept *items = reallocarray(list->items, room, sizeof(*items));
        if (!items)
            return -ENOMEM;
        list->items = items;
        list->room = room;
    }
    struct kept *kept = &list->items[list->n++];
    *kept = (struct kept){.used = st.st_mtim};
    (void)snprintf(kept->name, sizeof(kept->name), "%s", name);
    (void)snprintf(path, sizeof(path), "%s/%s", cache->path, name);
    walk(path, add_size, &kept->bytes);
    list->bytes += kept->bytes;
    return 0;
}

static int by_use(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

static DIR *list_cache(const struct benchcache *cache)
{
    int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir)
        (void)close_fd(fd);
    return dir;
}

static void remove_left_overs(const struct benchcache *cache, const char *prefix)
{
    const struct dirent *entry;
    _cleanup_(close_dir) DIR *dir = list_cache(cache);
    while (dir && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            (void)try_remove(cache, entry->d_name);
}

/* Removes what was used longest ago until the cache is as small as it is to be. */
static void make_room(const struct benchcache *cache)
{
    struct kept_list list = {.n = 0};
    const struct dirent *entry;
    remove_left_overs(cache, OLD); /* what was in use when it was put away */
    _cleanup_(close_dir) DIR *dir = list_cache(cache);
    while (dir && (entry = readdir(dir)) != NULL)
        if (manifest_is_digest(entry->d_name) && add_kept(cache, entry->d_name, &list) < 0)
            break;
    if (list.n > 0)
        qsort(list.items, list.n, sizeof(*list.items), by_use);
    for (size_t i = 0; i < list.n && list.bytes > cache->max_bytes; i++)
        if (try_remove(cache, list.items[i].name))
            list.bytes -= list.items[i].bytes;
    free(list.items);
}

/* --- opening ------------------------------------------------------------------------------ */

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Writes the path that is meant where none is given. Returns whether there is one. */
static bool usual_path(char ret[PATH_MAX])
{
    const char *systemd = environment("CACHE_DIRECTORY"), *xdg = environment("XDG_CACHE_HOME"),
               *home = environment("HOME");
    if (systemd)
        (void)snprintf(ret, PATH_MAX, "%.*s", (int)strcspn(systemd, ":"), systemd);
    else if (xdg || home)
        (void)snprintf(ret, PATH_MAX, "%s%s/rubricd-fleet", xdg ? xdg : home, xdg ? "" : "/.cache");
    return systemd || xdg || home;
}

/* Makes PATH and what is above it. */
static int make_path(const char *path)
{
    char part[PATH_MAX];
    (void)snprintf(part, sizeof(part), "%s", path);
    for (char *slash = part; slash; *slash = '/') {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(part, DIRECTORY_MODE) < 0 && errno != EEXIST)
            return -errno;
        if (!slash)
            break;
    }
    return 0;
}

/* Whoever may write to the cache chooses what jobs run, and what a worker removes. */
static int check_access(int fd, const char *path, struct fault *fault)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid())
        (void)fault_set(fault,
                        "%.200s: it belongs to user %u, who could change the rubrics in it: chown "
                        "it to user %u, who runs the worker, or name another one with --cache",
                        path, st.st_uid, geteuid());
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        (void)fault_set(fault,
                        "%.200s: others may write to it (mode %04o), who could change the rubrics "
                        "in it: chmod go-w it, or name another one with --cache",
                        path, st.st_mode & 07777U);
    else
        return 0;
    return -EPERM;
}

/* Opens the directory at PATH, and makes it if there is none. Negative errno with FAULT. */
static int open_directory(const char *path, struct fault *fault)
{
    _cleanup_close_ int fd = -1;
    int r = make_path(path);
    if (r == 0)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r == 0 && (fd < 0 || faccessat(fd, ".", W_OK, AT_EACCESS) < 0))
        r = -errno;
    if (r < 0) {
        (void)fault_set(fault, "%.200s: %s", path, strerror(-r));
        return r;
    }
    r = check_access(fd, path, fault);
    return r < 0 ? r : TAKE_FD(fd);
}

/* Somebody may have removed the cache, or have put another directory in its place. */
static int open_again(struct benchcache *cache)
{
    if (leads_to(AT_FDCWD, cache->path, 0, cache->fd))
        return 0;
    int fd = open_directory(cache->path, NULL);
    if (fd < 0)
        return fd;
    (void)close_fd(cache->fd);
    cache->fd = fd;
    return 0;
}

int benchcache_open(const char *path, uint64_t max_bytes, struct benchcache *ret,
                    struct fault *fault)
{
    char usual[PATH_MAX];
    struct benchcache cache = {.fd = -1, .max_bytes = max_bytes};
    if (!path && !usual_path(usual))
        return fault_set(fault, "no directory for rubrics: --cache names one");
    path = path ? path : usual;
    if (path[0] != '/')
        return fault_set(fault, "%.200s: expected an absolute path", path);
    cache.fd = open_directory(path, fault);
    if (cache.fd < 0)
        return cache.fd;
    cache.path = strdup(path);
    if (!cache.path) {
        (void)close_fd(cache.fd);
        (void)fault_set(fault, "out of memory");
        return -ENOMEM;
    }
    remove_left_overs(&cache, NEW);
    remove_left_overs(&cache, OLD);
    *ret = cache;
    return 0;
}

bool benchcache_is_closed(const struct benchcache *cache, char ret_at[PATH_MAX])
{
    struct stat st;
    if (!realpath(cache->path, ret_at))
        return false;
    for (char *end = strchr(ret_at, '\0'); end > ret_at; end = strrchr(ret_at, '/')) {
        *end = '\0'; /* one directory less each time */
        if (stat(ret_at, &st) == 0 && !(st.st_mode & S_IXOTH))
            return true;
    }
    return false;
}

void benchcache_close(struct benchcache *cache)
{
    cache->fd = close_fd(cache->fd);
    free(cache->path);
    cache->path = NULL;
}

static bool has_rubric(int fd, const char *task_class)
{
    char rubric[NAME_MAX + 16];
    (void)snprintf(rubric, sizeof(rubric), "%s/rubric.py", task_class);
    return faccessat(fd, rubric, R_OK, AT_EACCESS) == 0;
}

int benchcache_use(const struct benchcache *cache, const char *digest, const char *task_class,
                   char ret_root[PATH_MAX])
{
    _cleanup_close_ int fd = open_locked(cache, digest, LOCK_SH);
    if (fd < 0 || !has_rubric(fd, task_class) ||
        snprintf(ret_root, PATH_MAX, "%s/%s", cache->path, digest) >= PATH_MAX)
        return -ENOENT;
    (void)futimens(fd, NULL); /* when it was last used */
    return TAKE_FD(fd);
}

/* --- writing ------------------------------------------------------------------------------ */

int benchcache_begin(struct benchcache *cache, struct benchcache_writer *ret)
{
    struct benchcache_writer writer = BENCHCACHE_WRITER_NULL;
    int r = open_again(cache);
    if (r < 0)
        return r;
    name_own(NEW, writer.name);
    if (mkdirat(cache->fd, writer.name, DIRECTORY_MODE) < 0)
        return -errno;
    writer.fd = open_locked(cache, writer.name, LOCK_EX);
    if (writer.fd < 0)
        return writer.fd;
    if (fchmod(writer.fd, DIRECTORY_MODE) < 0) { /* whatever the umask is */
        benchcache_abandon(cache, &writer);
        return -EACCES;
    }
    *ret = writer;
    return 0;
}

/* Opens the directory in which NAME is to be, and makes those on the way. */
static int open_parent(int root, const char *name)
{
    _cleanup_close_ int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
    const char *slash;
    while (at >= 0 && (slash = strchr(name, '/')) != NULL) {
        char part[RUBRICDIR_NAME_MAX + 1];
        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
        if (mkdirat(at, part, DIRECTORY_MODE) < 0 && errno != EEXIST)
            return -errno;
        int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0 || fchmod(next, DIRECTORY_MODE) < 0) {
            int r = -errno;
            (void)close_fd(next);
            return r;
        }
        (void)close_fd(at);
        at = next;
        name = slash + 1;
    }
    return at < 0 ? -errno : TAKE_FD(at);
}

int benchcache_write(const struct benchcache_writer *writer, const struct manifest_file *file,
                     const char *data, size_t n)
{
    const char *slash = strrchr(file->name, '/');
    _cleanup_close_ int parent = open_parent(writer->fd, file->name);
    if (parent < 0)
        return parent;
    _cleanup_close_ int fd = openat(parent, slash ? slash + 1 : file->name,
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    while (n > 0) {
        ssize_t written = write(fd, data, n);
        if (written < 0 && errno != EINTR)
            return -errno;
        data += MAX(written, 0);
        n -= (size_t)MAX(written, 0);
    }
    return fchmod(fd, file->is_executable ? PROGRAM_MODE : FILE_MODE) < 0 ? -errno : 0;
}

/* Makes the directory of DIGEST in the place of whatever else has its name, and keeps others from
 * removing it. */
static int open_target(const struct benchcache *cache, const char *digest)
{
    int fd = -ENOENT;
    for (int tries = 0; fd < 0 && tries < TRIES_MAX; tries++) {
        if (mkdirat(cache->fd, digest, DIRECTORY_MODE) < 0 && errno != EEXIST)
            return -errno;
        fd = open_locked(cache, digest, LOCK_SH);
        if (fd == -ENOTDIR || fd == -ELOOP)
            (void)unlinkat(cache->fd, digest, 0);
    }
    if (fd >= 0 && fchmod(fd, DIRECTORY_MODE) < 0) {
        (void)close_fd(fd);
        return -EACCES;
    }
    return fd;
}

/* Renames what was written to its place, and keeps others from removing it. 1: another worker has
 * put the same there; -EAGAIN: a damaged copy was there, and now is not. */
static int give_name(const struct benchcache *cache, const struct benchcache_writer *writer,
                     const char *digest, const char *task_class, int *ret_lock)
{
    _cleanup_close_ int target = open_target(cache, digest);
    if (target < 0)
        return target;
    int r = renameat(cache->fd, writer->name, target, task_class) < 0 ? -errno : 0;
    if (r < 0 && r != -ENOTEMPTY && r != -EEXIST && r != -ENOTDIR)
        return r;
    if (r < 0 && !has_rubric(target, task_class)) {
        put_away(cache, digest, TAKE_FD(target));
        return -EAGAIN;
    }
    *ret_lock = TAKE_FD(target);
    return r < 0;
}

int benchcache_end(const struct benchcache *cache, struct benchcache_writer *writer,
                   const char *digest, const char *task_class)
{
    _cleanup_close_ int lock = -1; /* until there is room */
    int r = -EAGAIN;
    for (int tries = 0; r == -EAGAIN && tries < TRIES_MAX; tries++)
        r = give_name(cache, writer, digest, task_class, &lock);
    if (r == 0)
        writer->fd = close_fd(writer->fd);
    benchcache_abandon(cache, writer);
    if (r >= 0)
        make_room(cache);
    return MIN(r, 0);
}

void benchcache_abandon(const struct benchcache *cache, struct benchcache_writer *writer)
{
    if (writer->fd < 0)
        return;
    writer->fd = close_fd(writer->fd);
    (void)try_remove(cache, writer->name);
}
