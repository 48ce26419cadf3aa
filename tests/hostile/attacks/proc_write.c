/* SPDX-License-Identifier: MIT */
/* Writes to files of /proc that act on the system or on a process, each time the current content.
 * "%P" in a path stands for the parent's pid.
 * Stopped by: filesystem (the system part of /proc is read-only or missing), user_namespace. */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[256], text[4096];
    for (int i = 1; i < argc; i++) {
        const char *mark = strstr(argv[i], "%P");
        if (mark)
            (void)snprintf(path, sizeof(path), "%.*s%d%s", (int)(mark - argv[i]), argv[i],
                           (int)getppid(), mark + 2);
        else
            (void)snprintf(path, sizeof(path), "%s", argv[i]);
        if (read_file(path, text, sizeof(text)) < 0) {
            barred("read %s", path);
            text[0] = '\0';
        }
        int fd = open(path, O_WRONLY);
        if (fd >= 0 && (text[0] == '\0' || write(fd, text, strlen(text)) > 0))
            succeeded("%s can be written", path);
        barred("write %s", path);
    }
    all_barred();
}
