/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include "proto/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int setup_descriptors(void)
{
    for (int fd = LINK_FD + 1; fd < LINK_PAIR_FDS; fd++)
        if (dup3(STDIN_FILENO, fd, O_CLOEXEC) < 0)
            return -errno;
    return 0;
}

/* Starts the interpreter. Failure is not an error: the jail then executes its jobs. */
static void warm_up(struct start *start, const struct jail_interpreter *interpreter,
                    const struct link_setup_lists *lists, const char *version,
                    struct link_notice *notice)
{
    if (!interpreter)
        (void)snprintf(notice->cold_because, sizeof(notice->cold_because), "%s",
                       "the jail has no interpreter");
    else if (interpreter->prepare(lists, version, -1, notice->cold_because,
                                  sizeof(notice->cold_because)) == 0)
        start->interpreter = interpreter;
    notice->warm = start->interpreter != NULL;
}

int setup_jail(const struct setup_parts *parts, const struct jail_interpreter *interpreter,
               const char *slot_directory, bool is_copy)
{
    /* The interpreter keeps pointers to these for all later jobs. */
    static char strings[LINK_STRINGS_MAX];
    static struct link_setup_lists lists;
    struct link_notice notice = {.type = LINK_READY};
    struct link_setup setup;
    const char *step = "reading the set-up";
    _cleanup_close_ int filter = -1;
    int r = link_receive_setup(parts->link, &setup, strings, &filter);
    if (r == 0)
        return -ENOTCONN; /* the supervisor closed the link before it sent a set-up */
    if (r > 0)
        r = link_split_setup(&setup, strings, &lists);
    if (r == 0)
        r = enclosure_build(parts->enclosure, &setup, lists.paths, slot_directory, filter, &notice,
                            &step);
    filter = close_fd(filter); /* a jail that says it is ready has nothing else open */
    if (r < 0) {
        (void)fprintf(stderr, "rubricd-jail: %s: %s\n", step, strerror(-r));
        notice.type = LINK_FAILED;
        notice.error = -r;
        (void)snprintf(notice.view_step, sizeof(notice.view_step), "%s", step);
        (void)link_send_notice(parts->link, &notice, -1);
        return r;
    }
    if (is_copy) {
        parts->start->interpreter = interpreter;
        notice.warm = 1;
    } else if (setup.argc > 0) {
        warm_up(parts->start, interpreter, &lists, setup.version, &notice);
    }
    return link_send_notice(parts->link, &notice, -1);
}
