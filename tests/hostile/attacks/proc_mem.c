/* SPDX-License-Identifier: MIT */
/* Reads, and tries to open for writing, the memory of a process through /proc/PID/mem.
 * Stopped by: pid_namespace with filesystem, user_namespace, landlock (it bars ptrace access to
 * what is outside its domain). */
#include "attack.h"

/* Returns the first address in /proc/PID/maps, 0 if it cannot be read. */
static unsigned long first_mapping(int pid)
{
    char path[64], text[256];
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    if (read_file(path, text, sizeof(text)) <= 0) {
        barred("%s", path);
        return 0;
    }
    return strtoul(text, NULL, 16);
}

int main(int argc, char **argv)
{
    int pid = (int)argument_process(argc, argv, 1);
    unsigned long address = first_mapping(pid);
    char path[64], bytes[4];
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    int fd = open(path, O_RDWR);
    if (fd < 0) {
        barred("open %s for writing", path);
        fd = open(path, O_RDONLY);
    }
    if (fd < 0) {
        barred("open %s", path);
        all_barred();
    }
    if (address != 0 && pread(fd, bytes, sizeof(bytes), (off_t)address) == (ssize_t)sizeof(bytes))
        succeeded("read %s at %lx", path, address);
    barred("pread %s", path);
    all_barred();
}
