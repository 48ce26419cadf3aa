/* SPDX-License-Identifier: MIT */
/* Kills every process that it can. Argument: the process whose end proves success, or "parent".
 * Stopped by: pid_namespace (it has no other processes), landlock (from ABI 6 on). */
#include "attack.h"

int main(int argc, char **argv)
{
    char map[128];
    pid_t witness = argument_process(argc, argv, 1);
    if (geteuid() == 0 && read_file("/proc/self/uid_map", map, sizeof(map)) > 0 &&
        strstr(map, "4294967295"))
        unclear("as root on the host this would end everything");
    if (kill(witness, 0) < 0) {
        barred("kill(%d, 0)", (int)witness);
        (void)kill(-1, SIGKILL); /* nevertheless: the runner counts the survivors */
        all_barred();
    }
    if (kill(-1, SIGKILL) < 0)
        barred("kill(-1, SIGKILL)");
    for (int i = 0; i < 100; i++) {
        char state = process_state(witness);
        if (kill(witness, 0) < 0 || state == 'Z')
            succeeded("process %d was killed", (int)witness);
        (void)usleep(10000);
    }
    refused("process %d is alive", (int)witness);
}
