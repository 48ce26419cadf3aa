/* SPDX-License-Identifier: MIT */
/* Fuzz target: whole connections. Several clients talk to the real daemon, on its real event loop;
 * its jails are fake, and time stands still unless the input moves it.
 *
 * The input is a list of steps, each a byte and its arguments: clients come, send frames in pieces,
 * read, stop reading, shut down, vanish; jails start and end jobs, refuse them, lie, die. At the
 * end the jails end their jobs and the clients read on. Holds for any list of steps: what
 * fake_client.h says; every job is answered or its connection is closed; when the clients are gone,
 * nothing of them is left in the daemon, and it can drain and end; no descriptor and no timer is
 * left behind. */
#include "tests/fuzz/fake_client.h"
#include "tests/fuzz/fake_jails.h"
#include "tests/fuzz/fake_time.h"
#include "tests/fuzz/fuzz.h"

#include "daemon/supervisor/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CLIENTS 4
#define SLOTS_MAX 3
#define STEPS_MAX 200
#define TURNS 8       /* of the event loop, until nothing is left to do that a step has caused */
#define PATIENCE 3000 /* rounds in which a thing that has to happen does */
#define FRAME_MAX 200000
#define SEND_BUFFER 4096
#define REPLY_TIMEOUT_MS 5000

struct input {
    const uint8_t *data;
    size_t size;
};

struct world {
    struct supervisor supervisor;
    struct fake_client clients[CLIENTS];
    struct fake_address address; /* at which it listens */
};

/* --- input ----------------------------------------------------------------------------------- */

static uint8_t next(struct input *input)
{
    if (input->size == 0)
        return 0;
    input->size--;
    return *input->data++;
}

static const uint8_t *next_bytes(struct input *input, size_t *ret_n)
{
    size_t wanted = next(input);
    const uint8_t *at = input->data;
    *ret_n = MIN(wanted, input->size);
    input->data += *ret_n;
    input->size -= *ret_n;
    return at;
}

/* --- the daemon ------------------------------------------------------------------------------ */

static void turn(void *userdata)
{
    struct world *world = userdata;
    for (size_t i = 0; i < TURNS; i++)
        (void)event_base_loop(world->supervisor.base, EVLOOP_NONBLOCK);
    struct conn *conn;
    TAILQ_FOREACH(conn, &world->supervisor.conns, of_supervisor)
    {
        int small = SEND_BUFFER; /* so that clients need not leave much unread */
        if (conn->state != CONN_CLOSED)
            (void)setsockopt(conn_fd(conn), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    }
}

/* A work directory and a bench for all inputs, made once. */
static const char *directory(void)
{
    static char path[] = "/tmp/fuzz-connection.XXXXXX";
    static bool is_made;
    char name[128];
    static const char *const parts[] = {"/bench", "/bench/t"};
    if (is_made)
        return path;
    CHECK(mkdtemp(path));
    is_made = true;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, parts[i]);
        CHECK(mkdir(name, 0755) == 0);
    }
    (void)snprintf(name, sizeof(name), "%s/bench/t/rubric.py", path);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    close_fd(fd);
    return path;
}

static void remove_directory(void)
{
    char name[128];
    static const char *const parts[] = {"/bench/t/rubric.py", "/bench/t", "/bench", "/work", ""};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", directory(), parts[i]);
        (void)remove(name);
    }
}

static void configure(struct config *config)
{
    CHECK(config_init(config) == 0);
    free(config->work_dir);
    free(config->bench_root);
    free(config->metrics_listen);
    CHECK(asprintf(&config->work_dir, "%s/work", directory()) > 0);
    CHECK(asprintf(&config->bench_root, "%s/bench", directory()) > 0);
    config->metrics_listen = strdup("");
    CHECK(config->metrics_listen && string_list_add(&config->without, "cgroup") == 0);
    CHECK(string_list_add(&config->allowed_roots, config->bench_root) == 0);
    config->slots = 2;
    config->log_level = CONFIG_LOG_ERROR;
    config->log_format = CONFIG_LOG_PLAIN;
    config->max_clients = CLIENTS + 2;
    config->queue_jobs = 5;
    config->queue_jobs_per_client = 3;
    config->max_frame = FRAME_MAX;
    config->receive_bytes = FRAME_MAX + FRAME_MAX / 2;
    config->queue_bytes = 2 * FRAME_MAX;
    config->frame_timeout_ms = 1000;
    config->reply_high_water = 4096;
    config->reply_timeout_ms = REPLY_TIMEOUT_MS;
}

