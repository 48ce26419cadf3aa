/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target without libFuzzer, on each file of the folders that its arguments name. */
#include "tests/fuzz/fuzz.h"

#include "proto/util.h"

#include <dirent.h>
#include <string.h>

/* Of some targets. */
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

/* Each file is in an allocation of exactly its size: a sanitizer sees what is read behind it. */
static int replay_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return -errno;
    long size = ftell(file);
    uint8_t *data = size < 0 ? NULL : malloc(MAX((size_t)size, (size_t)1));
    if (!data || fseek(file, 0, SEEK_SET) != 0 ||
        fread(data, 1, (size_t)size, file) != (size_t)size || fclose(file) != 0)
        return -EIO;
    uint8_t *exact = size > 0 ? data : NULL;
    (void)LLVMFuzzerTestOneInput(exact, (size_t)size);
    free(data);
    return 0;
}

/* Returns how many files there were, or a negative errno. */
static int replay_folder(const char *path)
{
    int count = 0;
    struct dirent *entry;
    DIR *folder = opendir(path);
    if (!folder)
        return -errno;
    while (count >= 0 && (entry = readdir(folder))) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        /* Named first: if the target aborts, this is the file. */
        (void)printf("# %s\n", entry->d_name);
        (void)fflush(stdout);
        int r = replay_file(name);
        count = r < 0 ? r : count + 1;
    }
    (void)closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    if (LLVMFuzzerInitialize)
        (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        int r = replay_folder(argv[i]);
        if (r < 0) {
            (void)fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
            return 1;
        }
        count += r;
    }
    (void)printf("1..1\n%s 1 - %d inputs\n", count > 0 ? "ok" : "not ok", count);
    return count > 0 ? 0 : 1;
}
