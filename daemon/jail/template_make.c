/* SPDX-License-Identifier: MIT */
#include "template_make.h"
#include "cgroup_fork.h"
#include "template_hold.h"
#include "template_look.h"
#include "tree_memory.h"

#include "proto/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert((int)TEMPLATE_FIRST_FDS <= LOCKDOWN_FDS, "the descriptors of a template");

/* What a template begins with. */
struct birth {
    int fds[TEMPLATE_FIRST_FDS]; /* the class is borrowed */
    int link, output;            /* the jail's ends */
};

static void birth_end(struct birth *birth)
{
    for (int i = 0; i < TEMPLATE_FDS; i++)
        if (i != TEMPLATE_ERRORS) /* is the same as the output */
            close_fd(birth->fds[i]);
    close_fd(birth->output);
}

/* On failure a negative errno; birth_end() in any case. */
static int birth_begin(struct birth *birth, int class)
{
    int ends[2], output[2];
    *birth = (struct birth){.fds = {-1, -1, -1, -1, class}, .link = -1, .output = -1};
    birth->fds[TEMPLATE_INPUT] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (birth->fds[TEMPLATE_INPUT] < 0 || pipe2(output, O_CLOEXEC) < 0)
        return -errno;
    birth->fds[TEMPLATE_OUTPUT] = birth->fds[TEMPLATE_ERRORS] = output[1];
    birth->output = output[0];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    birth->fds[TEMPLATE_LINK] = ends[1];
    birth->link = ends[0];
    return 0;
}

/* Looks at the stopped TEMPLATE, whose class has been loaded. Returns why it cannot serve. */
static const char *look(struct templates *templates, struct template *template,
                        const struct template_parts *parts, const struct birth *birth)
{
    struct enclosure *enclosure = parts->enclosure;
    struct template_file files[TEMPLATE_FDS];
    unsigned sockets = parts->sockets + templates_count(templates) * TEMPLATE_SOCKETS;
    int written = 0;
    for (int i = 0; i < TEMPLATE_FDS; i++)
        if (template_file_of(birth->fds[i], &files[i]) < 0)
            return "the jail lacks a descriptor";
    const char *found =
        template_look(enclosure->view.proc, template->pid, files, ARRAY_SIZE(files));
    if (found)
        return found;
    if (template_find_new(templates, parts) != 0)
        return "it leaves a process";
    if (ioctl(birth->output, FIONREAD, &written) < 0 || written > 0)
        return "it writes output";
    if (work_empty(&enclosure->work) < 0)
        return "it leaves a file";
    if (enclosure_check_sockets(enclosure, sockets) < 0)
        return "it leaves a socket";
    template->bytes = tree_memory_of(enclosure->view.proc, template->pid);
    return template->bytes > templates->bytes_max ? "it takes more than [warm] classes_memory"
                                                  : NULL;
}

/* Waits until it has loaded, for at most WALL_CLOCK_MS, and looks at it. Returns whether it can
 * serve; its entry says why not. */
static bool await_load(struct templates *templates, struct template *template,
                       const struct template_parts *parts, const struct birth *birth,
                       uint64_t wall_clock_ms)
{
    const struct lockdown_error *error = &parts->start->status->error;
    uint64_t ms = MIN(wall_clock_ms, (uint64_t)LINK_LOAD_MS);
    struct template_says says = {.word = TEMPLATE_FAILED};
    enum template_heard heard =
        template_hear(template->link, template->pidfd, parts->link, ms, &says);
    const char *found = NULL;
    if (heard == TEMPLATE_HEARD_WORD && says.word == TEMPLATE_READY)
        found =
            template_stop(template) ? look(templates, template, parts, birth) : "it does not stop";
    else if (heard == TEMPLATE_HEARD_WORD)
        found = says.because;
    else if (heard == TEMPLATE_HEARD_END && error->stage != LINK_STAGE_NONE)
        found = link_stage_name((enum link_stage)error->stage);
    else
        found =
            heard == TEMPLATE_HEARD_END ? "it ended while it loaded" : "it did not load in time";
    if (found)
        template_explain(template->because, found);
    explicit_bzero(&says, sizeof(says)); /* the next job may be a copy of this memory */
    return !found;
}

/* Forks the process of TEMPLATE. 0 or a negative errno. */
static int spawn(struct template *template, const struct template_parts *parts,
                 const struct birth *birth, const struct lockdown *lockdown)
{
    const struct jail_interpreter *interpreter = parts->start->interpreter;
    struct lockdown confined = *lockdown;
    memcpy(confined.fds, birth->fds, sizeof(birth->fds));
    confined.fd_count = TEMPLATE_FIRST_FDS;
    confined.templates = TEMPLATES_MAX; /* its forks are bound by prepare_fork() */
    confined.ret_error = &parts->start->status->error;
    *parts->start->status = (struct start_status){.error = {LINK_STAGE_NONE, 0}};
    enclosure_restart_pids(parts->enclosure, ENCLOSURE_PIDS_OF_JAIL);
    interpreter->before_fork();
    pid_t pid = clone_quietly(0, parts->enclosure->pass, &template->pidfd);
    if (pid == 0)
        template_live(parts->start, &confined, parts->enclosure->landlock_version);
    interpreter->after_fork();
    if (pid < 0)
        return pid;
    template->pid = pid;
    template->link = birth->link;
    return pid < TEMPLATE_PIDS ? 0 : -ERANGE;
}

struct template *template_make(struct templates *templates, const struct template_parts *parts,
                               const struct template_job *job)
{
    struct template *template = templates_add(templates, job->request);
    struct birth birth;
    int r = birth_begin(&birth, job->class);
    if (r == 0)
        r = spawn(template, parts, &birth, job->lockdown);
    if (r < 0)
        template_explain(template->because, strerror(-r));
    bool is_good = r == 0 && await_load(templates, template, parts, &birth,
                                        job->request->limits.of[LIMIT_WALL_CLOCK]);
    if (template->pid == 0)
        close_fd(birth.link);
    birth_end(&birth);
    if (!is_good)
        template_give_up(templates, template, parts, NULL);
    templates_make_room(templates, template);
    return template;
}