/* The kernel chooses an abstract name. */
static int make_listener(struct fake_address *ret)
{
    const struct sockaddr none = {.sa_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ret->length = sizeof(ret->name);
    CHECK(fd >= 0 && bind(fd, &none, sizeof(none.sa_family)) == 0 && listen(fd, CLIENTS) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&ret->name, &ret->length) == 0);
    return fd;
}

static void begin(struct world *world)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction before[ARRAY_SIZE(numbers)];
    struct config config = CONFIG_NULL;
    struct fault fault = FAULT_NULL;
    struct supervisor_options options = {
        .version = "0",
        .jail_program = -1,
        .warm_program = -ENOENT,
        .serve_fd = -1,
        .sockets = {.fd = {make_listener(&world->address)}, .count = 1},
    };
    for (size_t i = 0; i < CLIENTS; i++)
        world->clients[i].fd = -1;
    fake_jails_begin();
    fake_time_begin();
    configure(&config);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        (void)sigaction(numbers[i], NULL, &before[i]);
    int r = supervisor_init(&world->supervisor, &config, &options, &fault);
    if (r < 0)
        (void)fprintf(stderr, "%s\n", fault.text);
    CHECK(r == 0);
    log_set_level(&world->supervisor.log, -1);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) { /* they are for the fuzzer */
        (void)event_del(world->supervisor.signals[i]);
        (void)sigaction(numbers[i], &before[i], NULL);
    }
    turn(world);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Messages, with the place of a digit that makes ids differ. */
#define ID "\"id\":\"j%u\""
static const char *const messages[] = {
    "{\"type\":\"submit\"," ID ",\"job\":{\"kind\":\"sandbox\",\"argv\":[\"/bin/true\"]}}",
    "{\"type\":\"submit\"," ID ",\"job\":{\"kind\":\"rubric\",\"task_class\":\"t\",\"case\":{},"
    "\"harness_output\":{},\"priority\":3}}",
    "{\"type\":\"submit\"," ID
    ",\"job\":{\"kind\":\"code_exec\",\"code\":\"f = 1\",\"targets\":\"f\"}}",
    "{\"type\":\"submit\"," ID ",\"job\":{\"kind\":\"sandbox\",\"snippet\":\"exit 3\","
    "\"limits\":{\"wall_clock\":0.1,\"output_bytes\":1024,\"allow_network\":false}}}",
    "{\"type\":\"submit\"," ID
    ",\"job\":{\"kind\":\"rubric\",\"task_class\":\"missing\",\"case\":{},"
    "\"harness_output\":{}}}",
    "{\"type\":\"submit\"," ID ",\"job\":{\"kind\":\"rubric\",\"task_class\":\"t\",\"case\":{},"
    "\"harness_output\":{},\"sut\":{\"status\":\"timeout\"}}}",
    "{\"type\":\"cancel\"," ID "}",
    "{\"type\":\"cancel\",\"job_no\":%u}",
    "{\"type\":\"ping\"}",
    "{\"type\":\"status\"}",
    "{\"type\":\"metrics\"}",
    "{\"type\":\"reload\"}",
    "{\"type\":\"submit\",\"id\":\"b%u\",\"job\":{\"kind\":\"rubric\"}}",
    "{\"type\":\"submit\",\"id\":\"b%u\",\"job\":{\"kind\":\"sandbox\",\"snippet\":\"\\ud800\"}}",
    "{\"type\":\"ping\",\"n\":%u}",
    "{\"type\":\"drain\"}",
};

static void ask(struct fake_client *client, uint8_t which, uint8_t number)
{
    char text[512];
    const char *message = messages[which % ARRAY_SIZE(messages)];
    int n;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    n = snprintf(text, sizeof(text), message, (unsigned)number % 16);
#pragma GCC diagnostic pop
    CHECK(n > 0 && n < (int)sizeof(text));
    fake_client_ask(client, text, (size_t)n);
}

