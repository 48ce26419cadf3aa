/* SPDX-License-Identifier: MIT */
#include "work.h"
#include "disk.h"
#include "link.h"
#include "mounts.h"
#include "move.h"
#include "wipe.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

/* Size of the tmpfs until the first job names its limit. */
#define SIZE_AT_FIRST (UINT64_C(1) << 20)

#define ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* Where the view holds the tmpfs while its parts are cloned from it. */
#define STAGING "/.work"

static const struct {
    const char *name;   /* in the tmpfs */
    const char *target; /* in the view */
    mode_t mode;
} places[WORK_DIRECTORIES] = {
    [WORK_CWD] = {"work", VIEW_WORK, 0700},
    [WORK_TMP] = {"tmp", "/tmp", 01777},
    [WORK_SHM] = {"shm", "/dev/shm", 01777},
    [WORK_TWIN_TMP] = {"twin-tmp", "/tmp", 01777},
    [WORK_TWIN_SHM] = {"twin-shm", "/dev/shm", 01777},
    [WORK_APART] = {"apart", NULL, 0700},
};

/* --- the tmpfs ----------------------------------------------------------------------------- */

struct bounds {
    char size[24], inodes[24];
    struct mount_option options[3];
};

static void make_bounds(struct bounds *bounds, uint64_t size)
{
    (void)snprintf(bounds->size, sizeof(bounds->size), "%llu", (unsigned long long)size);
    /* The tmpfs's own directories do not count against the job. */
    (void)snprintf(bounds->inodes, sizeof(bounds->inodes), "%llu",
                   (unsigned long long)disk_inodes(size) + WORK_DIRECTORIES + 1);
    bounds->options[0] = (struct mount_option){"size", bounds->size};
    bounds->options[1] = (struct mount_option){"nr_inodes", bounds->inodes};
    bounds->options[2] = (struct mount_option){NULL, NULL};
}

