/* SPDX-License-Identifier: MIT */
/* Has many processes take memory, each below the limit of one, in a way that what they have
 * resident does not show. Arguments: processes, MiB of each, and how:
 *
 *     shared   anonymous memory that processes may share, of which each process unmaps what it has
 *              written from its page tables; the pages stay
 *     zero     the same by mapping /dev/zero
 *     tables   page tables, for zeros far from each other
 *     leader   memory of a process whose first thread has ended
 *
 * Stopped by: cgroup (memory.max). Without one: seccomp (no such memory); the view, whose /dev/zero
 * cannot be mapped; for the last two the jail, which looks again and again: it needs rlimits and a
 * /proc of the job's pid namespace. */
#include "attack.h"

#include <pthread.h>
#include <sys/mman.h>

#define HELD_US 500000
#define PIECE (UINT64_C(4) << 20)
/* Each page that is mapped at such a distance takes two tables. */
#define DISTANCE (UINT64_C(1) << 30)
#define TABLES_OF_PAGE 2
#define FIRST (UINT64_C(1) << 40)

static const char *how;
static size_t bytes;
static int ready[2], go[2];

static bool take_shared(void)
{
    bool by_device = strcmp(how, "zero") == 0;
    int fd = by_device ? open("/dev/zero", O_RDWR | O_CLOEXEC) : -1;
    if (by_device && fd < 0)
        return false;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        by_device ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    for (size_t at = 0; memory != MAP_FAILED && at < bytes; at += PIECE) {
        (void)memset(memory + at, 1, PIECE);
        (void)madvise(memory + at, PIECE, MADV_DONTNEED);
    }
    return memory != MAP_FAILED;
}

static bool take_tables(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), sum = 0;
    for (size_t i = 0; i * page * TABLES_OF_PAGE < bytes; i++) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): there is no other way to name an address. */
        const char *memory = mmap((void *)(FIRST + i * DISTANCE), page, PROT_READ,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        sum += (size_t) * (const volatile char *)memory;
    }
    return sum == 0;
}

static bool take_private(void)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
                0) != MAP_FAILED;
}

/* Takes the memory, tells the parent, and holds it until the parent ends. */
static void *take(void *unused)
{
    bool has = strcmp(how, "tables") == 0   ? take_tables()
               : strcmp(how, "leader") == 0 ? take_private()
                                            : take_shared();
    int byte = has ? 0 : errno;
    (void)!write(ready[1], &byte, sizeof(byte));
    (void)!read(go[0], &byte, 1);
    _exit(0);
    return unused;
}

_Noreturn static void live(void)
{
    pthread_t thread;
    (void)close(go[1]);
    if (strcmp(how, "leader") == 0 && pthread_create(&thread, NULL, take, NULL) == 0)
        pthread_exit(NULL);
    (void)take(NULL);
    _exit(1);
}

int main(int argc, char **argv)
{
    long count = argument_number(argc, argv, 1), each = argument_number(argc, argv, 2);
    how = argc > 3 ? argv[3] : "";
    bytes = (size_t)each << 20;
    if (pipe(ready) < 0 || pipe(go) < 0)
        unclear("pipe: %s", errno_name(errno));
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) {
            barred("fork after %ld", i);
            all_barred();
        }
        if (child == 0)
            live();
    }
    (void)close(ready[1]);
    long having = 0;
    int byte = 0;
    while (having < count && read(ready[0], &byte, sizeof(byte)) == sizeof(byte) && byte == 0)
        having++;
    if (having == count)
        (void)usleep(HELD_US);
    if (having == count)
        succeeded("%ld MiB in %ld processes, by %s", count * each, count, how);
    refused("only %ld of %ld processes got their memory: %s", having, count, errno_name(byte));
}