/* A submit of about N bytes, which takes a share of the budget for large frames. */
static void ask_large(struct fake_client *client, uint8_t number, size_t n)
{
    char *text = NULL, *padding = malloc(n + 1);
    CHECK(padding);
    memset(padding, 'x', n);
    padding[n] = '\0';
    int length = asprintf(&text,
                          "{\"type\":\"submit\"," ID ",\"job\":{\"kind\":\"sandbox\",\"argv\":["
                          "\"/bin/cat\"],\"stdin\":\"%s\"}}",
                          (unsigned)number % 16, padding);
    CHECK(length > 0);
    fake_client_ask(client, text, (size_t)length);
    free(text);
    free(padding);
}

enum step {
    STEP_TURN,
    STEP_ASK,
    STEP_ASK_LARGE,
    STEP_ASK_RAW,
    STEP_PUSH,
    STEP_PUSH_ALL,
    STEP_READ,
    STEP_SHUT,
    STEP_CLOSE,
    STEP_GARBLE,
    STEP_JAIL,
    STEP_WAIT,
    STEP_REFUSE_JAILS,
    STEP_RESIZE,
    STEP_FINISH,
    STEPS,
};

static void step_of_client(struct world *world, enum step step, struct input *input)
{
    struct fake_client *client = &world->clients[next(input) % CLIENTS];
    size_t n;
    const uint8_t *bytes;
    uint8_t a = next(input);
    if (client->fd < 0)
        fake_client_connect(client, &world->address, &world->supervisor.settings->policy);
    if (client->fd < 0)
        return;
    if (step == STEP_ASK) {
        ask(client, a, next(input));
    } else if (step == STEP_ASK_LARGE) {
        ask_large(client, a, (size_t)next(input) * 700);
    } else if (step == STEP_ASK_RAW) {
        bytes = next_bytes(input, &n);
        fake_client_ask(client, (const char *)bytes, n);
    } else if (step == STEP_PUSH) {
        (void)fake_client_push(client, (size_t)a * a + 1);
    } else if (step == STEP_PUSH_ALL) {
        (void)fake_client_push(client, SIZE_MAX);
    } else if (step == STEP_READ) {
        (void)fake_client_read(client, (size_t)a * a + 1);
    } else if (step == STEP_SHUT) {
        fake_client_shut(client);
    } else if (step == STEP_CLOSE) {
        fake_client_close(client);
    } else {
        bytes = next_bytes(input, &n);
        fake_client_garble(client, bytes, n);
    }
}

/* Who leaves something unread for long may lose the connection, and with it the word that says why.
 */
static void wait_ms(struct world *world, uint64_t ms)
{
    char byte;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct fake_client *client = &world->clients[i];
        if (ms > REPLY_TIMEOUT_MS && client->fd >= 0 && recv(client->fd, &byte, 1, MSG_PEEK) == 1)
            client->has_excuse = true;
    }
    fake_time_pass(ms, turn, world);
}

static void take_step(struct world *world, struct input *input)
{
    static const uint16_t waits_ms[] = {1, 9, 60, 100, 600, 1100, 5100, 10100};
    const int step = next(input) % STEPS; /* of enum step */
    uint8_t a, b;
    switch (step) {
    case STEP_TURN:
        turn(world);
        break;
    case STEP_JAIL:
        a = next(input);
        b = next(input);
        (void)fake_jails_serve();
        fake_jails_act(a & 3, (enum fake_act)((a >> 2) % FAKE_ACTS), b);
        turn(world);
        break;
    case STEP_WAIT:
        wait_ms(world, waits_ms[next(input) % ARRAY_SIZE(waits_ms)]);
        break;
    case STEP_REFUSE_JAILS:
        fake_jails_refuse(next(input) % 16);
        break;
    case STEP_RESIZE:
        if (!world->supervisor.pool.stopping)
            CHECK(pool_resize(&world->supervisor.pool, 1 + next(input) % SLOTS_MAX) == 0);
        turn(world);
        break;
    case STEP_FINISH:
        (void)fake_jails_serve();
        fake_jails_finish();
        turn(world);
        break;
    default:
        step_of_client(world, (enum step)step, input);
        break;
    }
}

