/* SPDX-License-Identifier: MIT */
/* Theory of operation. The daemon starts the zygote in a user and a mount namespace, with all
 * capabilities over them. The zygote then:
 *
 *  1. maps its user and group to themselves, so that jails can have user namespaces below its own,
 *     and all subordinate ids, if jobs have a uid per slot (idmap.h);
 *  2. becomes undumpable, and a session of its own;
 *  3. enters a view as jails have it (view.c) and starts the interpreter there, so that it finds
 *     the files that it would find in a jail and no others; the interpreter also loads the code of
 *     pairs, which is the daemon's own and the same for all jobs;
 *  4. returns to its first mount namespace, which shows what the host shows: each jail starts from
 *     a copy of that one and builds a view of its own;
 *  5. gives up its capabilities, all but CAP_SETUID if it maps such ids, and serves requests.
 *
 * A copy is made with clone3() while nothing else runs, without the calls that the interpreter
 * makes around a fork. It runs no Python: it is the waiting interpreter itself, under another pid.
 * The interpreter's own calls are made around the fork of each job, as in a jail that was executed.
 * What a process sets for itself at its start is dealt with like this:
 *
 *  - Signal dispositions, the interpreter's included, and resource limits are inherited. So nothing
 *    may clear them (no CLONE_CLEAR_SIGHAND), and the zygote blocks all signals, lest one that it
 *    receives be noted in every copy.
 *  - /proc/self/exe is the read-only clone of the program's mount that the daemon executed.
 *  - The kernel gives the copy all capabilities over its new user namespace. There is no execve
 *    over which they would have to be kept.
 *  - The parent-death signal is not inherited.
 *  - Hash seed and environment are those of the configuration in all jails. Modules that keep
 *    random state seed it again in each job, where the interpreter tells them of the fork. */
#include "zygote.h"
#include "cgroup_fork.h"
#include "identity.h"
#include "idmap.h"
#include "link.h"
#include "mounts.h"
#include "view.h"

#include "proto/util.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

_Noreturn static void end(const char *what, int r)
{
    if (r < 0 && r != -EPIPE)
        (void)fprintf(stderr, "rubricd-zygote: %s: %s\n", what, strerror(-r));
    _exit(r < 0 ? 71 : 0);
}

/* --- getting ready ------------------------------------------------------------------------- */

/* Stores in *ret_first the first subordinate id. */
static int map(const struct link_setup *setup, uint32_t *ret_first)
{
    const struct idmap_request request = {.is_zygote = 1};
    struct idmap_reply reply;
    if (!layer_in(setup->layers, LAYER_OWN_UID))
        return identity_map(setup->uid, setup->uid, setup->gid, setup->gid);
    int r = idmap_ask(setup->idmap, &request, &reply);
    if (r < 0)
        return r;
    *ret_first = reply.first;
    return identity_map_group(setup->gid, setup->gid);
}

static int hide(const struct link_setup *setup, uint32_t *ret_first)
{
    int r = map(setup, ret_first);
    if (r < 0)
        return r;
    /* From here on /proc/self is closed to this process too. */
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -errno;
    (void)setsid();
    (void)prctl(PR_SET_NAME, "rubricd-zygote");
    return 0;
}

/* Keeps what it takes to write the maps of jails if they have a uid per slot. */
static int drop_capabilities(bool own_uid)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (own_uid)
        kept[0].effective = kept[0].permitted = 1U << CAP_SETUID;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, kept) < 0 ? -errno : 0;
}

/* Starts the interpreter in a view over DIRECTORY, has it load CODE (taken; -1: none), and comes
 * back. That the interpreter does not start is no error here: NOTICE says so. */
static int prepare(const struct jail_interpreter *interpreter, const char *directory,
                   const struct link_setup_lists *lists, const char *version, int code,
                   struct link_notice *notice, const char **ret_step)
{
    _cleanup_close_ int taken = code;
    struct view view = VIEW_NULL;
    /* Its home is what the interpreter remembers as that of the jobs. */
    const struct view_options options = {
        .mountpoint = directory, .readable = lists->paths, .uid = geteuid()};
    *ret_step = "making its directory";
    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return -errno;
    int r = view_enter(&view, &options, ret_step);
    if (r < 0)
        return r;
    notice->warm = interpreter->prepare(lists, version, taken, notice->cold_because,
                                        sizeof(notice->cold_because)) == 0;
    *ret_step = "leaving its view";
    r = mounts_enter(view.host, MOUNTS_NO_PASS);
    close_fd(view.host);
    close_fd(view.own);
    close_fd(view.root);
    close_fd(view.proc);
    return r;
}

