/* SPDX-License-Identifier: MIT */
#include "spawn.h"
#include "idmap.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

/* Writes the files of the job's programs into their work directories. */
static int unpack(struct jail *jail, const struct link_job *request, const int fds[LINK_JOB_FDS])
{
    const bool is_joined = request->is_joined == 1;
    bool has_files = request->candidate_argc == 0 || is_joined; /* otherwise they are the code */
    int files = has_files ? fds[LINK_FILES] : -1, cwd = -1;
    if (files < 0 && fds[LINK_PREPARED] < 0 && !is_joined)
        return 0;
    int r = 0;
    if (is_joined)
        r = work_begin_candidate(&jail->enclosure.work, request->job_no,
                                 request->candidate_limits.of[LIMIT_DISK], &cwd);
    /* They belong to the job, whose uid may be another than the jail's. */
    if (layer_in(jail->enclosure.layers, LAYER_OWN_UID))
        (void)setfsuid(IDMAP_JOB);
    if (r == 0)
        r = work_unpack(jail->lockdown.cwd, files, fds[LINK_PREPARED]);
    if (r == 0 && is_joined)
        r = work_unpack(cwd, fds[LINK_CANDIDATE_FILES], fds[LINK_CANDIDATE_PREPARED]);
    (void)setfsuid(geteuid());
    return r;
}

/* Performs the part of a job's set-up that precedes the fork. *ret_stage says how far it came. */
static int prepare(struct jail *jail, const struct link_job *request, const int fds[LINK_JOB_FDS],
                   struct jailed_job *job, int *ret_ruleset, enum link_stage *ret_stage)
{
    struct enclosure *enclosure = &jail->enclosure;
    struct lockdown *lockdown = &jail->lockdown;
    int r = enclosure_show(enclosure, request, &job->lists, ret_stage);
    if (r < 0)
        return r;
    *ret_stage = LINK_STAGE_DIRECTORY;
    const struct limits *limits = request->is_joined == 1 ? &request->own_limits : &request->limits;
    r = request->act == LINK_RUN
            ? work_begin(&enclosure->work, request->job_no, limits->of[LIMIT_DISK], &lockdown->cwd)
            : kept_begin(&jail->kept, enclosure, request, fds[LINK_CGROUP], &lockdown->cwd);
    if (r < 0)
        return r;
    *ret_stage = LINK_STAGE_FILES;
    r = unpack(jail, request, fds);
    if (r < 0)
        return r;
    *ret_stage = LINK_STAGE_LANDLOCK;
    r = enclosure_make_ruleset(enclosure, &job->lists, lockdown->cwd, ret_ruleset);
    *lockdown = (struct lockdown){
        .layers = enclosure->layers,
        .cwd = lockdown->cwd,
        .fds = {fds[LINK_STDIN], fds[LINK_STDOUT], fds[LINK_STDERR]},
        .fd_count = LINK_STANDARD_FDS,
        .processes = enclosure_counted(enclosure, 1 + jailed_others(jail)),
        .ruleset = *ret_ruleset >= 0 ? *ret_ruleset : enclosure->ruleset,
        .own_cgroup = fds[LINK_CGROUP] >= 0,
        .enter_cgroup = -1,
        .pass = enclosure->pass,
        .gives_up_pass = enclosure->gives_up_pass,
        .cgroup_counts = request->cgroup_counts,
        .account_limit = enclosure_limit_account(enclosure, request),
        .has_terminal = request->has_terminal == 1,
        .any_address_space = request->any_address_space == 1,
        .any_stack = request->any_stack == 1,
        .limits = limits,
        .ceilings = jail->ceilings,
        .argv = job->lists.argv,
        .envp = job->lists.envp,
        .script = job->lists.bench ? job->lists.argv[request->argc - 1] : NULL,
        .readable = job->lists.readable,
        .act = (enum link_act)request->act,
        .is_in_domain = jail->kept.shares_domain,
        .directory = job->lists.cwd,
        .file_mode = (mode_t)request->file_mode,
        .appends = request->appends == 1,
    };
    return r;
}

/* Makes the twin for the candidate of a pair. */
static int make_twin(struct jail *jail, const struct link_job *request, const int fds[LINK_JOB_FDS])
{
    const struct jail_interpreter *interpreter = jail->start.interpreter;
    const struct twin_parts parts = {&jail->enclosure, &jail->start, jail->ceilings, jail->strings,
                                     NULL};
    if (request->candidate_argc == 0)
        return request->is_joined == 1 ? -EPROTO : 0;
    if (request->is_joined == 1)
        return twin_make(&jail->twin, &parts, true, fds);
    if (fds[LINK_CODE] < 0)
        return -EPROTO;
    if (interpreter)
        interpreter->learn(fds[LINK_CODE]);
    return twin_make(&jail->twin, &parts, false, fds);
}

