/* SPDX-License-Identifier: MIT */
/* supervisor.h has the theory of operation. */
#include "supervisor.h"
#include "dispatch.h"
#include "notify.h"
#include "relieve.h"
#include "reload.h"
#include "requests.h"
#include "rubrics.h"
#include "sessions.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "daemon/observe/metrics.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- stopping ------------------------------------------------------------------------------ */

static void say_bye(struct supervisor *supervisor)
{
    struct conn *conn;
    TAILQ_FOREACH(conn, &supervisor->conns, of_supervisor)
    {
        _cleanup_bytes_ struct bytes payload = BYTES_NULL;
        if (reply_bye("draining", "the daemon stops", &payload) == 0)
            conn_send(conn, &payload);
        conn_close(conn);
    }
}

static void stop_when_idle(struct supervisor *supervisor)
{
    if (supervisor->phase < PHASE_STOPPING && pool_busy(&supervisor->pool) == 0 &&
        queue_count(&supervisor->queue) == 0 && supervisor->session_count == 0) {
        state_enter(supervisor, PHASE_STOPPING);
        (void)event_del(supervisor->grace);
        scrape_deinit(&supervisor->scrape);
        say_bye(supervisor);
        pool_stop(&supervisor->pool);
    }
    if (supervisor->phase == PHASE_STOPPING && pool_is_stopped(&supervisor->pool) &&
        supervisor->conn_count == 0)
        (void)event_base_loopbreak(supervisor->base);
}

static void close_listeners(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->listener_count; i++)
        listener_deinit(&supervisor->listeners[i]);
    supervisor->listener_count = 0;
}

static void mark_draining(void *owner)
{
    job_mark_draining(owner);
}

/* Kills the jobs that still run, or wait for their next turn. Each further signal calls it again,
 * and so does the end of the grace period. */
static void kill_jobs(struct supervisor *supervisor)
{
    if (supervisor->phase == PHASE_DRAINING)
        state_enter(supervisor, PHASE_KILLING);
    pool_cancel_all(&supervisor->pool, mark_draining);
    sessions_drain(supervisor);
    requests_refuse_queued(supervisor, false, ERROR_DRAINING,
                           "the daemon stops and the grace period is over");
}

/* Refuses new clients and jobs, answers queued jobs with `draining`, and gives those that have
 * begun the grace period to end. */
