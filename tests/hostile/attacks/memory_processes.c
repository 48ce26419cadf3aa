/* SPDX-License-Identifier: MIT */
/* Allocates memory in many processes, each below the limit of one. Arguments: processes, MiB of
 * each. Stopped by: cgroup (memory.max), or, without one, the jail, which looks again and again: it
 * needs rlimits and a /proc of the job's pid namespace. */
#include "attack.h"

#include <sys/mman.h>

#define HELD_US 500000

int main(int argc, char **argv)
{
    long count = argument_number(argc, argv, 1), each = argument_number(argc, argv, 2);
    int ready[2], go[2];
    if (pipe(ready) < 0 || pipe(go) < 0)
        unclear("pipe: %s", errno_name(errno));
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) {
            barred("fork after %ld", i);
            all_barred();
        }
        if (child == 0) {
            char byte = 'y';
            (void)close(go[1]);
            if (mmap(NULL, (size_t)each << 20, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
                byte = 'n';
            (void)!write(ready[1], &byte, 1);
            (void)!read(go[0], &byte, 1); /* until the parent ends */
            _exit(0);
        }
    }
    (void)close(ready[1]);
    long having = 0;
    char byte;
    while (having < count && read(ready[0], &byte, 1) == 1 && byte == 'y')
        having++;
    if (having == count)
        (void)usleep(HELD_US);
    if (having == count)
        succeeded("%ld MiB in %ld processes at once", count * each, count);
    refused("only %ld of %ld processes got their memory: %s", having, count, errno_name(ENOMEM));
}
