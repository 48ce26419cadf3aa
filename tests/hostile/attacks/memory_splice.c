/* SPDX-License-Identifier: MIT */
/* Keeps pages of a file in pipes, each for one of its bytes, and cuts the file short: then neither
 * a disk nor a process has them. Arguments: MiB, "splice" or "sendfile". Stopped by: seccomp. */
#include "attack.h"

#include <sys/sendfile.h>

#define PAGE 4096
#define PIPE_PAGES 256

static ssize_t move_byte(bool splices, int file, off_t at, int out)
{
    return splices ? splice(file, &at, out, NULL, 1, 0) : sendfile(out, file, &at, 1);
}

/* Fills a pipe with a byte of each page. Returns the pages that it keeps, or -1. */
static long fill(bool splices, int file)
{
    static char pages[PIPE_PAGES * PAGE];
    int ends[2];
    if (pipe(ends) < 0)
        return -1;
    int size = fcntl(ends[1], F_SETPIPE_SZ, PIPE_PAGES * PAGE);
    long count = (size < 0 ? 16 * PAGE : size) / PAGE;
    memset(pages, 'x', sizeof(pages));
    if (pwrite(file, pages, (size_t)count * PAGE, 0) != count * PAGE)
        return -1;
    for (long i = 0; i < count; i++) /* no two bytes lie side by side, so none are joined */
        if (move_byte(splices, file, i * PAGE + i % 2, ends[1]) != 1)
            return -1;
    return ftruncate(file, 0) < 0 ? -1 : count;
}

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1) << 20, got = 0;
    bool splices = strcmp(argument(argc, argv, 2), "splice") == 0;
    int file = open("pages", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0)
        unclear("open pages: %s", errno_name(errno));
    (void)unlink("pages");
    while (got < goal) {
        long pages = fill(splices, file);
        if (pages < 0) {
            barred("%s after %ld MiB", argv[2], got >> 20);
            all_barred();
        }
        got += pages * PAGE;
    }
    succeeded("%ld MiB in pipes, and an empty file", got >> 20);
}
