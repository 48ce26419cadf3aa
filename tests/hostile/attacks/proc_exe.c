/* SPDX-License-Identifier: MIT */
/* Opens the executable of a process outside through /proc/PID/exe, as CVE-2019-5736 did to
 * overwrite the program that confines the job. Stopped by: pid_namespace with filesystem,
 * user_namespace, landlock. */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[64], magic[5];
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)argument_process(argc, argv, 1));
    if (open(path, O_WRONLY) >= 0)
        succeeded("%s is open for writing", path);
    barred("open %s for writing", path);
    if (read_file(path, magic, sizeof(magic)) > 0)
        succeeded("%s can be read", path);
    barred("open %s", path);
    all_barred();
}