/* Stores in *ret_first the first subordinate id, if there are any. */
static int set_up(const struct jail_interpreter *interpreter, const char *directory,
                  uint32_t *ret_first, const char **ret_step)
{
    /* The interpreter keeps pointers to these. */
    static char strings[LINK_STRINGS_MAX];
    static struct link_setup_lists lists;
    struct link_notice notice = {.type = LINK_READY};
    struct link_setup setup;
    _cleanup_close_ int filter = -1;
    /* Before anything is opened that could get its number. */
    _cleanup_close_ int code = fcntl(LINK_CODE_FD, F_GETFD) >= 0 ? LINK_CODE_FD : -1;
    *ret_step = "reading the set-up";
    int r = link_receive_setup(LINK_FD, &setup, strings, &filter);
    if (r == 0)
        end("", 0);
    if (r > 0)
        r = setup.argc > 0 && interpreter ? link_split_setup(&setup, strings, &lists) : -EPROTO;
    if (r == 0) {
        *ret_step = "mapping its identity";
        r = hide(&setup, ret_first);
    }
    if (r == 0)
        r = prepare(interpreter, directory, &lists, setup.version, TAKE_FD(code), &notice,
                    ret_step);
    if (r == 0) {
        *ret_step = "giving up capabilities";
        r = drop_capabilities(layer_in(setup.layers, LAYER_OWN_UID));
    }
    return r < 0 ? r : link_send_notice(LINK_FD, &notice, -1);
}

/* --- copies -------------------------------------------------------------------------------- */

/* In the copy: puts JAIL_LINK in the place of the zygote's link, and closes everything else that
 * the zygote has open. */
static bool become_jail(int jail_link)
{
    sigset_t none;
    (void)sigemptyset(&none);
    /* A jail opens files of its own in /proc until it is confined. */
    return dup2(jail_link, LINK_FD) == LINK_FD && close_range(LINK_FD + 1, ~0U, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* In the copy: waits over SYNC until the zygote has written the map, for which the copy must be
 * dumpable. */
static bool await_map(int sync)
{
    char byte = 0;
    return prctl(PR_SET_DUMPABLE, 1) == 0 && write(sync, &byte, 1) == 1 &&
           read(sync, &byte, 1) == 1;
}

/* Writes the map of the copy PID, whose jobs get the uid JOB. */
static int map_copy(pid_t pid, uint32_t job, int sync)
{
    char path[48], text[IDMAP_TEXT_MAX], byte = 0;
    if (read(sync, &byte, 1) != 1)
        return -EPIPE;
    (void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
    idmap_format(text, job, geteuid());
    int r = identity_write(path, text);
    return r == 0 && write(sync, &byte, 1) != 1 ? -errno : r;
}

/* Makes a copy of this process, whose jobs get the uid FIRST + slot if they get one of their own,
 * and tells the daemon. Returns true in the copy. */
static bool copy(const struct link_birth *birth, uint32_t first, int jail_link)
{
    int pidfd = -1;
    bool must_enter; /* never set: no group is asked for */
    int sync[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sync) < 0)
        end("connecting to a jail", -errno);
    pid_t pid =
        cgroup_fork(-1, birth->namespaces | CLONE_PARENT, MOUNTS_NO_PASS, &pidfd, &must_enter);
    close_fd(sync[pid != 0]);
    if (pid == 0) {
        if ((birth->own_uid && !await_map(sync[1])) || !become_jail(jail_link))
            _exit(71);
        return true;
    }
    struct link_born born = {.pid = MAX(pid, 0), .error = pid < 0 ? -pid : 0};
    if (pid > 0 && birth->own_uid) {
        int mapped = map_copy(pid, first + birth->slot, sync[0]);
        if (mapped < 0)
            end("mapping a jail's users", mapped);
    }
    close_fd(sync[0]);
    int r = link_send_born(LINK_FD, &born, pidfd);
    close_fd(pidfd);
    if (r < 0)
        end("answering", r);
    return false;
}

char *zygote_run(const struct jail_interpreter *interpreter, char *directory)
{
    static char name[LINK_STRINGS_MAX];
    const size_t space = strlen(directory) + 1;
    struct link_birth birth;
    int jail_link = -1;
    const char *step = "";
    sigset_t all;
    uint32_t first = 0;
    int r = set_up(interpreter, directory, &first, &step);
    if (r < 0)
        end(step, r);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    while ((r = link_receive_birth(LINK_FD, &birth, name, &jail_link)) > 0) {
        if (copy(&birth, first, jail_link)) {
            memset(directory, 0, space);
            (void)snprintf(directory, space, "%s", name);
            return name;
        }
        jail_link = close_fd(jail_link);
    }
    end("reading a request", r);
}
