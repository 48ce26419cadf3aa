/* SPDX-License-Identifier: MIT */
/* Runs a program from memory, to which no rule about paths applies, and lets it read a file of the
 * host. Argument: the file.
 * Stopped by: filesystem, landlock (both confine every program). */
#include "attack.h"

#include <sys/mman.h>
#include <sys/sendfile.h>

int main(int argc, char **argv)
{
    char text[64];
    const char *secret = argument(argc, argv, 1);
    if (argc > 2) {
        if (read_file(secret, text, sizeof(text)) > 0)
            succeeded("a program in memory has read %s", secret);
        barred("read %s from a program in memory", secret);
        all_barred();
    }
    struct stat size;
    int self = open("/proc/self/exe", O_RDONLY);
    int fd = memfd_create("attack", MFD_CLOEXEC);
    if (self < 0 || fd < 0 || fstat(self, &size) < 0) {
        barred("memfd_create");
        all_barred();
    }
    while (sendfile(fd, self, NULL, (size_t)size.st_size) > 0)
        ;
    char *arguments[] = {argv[0], argv[1], (char *)(uintptr_t) "inner", NULL};
    (void)syscall(SYS_execveat, fd, "", arguments, environ, AT_EMPTY_PATH);
    barred("execveat of a memfd");
    all_barred();
}
