/* SPDX-License-Identifier: MIT */
/* Installs filters of system calls: the kernel compiles them into a store that all of the host's
 * filters share, ours among them; one with a listener stays as long as that; and one may have each
 * call logged on the host. Stopped by: seccomp. */
#include "attack.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

/* In a child, which lives with its filter. */
static int install(unsigned how, struct sock_fprog *program)
{
    static const unsigned flags[] = {0, SECCOMP_FILTER_FLAG_LOG, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                                     SECCOMP_FILTER_FLAG_TSYNC};
    pid_t child = fork();
    if (child < 0)
        unclear("fork: %s", errno_name(errno));
    if (child == 0) {
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        long r = how < COUNT_OF(flags)
                     ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[how], program)
                     : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
        _exit(r < 0 ? errno : 0);
    }
    return WEXITSTATUS(wait_for(child));
}

int main(void)
{
    static const char *const names[] = {"seccomp()", "seccomp(LOG)", "seccomp(NEW_LISTENER)",
                                        "seccomp(TSYNC)", "prctl(PR_SET_SECCOMP)"};
    static struct sock_filter logs[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG)};
    struct sock_fprog program = {.len = COUNT_OF(logs), .filter = logs};
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        errno = install(i, &program);
        if (errno == 0)
            succeeded("a filter of its own by %s", names[i]);
        barred("%s", names[i]);
    }
    all_barred();
}
