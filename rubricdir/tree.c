/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include "proto/shortage.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

/* Tries to open a path with ".." in it: where something is renamed or mounted anywhere meanwhile
 * the kernel does not vouch for that. */
#define RESOLVE_TRIES_MAX 64
#define MS_PER_S 1000
#define NS_PER_MS 1000000
/* What has changed this long ago is not young: some of the kernel's ticks. */
#define YOUNG_MS 50
/* The same of a file system that keeps no fractions of a second. */
#define YOUNG_COARSE_MS 2100
/* To open a file costs as much as to digest so many bytes. */
#define OPEN_BYTES ((uint64_t)4096)

void tree_deinit(struct tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        free(tree->nodes[i].name);
    free(tree->nodes);
    *tree = (struct tree)TREE_NULL;
}

/* --- identities --------------------------------------------------------------------------- */

static struct tree_identity identity_of(const struct stat *st)
{
    return (struct tree_identity){
        .device = st->st_dev,
        .inode = st->st_ino,
        .mode = st->st_mode,
        .size = st->st_size,
        .changed = st->st_ctim,
        .modified = st->st_mtim,
    };
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same(const struct tree_identity *a, const struct tree_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->mode == b->mode &&
           a->size == b->size && is_same_time(&a->changed, &b->changed) &&
           is_same_time(&a->modified, &b->modified);
}

/* Milliseconds for which something with this identity is still young. */
static int64_t young_ms(const struct tree_identity *identity)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_ms = (now.tv_sec - identity->changed.tv_sec) * MS_PER_S +
                     (now.tv_nsec - identity->changed.tv_nsec) / NS_PER_MS;
    int64_t wait_ms = (identity->changed.tv_nsec == 0 ? YOUNG_COARSE_MS : YOUNG_MS) - age_ms;
    /* A clock that was set back would make it young for long. */
    return wait_ms > 0 && age_ms >= -YOUNG_COARSE_MS ? wait_ms : 0;
}

/* --- reading ------------------------------------------------------------------------------ */

int tree_open_beneath(int root, const char *name, int flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
    };
    int fd = -1;
    for (int tries = 0; tries < RESOLVE_TRIES_MAX; tries++) {
        fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : fd;
}

int tree_open(const struct tree_place *place, const char *file, int flags)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s%s%s", place->name, *file ? "/" : "", file);
    return n >= (int)sizeof(path) ? -ENAMETOOLONG : tree_open_beneath(place->root, path, flags, 0);
}

/* Whether everybody may pass the directories on the way from ROOT to PATH, which has no link in it.
 * ROOT itself the jobs of the rubric pass. */
