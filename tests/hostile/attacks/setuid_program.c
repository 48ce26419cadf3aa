/* SPDX-License-Identifier: MIT */
/* Runs the setuid programs of the host and checks whether their uid changes.
 * Stopped by: no_new_privs, user_namespace (it does not map root). */
#include "attack.h"

static long effective_user(pid_t pid)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (read_file(path, text, sizeof(text)) <= 0)
        return -1;
    const char *line = strstr(text, "\nUid:");
    long real, effective;
    return line && sscanf(line, "\nUid: %ld %ld", &real, &effective) == 2 ? effective : -1;
}

/* Starts the program with a stdin that never ends, and watches its uid for a moment. */
static bool changes_user(const char *program, const char *first_argument)
{
    int pipe_fds[2];
    bool changed = false;
    if (pipe(pipe_fds) < 0)
        unclear("pipe: %s", errno_name(errno));
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(pipe_fds[0], 0);
        (void)close(1);
        (void)close(2);
        (void)open("/dev/null", O_WRONLY);
        (void)open("/dev/null", O_WRONLY);
        (void)setsid();
        (void)execl(program, program, first_argument, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 200 && !changed; i++) {
        long user = effective_user(child);
        changed = user >= 0 && user != (long)getuid();
        if (waitpid(child, NULL, WNOHANG) == child)
            return changed;
        (void)usleep(500);
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, WNOHANG);
    return changed;
}

int main(void)
{
    static const char *const programs[][2] = {
        {"/usr/bin/su", "root"},     {"/usr/bin/passwd", NULL}, {"/usr/bin/chsh", NULL},
        {"/usr/bin/newgrp", "root"}, {"/usr/bin/gpasswd", "x"}, {"/usr/bin/mount", NULL},
        {"/usr/bin/sudo", "-l"},     {"/bin/su", "root"},       {"/usr/bin/chfn", NULL},
    };
    int tried = 0;
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        struct stat seen;
        if (stat(programs[i][0], &seen) < 0 || !(seen.st_mode & S_ISUID))
            continue;
        tried++;
        if (changes_user(programs[i][0], programs[i][1]))
            succeeded("%s runs as somebody else", programs[i][0]);
        (void)printf("refused: %s stays who we are: %s\n", programs[i][0], errno_name(EPERM));
    }
    if (tried == 0)
        unclear("no setuid program here");
    all_barred();
}