/* Has the twin start the candidate of a pair, and gives the job's process its ends of the pipes. */
static int begin_candidate(struct jail *jail, const struct link_job *request,
                           const int fds[LINK_JOB_FDS], struct jailed_job *job)
{
    if (request->candidate_argc == 0)
        return 0;
    int r = twin_begin(&jail->twin, request, jail->strings, fds, &job->ends);
    if (request->is_joined == 1) {
        jail->lockdown.fds[STDIN_FILENO] = job->ends.wire_read;
        jail->lockdown.fds[STDOUT_FILENO] = job->ends.wire_write;
        joined_begin(&job->joined, &job->ends);
        return r;
    }
    jail->lockdown.fds[LINK_PAIR_READ] = job->ends.wire_read;
    jail->lockdown.fds[LINK_PAIR_WRITE] = job->ends.wire_write;
    jail->lockdown.fds[LINK_PAIR_STATUS] = job->ends.status;
    jail->lockdown.fds[LINK_PAIR_CODE] = fds[LINK_CODE];
    jail->lockdown.fd_count = LINK_PAIR_FDS;
    return r;
}

/* --- jobs of a class -------------------------------------------------------------------------- */

/* Makes the template of the job's class in an empty work directory, and empties that again. *RET
 * says what the template has loaded, or why there is none. Returns 0, or a negative errno if the
 * jail cannot go on. */
static int make_template(struct jail *jail, const struct link_job *request, bool has_cgroup,
                         const struct link_lists *lists, struct link_loaded *ret)
{
    struct enclosure *enclosure = &jail->enclosure;
    enum link_stage stage;
    int cwd = -1;
    int r = enclosure_show(enclosure, request, lists, &stage);
    if (r == 0)
        r = work_begin(&enclosure->work, request->job_no, request->limits.of[LIMIT_DISK], &cwd);
    if (r < 0) {
        (void)snprintf(ret->why, sizeof(ret->why), "%s", strerror(-r));
        return 0; /* the job will meet it again */
    }
    struct lockdown lockdown = template_lockdown(enclosure, jail->ceilings, request, cwd,
                                                 1 + enclosure_counted(enclosure, 1));
    lockdown.argv = lists->argv;
    lockdown.envp = lists->envp;
    lockdown.script = lists->bench ? lists->argv[request->argc - 1] : NULL;
    /* Jobs cannot unshare their cgroup namespace: they have the template's, and see the names of
     * their groups. */
    lockdown.own_cgroup = has_cgroup;
    const struct template_parts parts = {
        .enclosure = enclosure,
        .start = &jail->start,
        .lockdown = &lockdown,
        .class_parts = lists->class_parts,
        .work = &enclosure->work,
        .memory_bytes = request->limits.of[LIMIT_MEMORY],
        .bytes_max = request->class_bytes,
        .load_ms = (unsigned)MIN(request->limits.of[LIMIT_WALL_CLOCK], (uint64_t)LINK_LOAD_MS),
    };
    ret->error = template_make(&jail->template, &parts, ret->why);
    if (ret->error == 0)
        *ret = jail->template.loaded;
    struct children_usage ignored = {0};
    if (ret->error != 0 && !children_kill_all(TREE_KILL_MS, 0, &ignored)) /* what it has started */
        return -ETIMEDOUT;
    r = work_empty(&enclosure->work);
    if (r == 0 || ret->error != 0)
        return r;
    template_dismiss(&jail->template);
    *ret = (struct link_loaded){.error = EINVAL, .why = "its modules keep a file in use"};
    return work_empty(&enclosure->work);
}

/* Whether a job of a class can have a template at all; otherwise says in *RET why not. */
static bool may_have_template(const struct jail *jail, const struct link_job *request,
                              struct link_loaded *ret)
{
    ret->error = ENOTSUP; /* elsewhere it may be possible */
    if (!jail->start.interpreter || request->warm != 1) {
        (void)snprintf(ret->why, sizeof(ret->why), "no interpreter waits");
        return false;
    }
    if (request->candidate_argc > 0 && !enclosure_guards_twin(&jail->enclosure)) {
        (void)snprintf(ret->why, sizeof(ret->why),
                       "the jail of the code does not outlast a job on this host");
        return false;
    }
    return template_is_possible(&jail->enclosure, ret->why);
}

/* Sees to it that no class but the job's has a template here, and that its own has, if its jobs are
 * no pairs. Stores in JOB what it has loaded, or why there is none. A negative errno if nothing may
 * go on. */
static int settle_class(struct jail *jail, const struct link_job *request, bool has_cgroup,
                        struct jailed_job *job)
{
    struct link_lists *lists = &job->lists;
    struct link_loaded *of_class = &job->of_class;
    const bool is_pair = request->candidate_argc > 0;
    const char *key = request->class_count > 0 ? lists->class_parts[0] : "";
    if (!template_is_of(&jail->template, key))
        template_dismiss(&jail->template);
    if (*jail->twin.key && !(is_pair && twin_is_of(&jail->twin, key)))
        twin_dismiss(&jail->twin);
    if (request->class_count == 0)
        return 0;
    if (request->is_joined == 1 || request->readable_count > 0 || request->act != LINK_RUN)
        return -EPROTO;
    if (!is_pair)
        twin_dismiss(&jail->twin);
    if (!may_have_template(jail, request, of_class))
        return 0;
    if (is_pair)
        *of_class = jail->twin.loaded; /* or settle_twin() sees to it */
    else if (jail->template.pid == 0)
        return make_template(jail, request, has_cgroup, lists, of_class);
    else
        *of_class = jail->template.loaded;
    return 0;
}