/* --- the end --------------------------------------------------------------------------------- */

/* Lets everybody do what there is to do. Returns whether there was anything. */
static bool settle_once(struct world *world)
{
    bool is_any = fake_jails_serve();
    fake_jails_finish();
    turn(world);
    for (size_t i = 0; i < CLIENTS; i++) {
        is_any |= fake_client_push(&world->clients[i], SIZE_MAX);
        is_any |= fake_client_read(&world->clients[i], SIZE_MAX);
    }
    return is_any;
}

static bool has_work(const struct world *world)
{
    const struct conn *conn;
    TAILQ_FOREACH(conn, &world->supervisor.conns, of_supervisor)
    if (conn_is_served(conn) && (!TAILQ_EMPTY(&conn->jobs.list) || conn_is_parked(conn)))
        return true;
    for (size_t i = 0; i < CLIENTS; i++)
        if (world->clients[i].fd >= 0 && !world->clients[i].is_over &&
            world->clients[i].unsent.length > 0)
            return true;
    return queue_count(&world->supervisor.queue) > 0 || pool_busy(&world->supervisor.pool) > 0;
}

/* Time passes only while nobody has anything to do. */
static void settle(struct world *world)
{
    size_t rounds = 0;
    fake_jails_refuse(0);
    while (settle_once(world) || has_work(world)) {
        CHECK(++rounds < PATIENCE);
        if (rounds % 4 == 0 && !settle_once(world))
            (void)fake_time_pass_to_next(turn, world);
    }
}

static void check_empty(const struct supervisor *supervisor)
{
    const struct conn_env *env = &supervisor->conn_env;
    CHECK(supervisor->conn_count == 0 && TAILQ_EMPTY(&supervisor->conns));
    CHECK(queue_count(&supervisor->queue) == 0 && pool_busy(&supervisor->pool) == 0);
    CHECK(TAILQ_EMPTY(&env->parked) && TAILQ_EMPTY(&env->choked));
    CHECK(env->budget.reserved == 0 && TAILQ_EMPTY(&env->budget.waiting) &&
          TAILQ_EMPTY(&env->budget.holders) && !env->budget.guest);
    for (size_t i = 0; i < USER_BUCKETS; i++)
        CHECK(LIST_EMPTY(&env->users.buckets[i]));
    CHECK(supervisor->settings->references == 1);
}

static void end(struct world *world)
{
    struct supervisor *supervisor = &world->supervisor;
    size_t rounds = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        fake_client_close(&world->clients[i]);
    for (; supervisor->conn_count > 0; rounds++) {
        CHECK(rounds < PATIENCE);
        if (!settle_once(world) && supervisor->conn_count > 0)
            (void)fake_time_pass_to_next(turn, world);
    }
    settle(world);
    check_empty(supervisor);
    event_active(supervisor->signals[0], EV_SIGNAL, 1); /* SIGTERM */
    for (rounds = 0; !pool_is_stopped(&supervisor->pool); rounds++) {
        CHECK(rounds < PATIENCE);
        if (!settle_once(world) && !pool_is_stopped(&supervisor->pool))
            (void)fake_time_pass_to_next(turn, world);
    }
    CHECK(supervisor->phase == PHASE_STOPPING);
    supervisor_deinit(supervisor);
    (void)fake_jails_serve();
    CHECK(fake_jails_count() == 0);
    fake_jails_end();
    fake_time_end();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)directory();
    return atexit(remove_directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const int descriptors = fuzz_count_descriptors();
    struct world *world = calloc(1, sizeof(*world));
    CHECK(world);
    begin(world);
    for (size_t i = 0; i < STEPS_MAX && input.size > 0; i++)
        take_step(world, &input);
    settle(world);
    for (size_t i = 0; i < CLIENTS; i++)
        fake_client_check_end(&world->clients[i]);
    end(world);
    free(world);
    CHECK(fuzz_count_descriptors() == descriptors);
    return 0;
}
