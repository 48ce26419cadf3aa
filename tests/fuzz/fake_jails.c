/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fake_jails.h"
#include "tests/fuzz/fuzz.h"

#include "daemon/base/clock.h"
#include "daemon/confine/confinement.h"
#include "daemon/confine/isolation.h"
#include "daemon/jail/children.h"
#include "proto/util.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* What a rubric, and the checker of a code_exec job with one assertion, write of what passes. */
#define PASSES "{\"passed\":true,\"score\":1}\n"
#define PAIR_PASSES "{\"passed\":true}\n{\"verdict\":\"pass\",\"detail\":\"\"}\n"

/* The functions that stand in for others get nothing to find this by. */
static struct {
    struct fake_jail jails[FAKE_JAILS_MAX];
    unsigned refused;
    uint8_t ended_well[FAKE_JOBS_MAX];
} fake;

/* The linker wants to see them from shared libraries. */
#pragma GCC visibility push(default)
int __wrap_confinement_spawn(const struct confinement *confinement, const struct jail_wish *wish,
                             const char *work_directory, unsigned index, struct jailproc *ret);
int __wrap_confinement_new(const struct config *config, const struct confinement_host *host,
                           const char *directory, struct confinement **ret, struct fault *fault);
int __wrap_confinement_warm_up(struct confinement *confinement, const struct config *config,
                               const struct confinement_host *host, const char *version,
                               const char *directory, struct fault *fault);
int __wrap_isolation_version_begin(const char *interpreter, struct version_query *ret,
                                   struct fault *fault);
char *__wrap_isolation_version_end(struct version_query *query, const char *interpreter,
                                   struct fault *fault);
void __wrap_kill_by_pidfd(int pidfd);
int __wrap_children_kill(const pid_t *keep, size_t n);
int __wrap_code_exec_checker(void);
#pragma GCC visibility pop

/* --- pidfds ---------------------------------------------------------------------------------- */

/* Makes a pidfd for the daemon and the end of whoever it is of. */
static int make_life(int *ret_pidfd)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    *ret_pidfd = ends[0];
    return ends[1];
}

static bool is_killed(int life)
{
    char byte;
    return life >= 0 && recv(life, &byte, 1, MSG_PEEK) == 1;
}

/* --- jobs ------------------------------------------------------------------------------------ */

/* Closes what JAIL has of its first job, and goes on with the next. */
static void end_job(struct fake_jail *jail)
{
    struct fake_job *job = &jail->jobs[0];
    close_fd(job->out);
    close_fd(job->err);
    close_fd(job->life);
    jail->jobs[0] = jail->jobs[1];
    jail->job_count--;
}

static void die(struct fake_jail *jail)
{
    while (jail->job_count > 0)
        end_job(jail);
    jail->link = close_fd(jail->link);
    jail->life = close_fd(jail->life);
    jail->has_lied = false;
}

static void send_notice(const struct fake_jail *jail, const struct link_notice *notice, int pidfd)
{
    bool is_well = notice->type == LINK_ENDED && notice->wait_status == 0;
    if (is_well && notice->job_no < FAKE_JOBS_MAX)
        fake.ended_well[notice->job_no] = 1;
    (void)link_send_notice(jail->link, notice, pidfd);
}

static void start_job(struct fake_jail *jail)
{
    struct fake_job *job = &jail->jobs[0];
    struct link_notice notice = {
        .type = LINK_STARTED, .job_no = job->number, .pid = 2, .started_ns = clock_now_ns()};
    int pidfd;
    if (job->life >= 0)
        return;
    job->life = make_life(&pidfd);
    send_notice(jail, &notice, pidfd);
    close_fd(pidfd);
}

static void finish_job(struct fake_jail *jail, int status, bool leftover)
{
    struct fake_job *job = &jail->jobs[0];
    struct link_notice notice = {
        .type = LINK_ENDED,
        .job_no = job->number,
        .wait_status = is_killed(job->life) ? SIGKILL : status << 8,
        .leftover = leftover,
        .cpu_us = 1000,
        .max_rss_bytes = 1 << 20,
        .started_ns = clock_now_ns(),
        .ended_ns = clock_now_ns(),
        .run_delay_ns = UINT64_MAX,
    };
    int pidfd = -1;
    if (job->life < 0) /* it was quick: one notice tells the start and the end */
        job->life = make_life(&pidfd);
    job->life = close_fd(job->life); /* the end comes before the notice of it */
    job->out = close_fd(job->out);
    job->err = close_fd(job->err);
    send_notice(jail, &notice, pidfd);
    close_fd(pidfd);
    end_job(jail);
}

