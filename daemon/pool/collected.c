/* SPDX-License-Identifier: MIT */
#include "collected.h"

#include "daemon/jail/disk.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Bytes of all records without the contents. */
#define HEADS_MAX ((LINK_FILES_MAX + LINK_LEFT_MAX) * (sizeof(struct link_file) + LINK_NAME_MAX))

int collected_new(void)
{
    int fd = memfd_create("rubricd-collected", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd < 0 ? -errno : fd;
}

int collected_seal(int fd, uint64_t max)
{
    struct stat st;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ||
        fstat(fd, &st) < 0)
        return -errno;
    return (uint64_t)st.st_size > HEADS_MAX + max ? -EPROTO : 0;
}

size_t collected_bytes(int fd)
{
    struct stat status;
    return fd > 0 && fstat(fd, &status) == 0 ? (size_t)status.st_size : 0;
}

int collected_init(struct collected *collected, int fd)
{
    struct stat st;
    *collected = (struct collected)COLLECTED_NULL;
    if (fd <= 0)
        return 0;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size == 0)
        return 0;
    assert(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK); /* else reading may end in SIGBUS */
    void *records = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (records == MAP_FAILED)
        return -errno;
    collected->records = records;
    collected->size = (size_t)st.st_size;
    return 0;
}

/* Whether NAME is relative and in normal form. */
static bool is_name(const char *name, size_t length)
{
    const char *end = name + length;
    if (length == 0 || length > LINK_NAME_MAX || memchr(name, '\0', length))
        return false;
    for (const char *part = name;; part++) {
        const char *slash = memchr(part, '/', (size_t)(end - part));
        size_t n = (size_t)((slash ? slash : end) - part);
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += n;
        if (!slash)
            return true;
    }
}

int collected_next(struct collected *collected, struct collected_file *ret)
{
    struct link_file header;
    size_t left = collected->size - collected->at;
    if (left == 0)
        return 0;
    if (left < sizeof(header))
        return -EPROTO;
    const char *at = collected->records + collected->at;
    memcpy(&header, at, sizeof(header));
    at += sizeof(header);
    left -= sizeof(header);
    bool is_left_out = header.mode & LINK_LEFT_OUT;
    uint32_t word = header.mode & ~LINK_LEFT_OUT, max = is_left_out ? LINK_LEFT_COUNT - 1 : 0777;
    if (left < header.name_length || word > max || !is_name(at, header.name_length) ||
        (!is_left_out && left - header.name_length < header.size))
        return -EPROTO;
    *ret = (struct collected_file){
        .name = at,
        .name_length = header.name_length,
        .is_left_out = is_left_out,
        .why = is_left_out ? (enum link_left)word : 0,
        .mode = is_left_out ? 0 : word,
        .size = header.size,
        .content = is_left_out ? NULL : at + header.name_length,
    };
    at += header.name_length + (is_left_out ? 0 : header.size);
    collected->at = (size_t)(at - collected->records);
    return 1;
}

/* How many directories the name of FILE needs beyond those that AFTER's has. */
static uint64_t new_directories(const struct collected_file *file,
                                const struct collected_file *after)
{
    uint64_t count = 0;
    bool is_shared = true;
    for (size_t i = 0; i < file->name_length; i++) {
        is_shared = is_shared && i < after->name_length && file->name[i] == after->name[i];
        count += file->name[i] == '/' && !is_shared;
    }
    return count;
}

int collected_fit(int fd, uint64_t disk_bytes, uint64_t beside)
{
    _cleanup_collected_ struct collected collected = COLLECTED_NULL;
    struct collected_file file, before = {.name_length = 0};
    uint64_t pages = disk_pages(beside), inodes = beside > 0;
    int r = collected_init(&collected, fd);
    while (r >= 0 && (r = collected_next(&collected, &file)) > 0) {
        if (file.is_left_out)
            continue;
        pages += disk_pages(file.size);
        inodes += 1 + new_directories(&file, &before);
        before = file;
    }
    return r < 0 ? r : pages <= disk_pages(disk_bytes) && inodes <= disk_inodes(disk_bytes);
}

void collected_deinit(struct collected *collected)
{
    if (collected->records)
        (void)munmap((void *)(uintptr_t)collected->records, collected->size);
    *collected = (struct collected)COLLECTED_NULL;
}

const char *collected_why(enum link_left why)
{
    static const char *const words[LINK_LEFT_COUNT] = {
        [LINK_LEFT_MISSING] = "missing", [LINK_LEFT_IRREGULAR] = "irregular",
        [LINK_LEFT_SHARED] = "shared",   [LINK_LEFT_CLOSED] = "closed",
        [LINK_LEFT_LARGE] = "too_large", [LINK_LEFT_MANY] = "too_many",
    };
    return why < LINK_LEFT_COUNT ? words[why] : "unknown";
}
