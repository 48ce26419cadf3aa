/* SPDX-License-Identifier: MIT */
/* Plants a copy of itself with the setuid and setgid bits, for another account to run.
 * Stopped by: tempdir (removed with the job), user_namespace, filesystem (nosuid). */
#include "plant.h"

int main(int argc, char **argv)
{
    struct stat seen;
    if (!is_step(argc, argv, "plant")) {
        if (stat(PLANT "setuid", &seen) == 0 && (seen.st_mode & S_ISUID))
            succeeded("a setuid program is left");
        find_plants();
    }
    char buffer[4096];
    int from = open("/proc/self/exe", O_RDONLY);
    int to = open(PLANT "setuid", O_WRONLY | O_CREAT | O_EXCL, 0755);
    if (from < 0 || to < 0)
        unclear("copying: %s", errno_name(errno));
    ssize_t n;
    while ((n = read(from, buffer, sizeof(buffer))) > 0)
        if (write(to, buffer, (size_t)n) != n)
            unclear("copying: %s", errno_name(errno));
    if (fchmod(to, 06755) < 0)
        barred("chmod 6755");
    planted();
}