static void refuse_job(struct fake_jail *jail, uint8_t stage)
{
    struct link_notice notice = {.type = LINK_FAILED,
                                 .job_no = jail->jobs[0].number,
                                 .stage = stage % (LINK_STAGE_COUNT + 1),
                                 .error = stage % 2 ? EAGAIN : ENOENT};
    if (jail->jobs[0].life >= 0)
        return;
    send_notice(jail, &notice, -1);
    end_job(jail);
}

static void return_job(struct fake_jail *jail)
{
    struct fake_job *job = &jail->jobs[1];
    struct link_notice notice = {.type = LINK_RETURNED, .job_no = job->number};
    if (jail->job_count < 2)
        return;
    send_notice(jail, &notice, -1);
    close_fd(job->out);
    close_fd(job->err);
    jail->job_count--;
}

static void write_output(const struct fake_job *job, const char *text, size_t n)
{
    (void)!write(job->out, text, n);
    (void)!write(job->err, text, MIN(n, (size_t)16));
}

static void lie(struct fake_jail *jail, uint8_t amount)
{
    struct link_notice notice = {
        .type = amount % (LINK_LOADED + 1),
        .job_no = jail->job_count > 0 ? jail->jobs[0].number + amount / 128 : amount,
        .started_ns = UINT64_MAX,
        .ended_ns = amount,
        .cpu_us = UINT64_MAX,
        .evidence = UINT32_MAX,
    };
    int pidfd = -1, life = amount & 64 ? make_life(&pidfd) : -1;
    send_notice(jail, &notice, pidfd);
    jail->has_lied = true;
    close_fd(pidfd);
    close_fd(life);
}

/* --- jails ----------------------------------------------------------------------------------- */

static void take_job(struct fake_jail *jail, const struct link_job *job,
                     const int fds[LINK_JOB_FDS])
{
    /* The daemon may have believed that the first one had failed or ended. */
    if (jail->has_lied && jail->job_count == ARRAY_SIZE(jail->jobs))
        end_job(jail);
    CHECK(jail->job_count < ARRAY_SIZE(jail->jobs)); /* at most one is sent ahead */
    for (size_t i = 0; i < LINK_JOB_FDS; i++)
        if (i != LINK_STDOUT && i != LINK_STDERR)
            close_fd(fds[i]);
    CHECK(fcntl(fds[LINK_STDOUT], F_SETFL, O_NONBLOCK) == 0);
    CHECK(fcntl(fds[LINK_STDERR], F_SETFL, O_NONBLOCK) == 0);
    jail->jobs[jail->job_count++] = (struct fake_job){.number = job->job_no,
                                                      .is_pair = job->candidate_argc > 0,
                                                      .out = fds[LINK_STDOUT],
                                                      .err = fds[LINK_STDERR],
                                                      .life = -1};
}

static void answer_question(const struct fake_jail *jail, uint64_t job_no)
{
    struct link_notice notice = {.type = LINK_TIMES,
                                 .job_no = job_no,
                                 .cpu_us = 1000,
                                 .ended_ns = clock_now_ns(),
                                 .run_delay_ns = job_no % 2 ? UINT64_MAX : NS_PER_S};
    send_notice(jail, &notice, -1);
}

/* Takes in one message. Returns whether there was one. */
static bool serve(struct fake_jail *jail)
{
    struct link_job job;
    int fds[LINK_JOB_FDS];
    if (jail->link < 0)
        return false;
    if (is_killed(jail->life)) {
        die(jail);
        return true;
    }
    _cleanup_free_ char *strings = malloc(LINK_STRINGS_MAX);
    CHECK(strings);
    int r = link_receive_job(jail->link, &job, strings, fds);
    if (r == -EAGAIN)
        return false;
    CHECK(r >= 0); /* the daemon sends nothing that is invalid */
    if (r == 0)
        die(jail);
    else if (r == LINK_ASKED)
        answer_question(jail, job.job_no);
    else if (r != LINK_TOLD_TO_STOP) /* what must stop is killed, too */
        take_job(jail, &job, fds);
    return true;
}

bool fake_jails_serve(void)
{
    bool is_any = false;
    for (size_t i = 0; i < FAKE_JAILS_MAX; i++)
        while (serve(&fake.jails[i]))
            is_any = true;
    return is_any;
}

/* What takes a job. */
static void act_on_job(struct fake_jail *jail, enum fake_act act, uint8_t amount)
{
    char text[256];
    if (jail->job_count == 0)
        return;
    memset(text, 'x', sizeof(text));
    if (act == FAKE_START) {
        start_job(jail);
    } else if (act == FAKE_WRITE) {
        write_output(&jail->jobs[0], text, amount);
    } else if (act == FAKE_PASS) {
        const char *passes = jail->jobs[0].is_pair ? PAIR_PASSES : PASSES;
        write_output(&jail->jobs[0], passes, strlen(passes));
        finish_job(jail, 0, false);
    } else if (act == FAKE_FAIL) {
        finish_job(jail, amount, false);
    } else if (act == FAKE_REFUSE) {
        refuse_job(jail, amount);
    } else if (act == FAKE_RETURN) {
        return_job(jail);
    } else {
        finish_job(jail, 0, true);
        die(jail);
    }
}