static void begin_drain(struct supervisor *supervisor)
{
    if (state_is_draining(supervisor))
        return;
    uint64_t ms = supervisor->settings->config.grace_period_ms;
    struct timeval grace = {.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    state_enter(supervisor, PHASE_DRAINING);
    supervisor->grace_ends_ns = clock_now_ns() + ms * NS_PER_MS;
    service_stopping(&supervisor->service);
    log_event(&supervisor->log, LOG_INFO, LOG_MESSAGE_DRAINING,
              "draining: %u jobs run, %zu are queued, %u sessions are open",
              pool_busy(&supervisor->pool), queue_count(&supervisor->queue),
              supervisor->session_count);
    close_listeners(supervisor);
    requests_refuse_queued(supervisor, true, ERROR_DRAINING,
                           "the daemon stops before the job was started");
    (void)event_add(supervisor->grace, &grace);
    notify_tell(supervisor);
    event_active(supervisor->turn, 0, 0);
}

/* --- events -------------------------------------------------------------------------------- */

/* Answers the jobs that wait for a jail which cannot be had: their clients know better than this
 * daemon how long to wait for a host that is short of something. */
static void refuse_for_no_jail(struct supervisor *supervisor)
{
    char message[512];
    const char *why = pool_why_no_jail(&supervisor->pool);
    if (!why || queue_count(&supervisor->queue) == 0)
        return;
    (void)snprintf(message, sizeof(message), "no jail can be started in %.256s: %s",
                   supervisor->work_dir, why);
    supervisor->has_refused = true;
    requests_refuse_queued(supervisor, false, ERROR_SANDBOX_FAILED, message);
}

static void on_turn(evutil_socket_t fd, short what, void *userdata)
{
    static const struct timeval next_turn = {0};
    struct supervisor *supervisor = userdata;
    bool is_done;
    (void)fd;
    (void)what;
    sessions_settle(supervisor);
    pool_reap(&supervisor->pool);
    relieve_memory(supervisor);
    do
        is_done = requests_resume(supervisor);
    while (pool_dispatch(&supervisor->pool) && is_done);
    /* Due at once, behind what is ready by then. */
    if (!is_done && event_add(supervisor->turn, &next_turn) < 0)
        event_active(supervisor->turn, 0, 0); /* takes no memory */
    refuse_for_no_jail(supervisor);
    if (supervisor->single_client && supervisor->conn_count == 0)
        begin_drain(supervisor);
    if (state_is_draining(supervisor))
        stop_when_idle(supervisor);
}

static void on_drain(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    begin_drain(userdata);
}

static void on_grace(evutil_socket_t fd, short what, void *userdata)
{
    struct supervisor *supervisor = userdata;
    (void)fd;
    (void)what;
    log_event(&supervisor->log, LOG_WARNING, LOG_MESSAGE_GRACE_OVER,
              "the grace period is over: killing %u jobs", pool_busy(&supervisor->pool));
    kill_jobs(supervisor);
}

static void on_signal(evutil_socket_t number, short what, void *userdata)
{
    struct supervisor *supervisor = userdata;
    (void)what;
    if (number == SIGHUP)
        reload_on_signal(supervisor);
    else if (state_is_draining(supervisor))
        kill_jobs(supervisor); /* the second signal */
    else
        begin_drain(supervisor);
}

static void on_tell(evutil_socket_t fd, short what, void *userdata)
{
    struct supervisor *supervisor = userdata;
    (void)fd;
    (void)what;
    notify_tell(supervisor);
    log_flush(&supervisor->log);
}

/* --- set-up -------------------------------------------------------------------------------- */

static int set_up_events(struct supervisor *supervisor)
{
    static const int numbers[SUPERVISOR_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    struct event_base *base = supervisor->base = event_base_new();
    if (!base)
        return -ENOMEM;
    supervisor->turn = event_new(base, -1, 0, on_turn, supervisor);
    supervisor->drain = event_new(base, -1, 0, on_drain, supervisor);
    supervisor->grace = event_new(base, -1, 0, on_grace, supervisor);
    supervisor->tell = event_new(base, -1, EV_PERSIST, on_tell, supervisor);
    if (!supervisor->turn || !supervisor->drain || !supervisor->grace || !supervisor->tell)
        return -ENOMEM;
    for (size_t i = 0; i < SUPERVISOR_SIGNALS; i++) {
        /* Freeing the events restores this: a late signal must not kill a daemon that is ending. */
        (void)signal(numbers[i], SIG_IGN);
        supervisor->signals[i] =
            event_new(base, numbers[i], EV_SIGNAL | EV_PERSIST, on_signal, supervisor);
        if (!supervisor->signals[i] || event_add(supervisor->signals[i], NULL) < 0)
            return -ENOMEM;
    }
    log_attach(&supervisor->log, base);
    struct timeval period = {.tv_sec = NOTIFY_INTERVAL_S};
    if (event_add(supervisor->tell, &period) < 0)
        return -ENOMEM;
    return service_init(&supervisor->service, base, notify_is_healthy, supervisor);
}

static int set_up_conn_env(struct supervisor *supervisor)
{
    supervisor->conn_env.base = supervisor->base;
    supervisor->conn_env.log = &supervisor->log;
    supervisor->conn_env.ops = &requests_conn_ops;
    supervisor->conn_env.userdata = supervisor;
    users_init(&supervisor->conn_env.users);
    TAILQ_INIT(&supervisor->conn_env.parked);
    TAILQ_INIT(&supervisor->conn_env.choked);
    int r = receive_budget_init(&supervisor->conn_env.budget, supervisor->base, conn_lose_share);
    if (r == 0)
        r = frame_line_init(&supervisor->conn_env.line, supervisor->base, conn_take_turn);
    if (r == 0)
        state_bound_receiving(supervisor);
    return r;
}

/* How long a daemon waits for the lock of its work directory, and how often it tries. */
#define WORK_DIR_WAIT_MS 2000
#define WORK_DIR_TRY_MS 10

/* Locks the work directory: two daemons in one would empty each other's slots. A daemon that was
 * killed may leave children behind that were about to become jails: they hold its lock until they
 * do or die, so this waits for them. */
static int lock_work_dir(struct supervisor *supervisor, const char *path, struct fault *fault)
{
    const struct timespec pause = {.tv_nsec = WORK_DIR_TRY_MS * 1000000L};
    int r, waited_ms = 0;
    while ((r = flock(supervisor->work_dir_fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0) ==
               -EWOULDBLOCK &&
           waited_ms < WORK_DIR_WAIT_MS) {
        if (waited_ms == 0)
            log_write(&supervisor->log, LOG_NOTICE, "%s is in use; waiting at most %d ms for it",
                      path, WORK_DIR_WAIT_MS);
        (void)nanosleep(&pause, NULL);
        waited_ms += WORK_DIR_TRY_MS;
    }
    if (r == -EWOULDBLOCK)
        fault_set(fault, "[daemon] work_dir: %s is in use by another rubricd", path);
    else if (r < 0)
        fault_set(fault, "[daemon] work_dir: %s: cannot lock it: %s", path, strerror(-r));
    return r;
}

/* Makes and locks the work directory. */
static int set_up_work_dir(struct supervisor *supervisor, const char *path, struct fault *fault)
{
    int r = 0;
    /* A daemon started by hand has no runtime directory yet. The next call says if this fails. */
    _cleanup_free_ char *copy = strdup(path);
    if (copy)
        (void)mkdir(dirname(copy), 0755);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        r = -errno;
    if (r == 0) {
        supervisor->work_dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = supervisor->work_dir_fd < 0 ? -errno : 0;
    }
    if (r < 0) {
        fault_set(fault, "[daemon] work_dir: %s: %s", path, strerror(-r));
        return r;
    }
    return lock_work_dir(supervisor, path, fault);
}

/* Opens the tree of control groups, if the daemon has one. Before any child is started. */
static int open_cgroups(struct supervisor *supervisor, const struct config *config,
                        struct fault *fault)
{
    struct fault *reason = &supervisor->no_cgroups;
    uint32_t without;
    int r = isolation_without(config, &without, fault);
    if (r < 0)
        return r;
    if (layer_in(without, LAYER_CGROUP))
        (void)fault_set(reason, "they are set up when the daemon starts: restart it");
    else if (cgroup_tree_open(&supervisor->cgroups, reason) == 0 && *reason->text)
        log_event(&supervisor->log, LOG_WARNING, LOG_MESSAGE_CGROUPS_UNUSABLE, "cgroups: %s",
                  reason->text);
    return 0;
}

static int set_up_settings(struct supervisor *supervisor, struct config *config,
                           struct fault *fault)
{
    struct settings *settings = NULL;
    /* Orphans of a job whose jail was killed become children of this process instead of init. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        fault_set(fault, "becoming a child subreaper: %s", strerror(errno));
        return -errno;
    }
    int r = open_cgroups(supervisor, config, fault);
    if (r < 0)
        return r;
    struct settings_host host = state_host(supervisor);
    r = settings_new(config, &host, 1, NULL, &settings, fault);
    if (r == 0)
        state_adopt(supervisor, settings);
    return r;
}

static int set_up_pool(struct supervisor *supervisor, struct fault *fault)
{
    struct pool_config config = {
        .base = supervisor->base,
        .log = &supervisor->log,
        .confinement = supervisor->settings->confinement,
        .cgroups = &supervisor->cgroups,
        .work_directory = supervisor->work_dir,
        .work_directory_fd = supervisor->work_dir_fd,
        .slot_count = supervisor->settings->slots,
        .queue = &supervisor->queue,
        .ops = &dispatch_pool_ops,
        .userdata = supervisor,
    };
    int r = pool_init(&supervisor->pool, &config);
    if (r < 0)
        fault_set(fault, "starting the slots: %s", strerror(-r));
    return r;
}

static int set_up_clients(struct supervisor *supervisor, const struct supervisor_options *options,
                          struct fault *fault)
{
    const struct config *config = &supervisor->settings->config;
    if (options->serve_fd >= 0) {
        requests_accept(options->serve_fd, supervisor);
        return 0;
    }
    struct service_sockets sockets = options->sockets;
    if (sockets.count == 0) {
        int fd = listener_bind(config->socket, config->socket_mode, config->socket_group, NULL,
                               &supervisor->log, fault);
        if (fd < 0)
            return fd;
        sockets = (struct service_sockets){.fd = {fd}, .count = 1};
    }
    /* Sockets that the service manager passed are its own to remove. */
    bool is_ours = options->sockets.count == 0 || options->owns_socket;
    for (unsigned i = 0; i < sockets.count; i++) {
        supervisor->listener_count++;
        int r = listener_init(&supervisor->listeners[i], supervisor->base, &supervisor->log,
                              sockets.fd[i], is_ours ? config->socket : NULL, requests_accept,
                              supervisor);
        if (r < 0) {
            fault_set(fault, "%s: %s", config->socket, strerror(-r));
            return r;
        }
    }
    return 0;
}

static int print_metrics(enum exposition_format format, struct bytes *ret, void *userdata)
{
    struct status_view view = state_view(userdata);
    return metrics_print(&view, format, ret);
}

static int set_up_scrape(struct supervisor *supervisor, struct fault *fault)
{
    const struct config *config = &supervisor->settings->config;
    const struct scrape_config scrape = {
        .listen = config->metrics_listen,
        .group = config->socket_group,
        .print = print_metrics,
        .userdata = supervisor,
    };
    if (supervisor->single_client || !*config->metrics_listen)
        return 0;
    return scrape_init(&supervisor->scrape, supervisor->base, &supervisor->log, &scrape, fault);
}

static int set_up(struct supervisor *supervisor, const struct supervisor_options *options,
                  struct fault *fault)
{
    int r = set_up_events(supervisor);
    if (r == 0)
        r = state_attach_languages(supervisor, supervisor->settings);
    if (r == 0)
        r = set_up_conn_env(supervisor);
    if (r < 0) {
        fault_set(fault, "setting up the event loop: %s", strerror(-r));
        return r;
    }
    r = set_up_pool(supervisor, fault);
    if (r == 0)
        r = set_up_clients(supervisor, options, fault);
    if (r == 0)
        r = set_up_scrape(supervisor, fault);
    return r;
}

static void tell_of_start(struct supervisor *supervisor)
{
    struct record record;
    record_init(&record, LOG_INFO, LOG_MESSAGE_STARTED);
    record_add_text(&record, RECORD_VERSION, supervisor->version);
    record_add_text(&record, RECORD_ISOLATION_DIGEST, supervisor->settings->isolation.digest);
    record_say(&record, "version %s, %u slots, isolation digest %s", supervisor->version,
               supervisor->settings->slots, supervisor->settings->isolation.digest);
    log_record(&supervisor->log, &record);
}

int supervisor_init(struct supervisor *supervisor, struct config *config,
                    const struct supervisor_options *options, struct fault *fault)
{
    *supervisor = (struct supervisor){
        .version = options->version,
        .source = options->source,
        .jail_program = options->jail_program,
        .warm_program = options->warm_program,
        .single_client = options->serve_fd >= 0,
        .scrape = SCRAPE_NULL,
        .work_dir_fd = -1,
        .cgroups = CGROUP_TREE_NULL,
        .no_cgroups = FAULT_NULL,
        .started_ns = clock_now_ns(),
        .started_at_ns = clock_epoch_ns(),
    };
    TAILQ_INIT(&supervisor->conns);
    TAILQ_INIT(&supervisor->sessions);
    queue_init(&supervisor->queue, 0, 0, 0);
    log_init(&supervisor->log, state_log_level(config), config->log_format);

    supervisor->work_dir = strdup(config->work_dir);
    int r = stats_init(&supervisor->stats, supervisor->started_ns);
    if (r == 0)
        r = rubrics_init(supervisor);
    if (r < 0 || !supervisor->work_dir) {
        fault_set(fault, "out of memory");
        return -ENOMEM;
    }
    r = set_up_work_dir(supervisor, supervisor->work_dir, fault);
    if (r == 0)
        r = set_up_settings(supervisor, config, fault);
    if (r == 0)
        r = set_up(supervisor, options, fault);
    if (r == 0)
        tell_of_start(supervisor);
    return r;
}

int supervisor_run(struct supervisor *supervisor)
{
    service_ready(&supervisor->service);
    notify_tell(supervisor);
    int r = event_base_dispatch(supervisor->base) < 0 ? -EIO : 0;
    log_event(&supervisor->log, r < 0 ? LOG_CRIT : LOG_INFO, LOG_MESSAGE_STOPPED,
              r < 0 ? "stopped: the event loop failed" : "stopped: every job is answered");
    return r;
}

/* --- tear-down ----------------------------------------------------------------------------- */

static void free_conns(struct supervisor *supervisor)
{
    struct conn *conn;
    while ((conn = TAILQ_FIRST(&supervisor->conns))) {
        struct job *job;
        state_remove_conn(supervisor, conn);
        while ((job = TAILQ_FIRST(&conn->jobs.list))) {
            job_set_remove(&conn->jobs, job);
            if (job->place == JOB_QUEUED)
                queue_remove(&supervisor->queue, &job->entry);
            job_enter(job, JOB_ENDED, NULL);
            job_free(job);
        }
        conn_free(conn);
    }
}

static void free_sessions(struct supervisor *supervisor)
{
    struct session *session;
    while ((session = TAILQ_FIRST(&supervisor->sessions))) {
        TAILQ_REMOVE(&supervisor->sessions, session, link);
        session_free(session);
    }
}

void supervisor_deinit(struct supervisor *supervisor)
{
    close_listeners(supervisor);
    scrape_deinit(&supervisor->scrape);
    free_conns(supervisor);
    free_sessions(supervisor);
    pool_deinit(&supervisor->pool);
    service_deinit(&supervisor->service);
    receive_budget_deinit(&supervisor->conn_env.budget);
    frame_line_deinit(&supervisor->conn_env.line);
    supervisor->turn = consume_event(supervisor->turn);
    supervisor->drain = consume_event(supervisor->drain);
    supervisor->grace = consume_event(supervisor->grace);
    supervisor->tell = consume_event(supervisor->tell);
    rubrics_deinit(supervisor);
    for (size_t i = 0; i < SUPERVISOR_SIGNALS; i++)
        supervisor->signals[i] = consume_event(supervisor->signals[i]);
    log_detach(&supervisor->log);
    if (supervisor->settings)
        languages_detach(supervisor->settings->languages);
    if (supervisor->base)
        event_base_free(supervisor->base);
    stats_deinit(&supervisor->stats);
    supervisor->settings = settings_unref(supervisor->settings);
    cgroup_tree_close(&supervisor->cgroups);
    supervisor->jail_program = close_fd(supervisor->jail_program);
    supervisor->warm_program = close_fd(supervisor->warm_program);
    close_fd(supervisor->work_dir_fd);
    free(supervisor->work_dir);
    log_deinit(&supervisor->log);
}
