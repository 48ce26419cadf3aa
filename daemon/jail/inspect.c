/* SPDX-License-Identifier: MIT */
#include "inspect.h"
#include "proc_files.h"

#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns how many entries of the directory PATH are numbers; -1 if it cannot be read. */
static int count_numbers(int proc, const char *path)
{
    _cleanup_(closedir_pointer) DIR *dir = open_directory(proc, path);
    int count = 0;
    if (!dir)
        return -1;
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    return count;
}

int inspect_processes(int proc)
{
    return count_numbers(proc, ".");
}

pid_t inspect_child(int proc, pid_t parent)
{
    _cleanup_(closedir_pointer) DIR *dir = open_directory(proc, ".");
    pid_t found = -1;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || parent_of(proc, entry->d_name) != parent)
            continue;
        if (found > 0)
            return -1;
        found = (pid_t)pid;
    }
    return found;
}

int inspect_threads(int proc, pid_t pid)
{
    struct stat st;
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/task", (int)pid);
    return fstatat(proc, path, &st, 0) < 0 ? -1 : (int)st.st_nlink - 2;
}

int inspect_descriptors(int proc, pid_t pid)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/fd", (int)pid);
    return count_numbers(proc, path);
}

/* Such memory has `s` among its rights, and among its flags `mw`, "may write". */
bool inspect_shares_memory(int proc, pid_t pid)
{
    char path[32], *line = NULL;
    size_t size = 0;
    (void)snprintf(path, sizeof(path), "%d/smaps", (int)pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
    if (!maps) {
        close_fd(fd);
        return true;
    }
    bool is_shared = false, shares = false;
    size_t mappings = 0;
    while (!shares && getline(&line, &size, maps) > 0) {
        char rights[5] = "", flags[] = "VmFlags:";
        if (sscanf(line, "%*x-%*x %4s", rights) == 1) { /* "from-to rwxs ..." */
            is_shared = rights[3] != 'p';
            mappings++;
        } else if (strncmp(line, flags, strlen(flags)) == 0) {
            shares = is_shared && strstr(line, " mw");
            is_shared = false;
        }
    }
    free(line);
    (void)fclose(maps);
    return shares || is_shared || mappings == 0;
}

uint64_t inspect_memory(int proc, pid_t pid)
{
    char path[32], text[1024];
    (void)snprintf(path, sizeof(path), "%d/smaps_rollup", (int)pid);
    const char *pss = read_text(proc, path, text, sizeof(text)) ? strstr(text, "\nPss:") : NULL;
    return pss ? strtoull(pss + strlen("\nPss:"), NULL, 10) * 1024 : UINT64_MAX;
}