void fake_jails_act(size_t i, enum fake_act act, uint8_t amount)
{
    struct fake_jail *jail = &fake.jails[i % FAKE_JAILS_MAX];
    if (jail->link < 0)
        return;
    if (act == FAKE_DIE)
        die(jail);
    else if (act == FAKE_LIE)
        lie(jail, amount);
    else if (act == FAKE_BABBLE)
        (void)send(jail->link, &amount, amount % 2, MSG_NOSIGNAL);
    else
        act_on_job(jail, act, amount);
}

void fake_jails_finish(void)
{
    for (size_t i = 0; i < FAKE_JAILS_MAX; i++)
        while (fake.jails[i].job_count > 0)
            finish_job(&fake.jails[i], 0, false);
}

void fake_jails_begin(void)
{
    memset(&fake, 0, sizeof(fake));
    for (size_t i = 0; i < FAKE_JAILS_MAX; i++)
        fake.jails[i].link = fake.jails[i].life = -1;
}

void fake_jails_refuse(unsigned count)
{
    fake.refused = count;
}

size_t fake_jails_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < FAKE_JAILS_MAX; i++)
        count += fake.jails[i].link >= 0;
    return count;
}

bool fake_jails_ended_well(uint64_t number)
{
    return number < FAKE_JOBS_MAX && fake.ended_well[number];
}

void fake_jails_end(void)
{
    for (size_t i = 0; i < FAKE_JAILS_MAX; i++)
        die(&fake.jails[i]);
}

/* --- in the place of others ------------------------------------------------------------------ */

int __wrap_confinement_spawn(const struct confinement *confinement, const struct jail_wish *wish,
                             const char *work_directory, unsigned index, struct jailproc *ret)
{
    struct link_notice ready = {.type = LINK_READY};
    size_t i = 0;
    int ends[2];
    (void)work_directory;
    if (fake.refused > 0) {
        fake.refused--;
        return -ENOSPC;
    }
    (void)fake_jails_serve(); /* those that were killed are gone */
    while (i < FAKE_JAILS_MAX && fake.jails[i].link >= 0)
        i++;
    CHECK(i < FAKE_JAILS_MAX); /* more jails than slots */
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    fake.jails[i] = (struct fake_jail){.link = ends[1]};
    fake.jails[i].life = make_life(&ret->pidfd);
    ret->link_fd = ends[0];
    ret->pid = INT_MAX - (int)index; /* no such process */
    ready.layers = confinement_shape(confinement, wish->networked)->layers;
    send_notice(&fake.jails[i], &ready, -1);
    return 0;
}

int __wrap_confinement_new(const struct config *config, const struct confinement_host *host,
                           const char *directory, struct confinement **ret, struct fault *fault)
{
    struct confinement *confinement = calloc(1, sizeof(*confinement));
    (void)config, (void)host, (void)directory, (void)fault;
    CHECK(confinement);
    confinement->references = 1;
    confinement->probe = (struct probe)PROBE_NULL;
    confinement->probe.layers = LAYERS_ALL & ~LAYER_BIT(LAYER_CGROUP);
    confinement->probe.shape.layers = confinement->probe.layers;
    confinement->probe.networked.layers =
        confinement->probe.layers & ~(LAYER_BIT(LAYER_NETWORK) | LAYER_BIT(LAYER_NET_NAMESPACE));
    confinement->jail.program = confinement->plain.program = confinement->code = -1;
    *ret = confinement;
    return 0;
}

int __wrap_confinement_warm_up(struct confinement *confinement, const struct config *config,
                               const struct confinement_host *host, const char *version,
                               const char *directory, struct fault *fault)
{
    (void)confinement, (void)config, (void)host, (void)version, (void)directory, (void)fault;
    return 0;
}

int __wrap_isolation_version_begin(const char *interpreter, struct version_query *ret,
                                   struct fault *fault)
{
    (void)interpreter, (void)ret, (void)fault;
    return 0;
}

char *__wrap_isolation_version_end(struct version_query *query, const char *interpreter,
                                   struct fault *fault)
{
    (void)query, (void)interpreter, (void)fault;
    return strdup("Python 3.11.2");
}

void __wrap_kill_by_pidfd(int pidfd)
{
    if (pidfd >= 0)
        (void)send(pidfd, "k", 1, MSG_NOSIGNAL);
}

int __wrap_children_kill(const pid_t *keep, size_t n)
{
    (void)keep, (void)n;
    return 0;
}

int __wrap_code_exec_checker(void)
{
    return memfd_create("checker", MFD_CLOEXEC);
}