/* Sees to it that the class of a pair, if it is of one, has a template in the twin, which is there.
 */
static int settle_twin(struct jail *jail, struct link_job *request, const int fds[LINK_JOB_FDS],
                       struct jailed_job *job)
{
    struct enclosure *enclosure = &jail->enclosure;
    const char *key = request->class_count > 0 ? job->lists.class_parts[0] : "";
    int cwd = -1;
    if (request->candidate_argc == 0 || !*key || job->of_class.error != 0 ||
        twin_is_of(&jail->twin, key))
        return 0;
    int r = work_begin(&enclosure->work, request->job_no, request->limits.of[LIMIT_DISK], &cwd);
    if (r < 0)
        return 0; /* the job will meet it again */
    request->class_has_cgroup = fds[LINK_CGROUP] >= 0;
    /* So that the template has a low pid here, too. */
    enclosure_restart_pids(enclosure, ENCLOSURE_PIDS_OF_JAIL);
    twin_load(&jail->twin, request, jail->strings, fds, key, enclosure->view.proc, &job->of_class);
    r = work_empty(&enclosure->work);
    return r < 0 || twin_is_alive(&jail->twin) ? r : make_twin(jail, request, fds);
}

/* Starts the job as a fork of the template. -EAGAIN: the template is gone, and has not forked. */
static pid_t start_of_class(struct jail *jail, int cgroup, struct jailed_job *job)
{
    pid_t pid = template_fork(&jail->template, &jail->enclosure, &jail->lockdown, cgroup, false,
                              &job->pidfd, jail->start.status);
    if (pid == -EAGAIN)
        job->of_class = (struct link_loaded){.error = EINVAL, .why = "a fork of it cannot be had"};
    return pid;
}

/* Starts the job in whatever way is the quickest. Returns its pid or a negative errno. */
static pid_t start(struct jail *jail, const struct link_job *request, int cgroup,
                   struct jailed_job *job)
{
    pid_t pid = jail->template.pid > 0 ? start_of_class(jail, cgroup, job) : -EAGAIN;
    if (pid == -EAGAIN)
        pid = start_job(&jail->start, &jail->lockdown, cgroup, request->warm, &job->pidfd);
    return pid;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Begins to look for processes of JOB that end, if no control group counts their CPU time. It takes
 * a /proc of their own. Of a session, whose commands are no jobs of their own, none is looked for:
 * their deadlines do not move. */
static void watch_ends(const struct jail *jail, const int fds[LINK_JOB_FDS], struct jailed_job *job)
{
    const struct enclosure *enclosure = &jail->enclosure;
    if (job->is_command || fds[LINK_CGROUP] >= 0 || enclosure->view.proc < 0 ||
        !layer_in(enclosure->layers, LAYER_PID_NAMESPACE))
        return;
    /* Nothing lives but the jail and what belongs to it. */
    int64_t last_pid = enclosure->last_pid >= 0 ? (int64_t)ENCLOSURE_PIDS_OF_JOB - 1 : -1;
    tree_known_begin(&job->looks.known, clock_now_ns(), last_pid, 1 + jailed_others(jail));
}

bool spawn_job(struct jail *jail, const struct link_job *request, const int fds[LINK_JOB_FDS],
               struct jailed_job *job, struct lockdown_error *ret_error)
{
    enum link_stage stage = LINK_STAGE_EXEC;
    _cleanup_close_ int ruleset = -1;
    int r = link_split_job(request, jail->strings, &job->lists);
    if (r == 0 && (r = settle_class(jail, request, fds[LINK_CGROUP] >= 0, job)) < 0)
        stage = LINK_STAGE_DIRECTORY;
    struct link_job of_pair = *request;
    if (r == 0 && ((r = make_twin(jail, request, fds)) < 0 ||
                   (r = settle_twin(jail, &of_pair, fds, job)) < 0))
        stage = LINK_STAGE_TWIN;
    if (r == 0)
        r = prepare(jail, request, fds, job, &ruleset, &stage);
    if (r == 0 && !jail->kept.is_on)
        enclosure_restart_pids(&jail->enclosure, ENCLOSURE_PIDS_OF_JOB);
    if (r == 0)
        watch_ends(jail, fds, job);
    if (r == 0 && (r = begin_candidate(jail, request, fds, job)) < 0)
        stage = LINK_STAGE_TWIN;
    if (r < 0) {
        *ret_error = (struct lockdown_error){stage, -r};
        return false;
    }
    job->started_ns = clock_now_ns();
    job->pid = start(jail, request, fds[LINK_CGROUP], job);
    twin_ends_close(&job->ends);
    if (job->pid < 0)
        *ret_error = (struct lockdown_error){LINK_STAGE_FORK, -job->pid};
    return job->pid > 0;
}