static bool is_open_to_all(int root, const char *path)
{
    char way[PATH_MAX];
    struct stat top, st;
    if (fstat(root, &top) < 0)
        return false;
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(way, sizeof(way), "%.*s", (int)(slash - path), path);
        if (fstatat(root, way, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
        bool is_top = st.st_dev == top.st_dev && st.st_ino == top.st_ino;
        if (!is_top && !(st.st_mode & S_IXOTH))
            return false;
    }
    return true;
}

/* Opens the file that the link NAME leads to, and stores its STAT. Negative errno: it leads out of
 * the bench root; through another link, because to follow a chain of them can take very long; or to
 * what not everybody may read, because the digest would tell jobs of it that may not. */
static int open_target(const struct tree_place *place, const char *name, int flags,
                       struct stat *ret_stat)
{
    char link[PATH_MAX], path[PATH_MAX], target[RUBRICDIR_NAME_MAX + 1];
    int length = snprintf(link, sizeof(link), "%s/%s", place->name, name);
    if (length >= (int)sizeof(link))
        return -ENAMETOOLONG;
    ssize_t n = readlinkat(place->root, link, target, sizeof(target));
    if (n < 0)
        return -errno;
    if (n == (ssize_t)sizeof(target) || *target == '/')
        return -EXDEV;
    int parent = (int)(strrchr(link, '/') - link);
    if (snprintf(path, sizeof(path), "%.*s/%.*s", parent, link, (int)n, target) >=
        (int)sizeof(path))
        return -ENAMETOOLONG;
    _cleanup_close_ int fd = tree_open_beneath(place->root, path, flags, RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return fd;
    if (fstat(fd, ret_stat) < 0)
        return -errno;
    if (!S_ISREG(ret_stat->st_mode))
        return -EXDEV;
    if (!(ret_stat->st_mode & S_IROTH) || !is_open_to_all(place->root, path))
        return -EACCES;
    return TAKE_FD(fd);
}

static int refuse(int error, const char *name, struct fault *fault)
{
    (void)fault_set(fault, "%s: %s", *name ? name : ".", strerror(error));
    return -error;
}

/* Adds a node, which takes over NAME. */
static int add_node(struct tree *tree, char *take_name, enum tree_kind kind,
                    const struct tree_identity *identity, const struct tree_identity *target)
{
    if (tree->n == tree->room) {
        size_t room = MAX(tree->room * 2, (size_t)16);
        struct tree_node *nodes = reallocarray(tree->nodes, room, sizeof(*nodes));
        if (!nodes) {
            free(take_name);
            return -ENOMEM;
        }
        tree->nodes = nodes;
        tree->room = room;
    }
    tree->nodes[tree->n++] = (struct tree_node){
        .name = take_name,
        .kind = kind,
        .identity = *identity,
        .target = *target,
        .is_young = kind == TREE_DIRECTORY && young_ms(identity) > 0,
    };
    return 0;
}

struct walk {
    const struct tree_place *place;
    struct tree *tree;
    struct fault *fault;
};

static int add_file(struct walk *walk, char *take_name, enum tree_kind kind,
                    const struct stat *name_st, const struct stat *file_st)
{
    _cleanup_free_ char *name = take_name;
    struct tree_identity identity = identity_of(name_st), target = identity_of(file_st);
    if (!manifest_is_name(name))
        return fault_set(walk->fault,
                         "%.200s: a name with a control character, or of more than %d bytes", name,
                         RUBRICDIR_NAME_MAX);
    if (++walk->tree->files > RUBRICDIR_FILES_MAX)
        return fault_set(walk->fault, "more than %d files", RUBRICDIR_FILES_MAX);
    if (file_st->st_size > RUBRICDIR_BYTES_MAX ||
        (walk->tree->bytes += (uint64_t)file_st->st_size) > RUBRICDIR_BYTES_MAX)
        return fault_set(walk->fault, "more than %u MiB of files", RUBRICDIR_BYTES_MAX >> 20);
    return add_node(walk->tree, TAKE_PTR(name), kind, &identity, &target);
}

/* Finds the file that the link NAME leads to. */
static int add_link(struct walk *walk, char *take_name, const struct stat *st)
{
    _cleanup_free_ char *name = take_name;
    struct stat target;
    _cleanup_close_ int fd = open_target(walk->place, name, O_PATH, &target);
    if (fd < 0 && is_shortage(-fd))
        return refuse(-fd, name, walk->fault);
    if (fd == -EACCES)
        return fault_set(walk->fault, "%s: a link to a file that not everybody may read", name);
    if (fd == -ELOOP)
        return fault_set(walk->fault, "%s: a link that leads through another link", name);
    if (fd < 0)
        return fault_set(walk->fault, "%s: a link that leads to no file beneath the bench root",
                         name);
    return add_file(walk, TAKE_PTR(name), TREE_LINK, st, &target);
}

static int walk_directory(struct walk *walk, int take_fd, char *take_name, unsigned depth);

static int add_entry(struct walk *walk, int parent, char *take_name, const char *last,
                     unsigned depth)
{
    _cleanup_free_ char *name = take_name;
    struct stat st;
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return refuse(errno, name, walk->fault);
    if (S_ISREG(st.st_mode))
        return add_file(walk, TAKE_PTR(name), TREE_FILE, &st, &st);
    if (S_ISLNK(st.st_mode))
        return add_link(walk, TAKE_PTR(name), &st);
    if (!S_ISDIR(st.st_mode))
        return fault_set(walk->fault, "%s: neither a file nor a directory", name);
    if (depth == RUBRICDIR_DEPTH_MAX)
        return fault_set(walk->fault, "%s: more than %d directories below each other", name,
                         RUBRICDIR_DEPTH_MAX);
    int fd = openat(parent, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return refuse(errno, name, walk->fault);
    return walk_directory(walk, fd, TAKE_PTR(name), depth + 1);
}

static void close_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

static int walk_entries(struct walk *walk, DIR *dir, const char *name, unsigned depth)
{
    const struct dirent *entry;
    int r = 0;
    while (r == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
        char *path = NULL;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (asprintf(&path, "%s%s%s", name, *name ? "/" : "", entry->d_name) < 0)
            return -ENOMEM;
        r = add_entry(walk, dirfd(dir), path, entry->d_name, depth);
    }
    return r == 0 && errno != 0 ? refuse(errno, name, walk->fault) : r;
}

static int walk_directory(struct walk *walk, int take_fd, char *take_name, unsigned depth)
{
    _cleanup_free_ char *name = take_name;
    _cleanup_close_ int fd = take_fd;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return refuse(errno, name, walk->fault);
    if (++walk->tree->directories > RUBRICDIR_DIRECTORIES_MAX)
        return fault_set(walk->fault, "more than %d directories", RUBRICDIR_DIRECTORIES_MAX);
    /* Before it is listed: what comes into it later makes it another one. */
    struct tree_identity identity = identity_of(&st);
    char *own = strdup(name);
    if (!own || add_node(walk->tree, own, TREE_DIRECTORY, &identity, &identity) < 0)
        return -ENOMEM;
    _cleanup_(close_dir) DIR *dir = fdopendir(fd);
    if (!dir)
        return refuse(errno, name, walk->fault);
    (void)TAKE_FD(fd);
    return walk_entries(walk, dir, name, depth);
}

static int by_name(const void *left, const void *right)
{
    const struct tree_node *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* The program runs where rubric.py really is, and finds its helpers there. */
static int check_rubric(const struct tree_place *place, struct fault *fault)
{
    char link[64], path[PATH_MAX];
    _cleanup_close_ int rubric = tree_open(place, "rubric.py", O_PATH);
    _cleanup_close_ int directory = tree_open(place, "", O_PATH | O_DIRECTORY);
    if (rubric < 0)
        return refuse(-rubric, "rubric.py", fault);
    if (directory < 0)
        return refuse(-directory, "", fault);
    char at[PATH_MAX];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", rubric);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, at, sizeof(at) - 1);
    if (n < 0 || length < 0)
        return refuse(errno, "rubric.py", fault);
    path[n] = '\0';
    at[length] = '\0';
    const char *slash = strrchr(path, '/');
    if (!slash || slash - path != length || strncmp(path, at, (size_t)length) != 0)
        return fault_set(fault, "rubric.py: a link out of its directory, whose helpers are others");
    return 0;
}

int tree_read(const struct tree_place *place, struct tree *ret, struct fault *fault)
{
    _cleanup_tree_ struct tree tree = TREE_NULL;
    struct walk walk = {.place = place, .tree = &tree, .fault = fault};
    int r = check_rubric(place, fault);
    if (r < 0)
        return r;
    int fd = tree_open(place, "", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return refuse(-fd, "", fault);
    char *name = strdup("");
    if (!name) {
        (void)close_fd(fd);
        return -ENOMEM;
    }
    r = walk_directory(&walk, fd, name, 0);
    if (r < 0)
        return r;
    if (tree.n > 0)
        qsort(tree.nodes, tree.n, sizeof(*tree.nodes), by_name);
    *ret = TAKE_STRUCT(tree, TREE_NULL);
    return 0;
}

/* --- asking again ------------------------------------------------------------------------- */

static bool is_node_current(const struct tree_node *node, const struct tree_place *place,
                            int directory)
{
    struct stat st;
    if (node->is_young ||
        fstatat(directory, node->name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
        return false;
    struct tree_identity now = identity_of(&st);
    if (!is_same(&now, &node->identity))
        return false;
    if (node->kind != TREE_LINK)
        return true;
    _cleanup_close_ int fd = open_target(place, node->name, O_PATH, &st);
    if (fd < 0)
        return false;
    now = identity_of(&st);
    return is_same(&now, &node->target);
}

bool tree_is_current(const struct tree *tree, const struct tree_place *place)
{
    _cleanup_close_ int directory = tree_open(place, "", O_PATH | O_DIRECTORY);
    for (size_t i = 0; directory >= 0 && i < tree->n; i++)
        if (!is_node_current(&tree->nodes[i], place, directory))
            return false;
    return directory >= 0;
}

void tree_adopt(struct tree *tree, const struct tree *old)
{
    for (size_t i = 0, j = 0; i < tree->n; i++) {
        struct tree_node *node = &tree->nodes[i];
        while (j < old->n && strcmp(old->nodes[j].name, node->name) < 0)
            j++;
        if (j == old->n)
            return;
        const struct tree_node *before = &old->nodes[j];
        if (strcmp(before->name, node->name) != 0 || !before->is_hashed || before->is_young ||
            !is_same(&before->target, &node->target))
            continue;
        memcpy(node->digest, before->digest, sizeof(node->digest));
        node->is_hashed = true;
    }
}

/* --- contents ----------------------------------------------------------------------------- */

void tree_cursor_deinit(struct tree_cursor *cursor)
{
    cursor->fd = close_fd(cursor->fd);
}

/* Moves the cursor to a file that is not digested. Returns whether there is one. */
static bool find_next(const struct tree *tree, struct tree_cursor *cursor)
{
    while (cursor->at < tree->n &&
           (tree->nodes[cursor->at].kind == TREE_DIRECTORY || tree->nodes[cursor->at].is_hashed))
        cursor->at++;
    return cursor->at < tree->n;
}

int64_t tree_young_ms(const struct tree *tree, const struct tree_cursor *cursor)
{
    struct tree_cursor next = {.at = cursor->at};
    return cursor->fd < 0 && find_next(tree, &next) ? young_ms(&tree->nodes[next.at].target) : 0;
}

/* Opens the file at the cursor, and looks whether it is the one that was listed. */
static int open_file(struct tree_node *node, const struct tree_place *place,
                     struct tree_cursor *cursor, struct fault *fault)
{
    struct stat st;
    /* O_NONBLOCK: a fifo may have taken its place. */
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    _cleanup_close_ int fd = node->kind == TREE_LINK ? open_target(place, node->name, flags, &st)
                                                     : tree_open(place, node->name, flags);
    if (fd == -ENOENT)
        return -EAGAIN;
    if (fd < 0)
        return refuse(-fd, node->name, fault);
    if (fstat(fd, &st) < 0)
        return refuse(errno, node->name, fault);
    struct tree_identity identity = identity_of(&st);
    if (!is_same(&identity, &node->target))
        return -EAGAIN;
    node->is_young = young_ms(&identity) > 0;
    cursor->fd = TAKE_FD(fd);
    cursor->read = 0;
    SHA256Init(&cursor->context);
    return 0;
}

/* Ends the file at the cursor: it is as it was if nothing about it has changed. */
static int end_file(struct tree_node *node, struct tree_cursor *cursor)
{
    struct stat st;
    if (fstat(cursor->fd, &st) < 0)
        return -EAGAIN;
    struct tree_identity identity = identity_of(&st);
    if (!is_same(&identity, &node->target) || cursor->read != (uint64_t)st.st_size)
        return -EAGAIN;
    (void)SHA256End(&cursor->context, node->digest);
    node->is_hashed = true;
    cursor->fd = close_fd(cursor->fd);
    return 1;
}

/* 1: the file at the cursor is digested; 0: the budget is used up. */
static int read_file(struct tree_node *node, struct tree_cursor *cursor, uint64_t *budget,
                     struct fault *fault)
{
    uint8_t data[32768];
    while (*budget > 0) {
        ssize_t n = read(cursor->fd, data, (size_t)MIN(sizeof(data), *budget));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return refuse(errno, node->name, fault);
        if (n == 0)
            return end_file(node, cursor);
        SHA256Update(&cursor->context, data, (size_t)n);
        cursor->read += (uint64_t)n;
        *budget -= (uint64_t)n;
        if (cursor->read > (uint64_t)node->target.size)
            return -EAGAIN;
    }
    return 0;
}

int tree_hash(struct tree *tree, const struct tree_place *place, struct tree_cursor *cursor,
              uint64_t *budget, struct fault *fault)
{
    int r = 1;
    while (r > 0 && find_next(tree, cursor)) {
        struct tree_node *node = &tree->nodes[cursor->at];
        r = 0;
        if (cursor->fd < 0) {
            *budget -= MIN(*budget, OPEN_BYTES);
            r = open_file(node, place, cursor, fault);
        }
        if (r == 0)
            r = read_file(node, cursor, budget, fault);
    }
    if (r < 0)
        tree_cursor_deinit(cursor);
    return r;
}

int tree_manifest(const struct tree *tree, struct bytes *ret)
{
    size_t n = 0;
    _cleanup_free_ struct manifest_file *files =
        calloc(MAX(tree->files, (size_t)1), sizeof(*files));
    if (!files)
        return -ENOMEM;
    for (size_t i = 0; i < tree->n; i++) {
        const struct tree_node *node = &tree->nodes[i];
        if (node->kind == TREE_DIRECTORY)
            continue;
        files[n] = (struct manifest_file){
            .name = node->name,
            .size = (uint64_t)node->target.size,
            .is_executable = (node->target.mode & 0111) != 0,
        };
        memcpy(files[n++].digest, node->digest, sizeof(node->digest));
    }
    return manifest_print(files, n, ret);
}