static int attach_part(struct work *work, size_t i)
{
    char path[32];
    assert(work->directories[i] < 0);
    (void)snprintf(path, sizeof(path), STAGING "/%s", places[i].name);
    _cleanup_close_ int part = mounts_clone(AT_FDCWD, path, ATTRIBUTES, false, MOUNTS_NO_PASS);
    int r = part < 0 ? part : mounts_attach(part, AT_FDCWD, places[i].target, MOUNTS_NO_PASS);
    if (r < 0)
        return r;
    work->directories[i] = open(places[i].target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return work->directories[i] < 0 ? -errno : 0;
}

/* Keeps the tmpfs where twins can be given parts of it. */
static int put_by(struct work *work, int tmpfs, const struct view *view, const char *place)
{
    _cleanup_close_ int all = mounts_clone(AT_FDCWD, STAGING, ATTRIBUTES, false, MOUNTS_NO_PASS);
    int r = all < 0 ? all : view_put_by(view, all, place);
    work->place = place;
    for (size_t i = WORK_SEEN; i < WORK_DIRECTORIES && r == 0; i++) {
        work->directories[i] = openat(tmpfs, places[i].name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (work->directories[i] < 0)
            r = -errno;
    }
    return r;
}

static int attach_parts(struct work *work, int tmpfs, const struct view *view, bool shown_tmp,
                        const char *place)
{
    int r = view_attach(view, tmpfs, STAGING, NULL);
    if (r < 0)
        return r;
    for (size_t i = 0; i < WORK_SEEN && r == 0; i++)
        if (i != WORK_TMP || !shown_tmp)
            r = attach_part(work, i);
    if (r == 0)
        r = put_by(work, tmpfs, view, place);
    if (umount2(STAGING, MNT_DETACH) < 0 && r == 0)
        r = -errno;
    (void)unlinkat(view->root, &STAGING[1], AT_REMOVEDIR);
    return r;
}

/* Clears the inode flags. Where the filter is in force, neither a job nor the jail can set any. */
static int reset_flags(int directory)
{
    int flags = 0;
    if (ioctl(directory, FS_IOC_GETFLAGS, &flags) < 0 || flags == 0) /* older kernels have none */
        return 0;
    flags = 0;
    return ioctl(directory, FS_IOC_SETFLAGS, &flags) < 0 ? -errno : 0;
}

/* Resets the attributes of a directory that a job may have changed and the next job could see:
 * mode, flags, extended attributes, times. */
static int reset(int directory, mode_t mode)
{
    static const struct timespec times[2] = {{0, 0}, {0, 0}};
    char names[4096]; /* if they need more room, this fails and a new jail replaces this one */
    struct stat st;
    if (fstat(directory, &st) < 0 || ((st.st_mode & 07777) != mode && fchmod(directory, mode) < 0))
        return -errno;
    int r = reset_flags(directory);
    if (r < 0)
        return r;
    ssize_t n = flistxattr(directory, names, sizeof(names));
    if (n < 0 && errno != ENOTSUP)
        return -errno;
    for (char *name = names; name < names + n; name += strlen(name) + 1)
        (void)fremovexattr(directory, name);
    bool touched = st.st_atim.tv_sec != 0 || st.st_atim.tv_nsec != 0 || st.st_mtim.tv_sec != 0 ||
                   st.st_mtim.tv_nsec != 0;
    return touched && futimens(directory, times) < 0 ? -errno : 0;
}

/* One of the two. */
struct disk {
    int top;
    const int *directories;
    size_t count;
};

static struct disk main_disk(const struct work *work)
{
    return (struct disk){work->top, work->directories, WORK_DIRECTORIES};
}

static struct disk apart_disk(const struct work *work)
{
    return (struct disk){work->apart, work->apart_directories, WORK_SEEN};
}

static int reset_all(struct disk disk)
{
    int r = 0;
    for (size_t i = 0; i < disk.count && r == 0; i++)
        if (disk.directories[i] >= 0)
            r = reset(disk.directories[i], places[i].mode);
    return r;
}

static int new_tmpfs(size_t count)
{
    struct bounds bounds;
    make_bounds(&bounds, SIZE_AT_FIRST);
    _cleanup_close_ int tmpfs =
        mounts_new("tmpfs", bounds.options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, MOUNTS_NO_PASS);
    if (tmpfs < 0)
        return tmpfs;
    for (size_t i = 0; i < count; i++)
        if (mkdirat(tmpfs, places[i].name, 0700) < 0 ||
            fchownat(tmpfs, places[i].name, VIEW_UID, VIEW_GID, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
    return TAKE_FD(tmpfs);
}

/* Makes the tmpfs of joined candidates, and puts it by inside the other one. */
static int open_apart(struct work *work, const struct view *view, const char *place)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", place, places[WORK_APART].name) >= PATH_MAX)
        return -ENAMETOOLONG;
    _cleanup_close_ int tmpfs = new_tmpfs(WORK_SEEN);
    if (tmpfs < 0)
        return tmpfs;
    for (size_t i = 0; i < WORK_SEEN; i++) {
        work->apart_directories[i] =
            openat(tmpfs, places[i].name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (work->apart_directories[i] < 0)
            return -errno;
    }
    int r = view_put_by(view, tmpfs, path);
    if (r == 0)
        r = reset_all(apart_disk(work));
    if (r < 0)
        return r;
    work->apart = TAKE_FD(tmpfs);
    work->apart_size = SIZE_AT_FIRST;
    return 0;
}

int work_open_tmpfs(struct work *work, const struct view *view, bool shown_tmp, const char *place)
{
    _cleanup_close_ int tmpfs = new_tmpfs(WORK_DIRECTORIES);
    if (tmpfs < 0)
        return tmpfs;
    int r = attach_parts(work, tmpfs, view, shown_tmp, place);
    if (r == 0)
        r = open_apart(work, view, place);
    if (r == 0)
        r = reset_all(main_disk(work));
    if (r < 0)
        return r;
    work->top = TAKE_FD(tmpfs);
    work->is_tmpfs = true;
    work->pass = view->pass;
    work->size = SIZE_AT_FIRST;
    return 0;
}

/* Makes *SIZE, the size limit of the tmpfs TOP, DISK_BYTES. */
static int resize(int top, uint64_t *size, uint64_t disk_bytes, uint64_t pass)
{
    struct bounds bounds;
    if (disk_bytes == *size)
        return 0;
    make_bounds(&bounds, disk_bytes);
    int r = mounts_reconfigure(top, bounds.options, pass);
    if (r == 0)
        *size = disk_bytes;
    return r;
}

static int begin_tmpfs(struct work *work, uint64_t disk_bytes, int *ret_cwd)
{
    int r = resize(work->top, &work->size, disk_bytes, work->pass);
    if (r == 0)
        *ret_cwd = work->directories[WORK_CWD];
    return r;
}

/* Returns 0 if the tmpfs has nothing in it but its own directories. -EBUSY: there is more, be it
 * files without a name that something holds open. */
static int check_use(struct disk disk)
{
    struct statfs st;
    if (fstatfs(disk.top, &st) < 0)
        return -errno;
    bool is_first = st.f_files - st.f_ffree == disk.count + 1 && st.f_bfree == st.f_blocks;
    return is_first ? 0 : -EBUSY;
}

static int empty_disk(struct disk disk)
{
    int r = reset_all(disk);
    if (r == 0)
        r = check_use(disk);
    if (r != -EBUSY)
        return r;
    /* Most jobs that have files have them in their working directory alone. */
    r = wipe_contents(disk.directories[WORK_CWD]);
    if (r == 0)
        r = reset(disk.directories[WORK_CWD], places[WORK_CWD].mode);
    if (r == 0 && check_use(disk) == 0)
        return 0;
    for (size_t i = 0; i < disk.count && r == 0; i++)
        if (disk.directories[i] >= 0)
            r = wipe_contents(disk.directories[i]);
    if (r == 0)
        r = reset_all(disk); /* wiping changes times */
    return r < 0 ? r : check_use(disk);
}

static int empty_tmpfs(struct work *work)
{
    int r = empty_disk(main_disk(work));
    if (r == 0 && work->is_apart_used)
        r = empty_disk(apart_disk(work));
    work->is_apart_used = false;
    return r;
}

/* --- a directory --------------------------------------------------------------------------- */

static int open_made(const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int work_open_directory(struct work *work, const char *path)
{
    char link[32];
    /* The parent directory is the supervisor's, but a job may have replaced the directory itself by
     * anything. */
    _cleanup_close_ int slot = open_made(path);
    if (slot == -ENOTDIR || slot == -ELOOP) {
        int r = wipe_tree(AT_FDCWD, path);
        slot = r < 0 ? r : open_made(path);
    }
    if (slot < 0)
        return slot;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", slot);
    (void)chmod(link, 0700);
    work->top = openat(slot, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return work->top < 0 ? -errno : wipe_contents(work->top);
}

/* Opens the directory of job JOB_NO, or of what is joined with it, in the slot's directory. */
static int open_job(const struct work *work, uint64_t job_no, bool is_candidate, bool makes)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%s-%llu", is_candidate ? "candidate" : "job",
                   (unsigned long long)job_no);
    if (makes && mkdirat(work->top, name, 0700) < 0)
        return -errno;
    int fd = openat(work->top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int begin_directory(struct work *work, uint64_t job_no, int *ret_cwd)
{
    int fd = open_job(work, job_no, false, true);
    if (fd < 0)
        return fd;
    assert(work->job < 0); /* work_empty() has closed that of the job before */
    *ret_cwd = work->job = fd;
    return 0;
}

/* Empties the slot's directory, whatever name the job's directory has by now. */
static int empty_directory(struct work *work)
{
    work->job = close_fd(work->job);
    work->candidate = close_fd(work->candidate);
    (void)fchmod(work->top, 0700); /* jobs run as the same user and may have changed it */
    return wipe_contents(work->top);
}

/* --- the twin's part ------------------------------------------------------------------------- */

int work_prepare_twin(struct work *work, const struct view *view, bool is_apart)
{
    assert(work->twin_tmp < 0 && work->twin_shm < 0 && work->twin_cwd < 0);
    int r = 0;
    if (!work->is_tmpfs)
        return 0;
    if (work->directories[WORK_TMP] >= 0)
        r = work->twin_tmp =
            view_take(view, work->place, is_apart ? "apart/tmp" : "twin-tmp", ATTRIBUTES);
    if (r >= 0)
        r = work->twin_shm =
            view_take(view, work->place, is_apart ? "apart/shm" : "twin-shm", ATTRIBUTES);
    if (r >= 0 && is_apart)
        r = work->twin_cwd = view_take(view, work->place, "apart/work", ATTRIBUTES);
    return r < 0 ? r : 0;
}

void work_forget_twin(struct work *work)
{
    work->twin_tmp = close_fd(work->twin_tmp);
    work->twin_shm = close_fd(work->twin_shm);
    work->twin_cwd = close_fd(work->twin_cwd);
}

static int replace_part(struct work *work, size_t i, int *mount)
{
    if (*mount < 0)
        return 0;
    int r = mounts_detach(places[i].target, work->pass);
    if (r == 0)
        r = mounts_attach(*mount, AT_FDCWD, places[i].target, work->pass);
    *mount = close_fd(*mount);
    return r;
}

/* The descriptors of the jail belong to mounts of the jail's namespace. */
static int reopen_parts(struct work *work)
{
    for (size_t i = 0; i < WORK_DIRECTORIES; i++) {
        bool is_seen = i < WORK_SEEN && work->directories[i] >= 0;
        work->directories[i] = close_fd(work->directories[i]);
        if (!is_seen)
            continue;
        work->directories[i] = open(places[i].target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (work->directories[i] < 0)
            return -errno;
    }
    return 0;
}

int work_enter_twin(struct work *work, bool is_apart)
{
    assert(work->top >= 0 && work->job < 0);
    work->is_apart = is_apart;
    if (!work->is_tmpfs)
        return 0;
    work->top = close_fd(work->top);
    work->apart = close_fd(work->apart);
    for (size_t i = 0; i < WORK_SEEN; i++)
        work->apart_directories[i] = close_fd(work->apart_directories[i]);
    int r = replace_part(work, WORK_TMP, &work->twin_tmp);
    if (r == 0)
        r = replace_part(work, WORK_SHM, &work->twin_shm);
    if (r == 0)
        r = replace_part(work, WORK_CWD, &work->twin_cwd);
    return r < 0 ? r : reopen_parts(work);
}

int work_join(struct work *work, uint64_t job_no, int *ret_cwd)
{
    assert(work->job < 0);
    int fd = work->is_tmpfs ? -1 : open_job(work, job_no, work->is_apart, false);
    if (fd < 0 && !work->is_tmpfs)
        return fd;
    work->job = fd;
    *ret_cwd = work->is_tmpfs ? work->directories[WORK_CWD] : fd;
    return 0;
}

int work_clear(const struct work *work)
{
    int r = 0;
    if (!work->is_tmpfs) {
        (void)fchmod(work->job, 0700);
        return wipe_contents(work->job);
    }
    for (size_t i = 0; i < WORK_SEEN && r == 0; i++)
        if (work->directories[i] >= 0)
            r = wipe_contents(work->directories[i]);
    return r < 0 ? r : reset_all(main_disk(work));
}

void work_leave(struct work *work)
{
    work->job = close_fd(work->job);
}

/* --- either -------------------------------------------------------------------------------- */

int work_begin(struct work *work, uint64_t job_no, uint64_t disk_bytes, int *ret_cwd)
{
    assert(work->top >= 0);
    return work->is_tmpfs ? begin_tmpfs(work, disk_bytes, ret_cwd)
                          : begin_directory(work, job_no, ret_cwd);
}

int work_begin_candidate(struct work *work, uint64_t job_no, uint64_t disk_bytes, int *ret_cwd)
{
    if (work->is_tmpfs) {
        work->is_apart_used = true;
        *ret_cwd = work->apart_directories[WORK_CWD];
        return resize(work->apart, &work->apart_size, disk_bytes, work->pass);
    }
    int fd = open_job(work, job_no, true, true);
    if (fd < 0)
        return fd;
    assert(work->candidate < 0);
    *ret_cwd = work->candidate = fd;
    return 0;
}

static bool is_full(int top)
{
    struct statfs st;
    return fstatfs(top, &st) == 0 && (st.f_bfree == 0 || st.f_ffree == 0);
}

bool work_is_full(const struct work *work)
{
    return work->is_tmpfs && is_full(work->top);
}

bool work_candidate_is_full(const struct work *work)
{
    return work->is_apart_used && is_full(work->apart);
}

bool work_lacks_room(const struct work *work)
{
    struct statfs st;
    return !work->is_tmpfs && fstatfs(work->top, &st) == 0 &&
           (st.f_bavail == 0 || (st.f_files > 0 && st.f_ffree == 0));
}

bool work_is_clear(const struct work *work)
{
    for (unsigned i = 0; work->is_tmpfs && i < WORK_SEEN; i++)
        if (work->directories[i] >= 0 && !wipe_is_empty(work->directories[i]))
            return false;
    return work->is_tmpfs;
}

int work_empty(struct work *work)
{
    return work->is_tmpfs ? empty_tmpfs(work) : empty_directory(work);
}

/* --- files --------------------------------------------------------------------------------- */

static bool is_plain(const char *part)
{
    return *part && strcmp(part, ".") != 0 && strcmp(part, "..") != 0;
}

/* Opens the directory that holds NAME beneath CWD, making what is missing, and points *ret_last at
 * the last component. Follows no link. Modifies NAME. */
static int open_parent(int cwd, char *name, const char **ret_last)
{
    int dir = fcntl(cwd, F_DUPFD_CLOEXEC, 0);
    for (char *slash; dir >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        _cleanup_close_ int above = dir;
        *slash = '\0';
        if (!is_plain(name))
            return -EPROTO;
        if (mkdirat(above, name, 0755) < 0 && errno != EEXIST)
            return -errno;
        dir = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    *ret_last = name;
    return dir < 0 ? -errno : dir;
}

/* Copies SIZE bytes of FILES from *AT on, which it advances, into a new file NAME. */
static int unpack_file(int cwd, char *name, mode_t mode, int files, off_t *at, uint64_t size)
{
    const char *last = name;
    _cleanup_close_ int dir = open_parent(cwd, name, &last);
    if (dir < 0)
        return dir;
    if (!is_plain(last))
        return -EPROTO;
    _cleanup_close_ int fd =
        openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int64_t copied = move_bytes(files, at, fd, size);
    if (copied < 0)
        return (int)copied;
    if ((uint64_t)copied < size)
        return -EPROTO;
    return fchmod(fd, mode & 0777) < 0 ? -errno : 0;
}

static int unpack_files(int cwd, int files, bool spares, char name[PATH_MAX])
{
    for (off_t at = 0;;) {
        struct link_file header;
        ssize_t n = pread(files, &header, sizeof(header), at);
        if (n == 0)
            return 0;
        at += (off_t)sizeof(header);
        if (n != (ssize_t)sizeof(header) || header.name_length == 0 ||
            header.name_length >= PATH_MAX ||
            pread(files, name, header.name_length, at) != (ssize_t)header.name_length)
            return -EPROTO;
        name[header.name_length] = '\0';
        at += header.name_length;
        if (header.mode & LINK_LEFT_OUT)
            continue;
        int r = unpack_file(cwd, name, (mode_t)header.mode, files, &at, header.size);
        bool is_there = spares && (r == -EEXIST || r == -ENOTDIR);
        if (is_there && header.size <= INT64_MAX / 2)
            at += (off_t)header.size;
        else if (r < 0)
            return is_there ? -EPROTO : r;
    }
}

int work_unpack(int cwd, int files, int prepared)
{
    char name[PATH_MAX];
    int r = files >= 0 ? unpack_files(cwd, files, false, name) : 0;
    if (r == 0 && prepared >= 0)
        r = unpack_files(cwd, prepared, true, name);
    explicit_bzero(name, sizeof(name)); /* the next job may be a copy of this memory */
    return r;
}
