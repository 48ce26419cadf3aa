/* SPDX-License-Identifier: MIT */
/* rubricd-http: reads its settings and tokens, opens its socket, and serves until a signal. */
#include "descriptors.h"
#include "listen.h"
#include "options.h"
#include "server.h"

#include "client/terminal/text.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>

/* The credential of systemd that holds the tokens if no setting names a file. */
#define CREDENTIAL "tokens"
#define TOKENS_PATH_MAX 4096
/* After SIGTERM, the requests under way have this time. */
#define STOP_TIME_S 30

struct process {
    struct event_base *base;
    struct server *server;
    bool stopping;
};

static int complain_fault(const struct fault *fault, int status)
{
    (void)fprintf(stderr, "rubricd-http: %s\n", fault->text);
    return status;
}

/* --- settings ----------------------------------------------------------------------------- */

static int load_settings(const struct http_arguments *arguments, struct http_settings *settings)
{
    const char *path = arguments->config ? arguments->config : HTTP_CONFIG_DEFAULT;
    struct fault fault = FAULT_NULL;
    int r = http_settings_init(settings);
    if (r == 0)
        r = http_settings_read(settings, path, stderr);
    if (r == -ENOENT && arguments->config)
        (void)fprintf(stderr, "%s: %s\n", path, strerror(ENOENT));
    else if (r == -ENOENT)
        r = 0;
    for (size_t i = 0; i < arguments->settings.n; i++) {
        int error = http_settings_set(settings, arguments->settings.items[i], &fault);
        if (error < 0)
            (void)fprintf(stderr, "--set: %s\n", error == -EINVAL ? fault.text : "out of memory");
        r = error < 0 ? error : r;
    }
    return r;
}

/* Finds the file of tokens; "" if there is none. */
static void find_tokens(const struct http_settings *settings, char path[TOKENS_PATH_MAX])
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    (void)snprintf(path, TOKENS_PATH_MAX, "%s", settings->tokens);
    if (path[0] != '\0' || !credentials)
        return;
    int n = snprintf(path, TOKENS_PATH_MAX, "%s/" CREDENTIAL, credentials);
    if (n >= TOKENS_PATH_MAX || access(path, F_OK) < 0)
        path[0] = '\0';
}

/* Reads the tokens, which an address that other hosts reach needs. */
static int load_tokens(const struct http_settings *settings, const struct listen_address *address,
                       struct tokens *ret, struct fault *fault)
{
    char path[TOKENS_PATH_MAX], text[LISTEN_TEXT_MAX];
    find_tokens(settings, path);
    if (path[0] != '\0')
        return tokens_load(path, ret, fault);
    if (listen_is_local(address))
        return 0;
    listen_print(address, text);
    return fault_set(fault,
                     "other hosts can reach %s: it is served only with `tokens`, or with the "
                     "credential %s of systemd",
                     text, CREDENTIAL);
}

/* --- the process -------------------------------------------------------------------------- */

/* Sees to it that descriptors do not run out before connections do. */
static int bound_connections(struct http_settings *settings, size_t tokens, struct fault *fault)
{
    int r = descriptors_bound(descriptors_raise(), tokens, &settings->connections, fault);
    if (r > 0)
        (void)complain_fault(fault, EX_OK);
    return MIN(r, 0);
}

static void on_idle(void *userdata)
{
    struct process *process = userdata;
    (void)event_base_loopbreak(process->base);
}

static void on_signal(_unused_ evutil_socket_t signal, _unused_ short events, void *userdata)
{
    struct process *process = userdata;
    const struct timeval stop_time = {.tv_sec = STOP_TIME_S};
    if (process->stopping) {
        (void)event_base_loopbreak(process->base);
        return;
    }
    process->stopping = true;
    (void)sd_notify(0, "STOPPING=1");
    (void)event_base_loopexit(process->base, &stop_time);
    server_drain(process->server, on_idle, process);
}

static int serve(struct gateway *gateway, int take_fd, struct fault *fault)
{
    struct process process = {.base = gateway->base};
    struct event *term = evsignal_new(gateway->base, SIGTERM, on_signal, &process);
    struct event *interrupt = evsignal_new(gateway->base, SIGINT, on_signal, &process);
    struct listen_address address;
    char text[LISTEN_TEXT_MAX];
    int r = term && interrupt ? listen_find(take_fd, &address) : -ENOMEM;
    if (r == 0)
        r = server_new(gateway, take_fd, &process.server, fault);
    if (r == 0 && (event_add(term, NULL) < 0 || event_add(interrupt, NULL) < 0))
        r = -ENOMEM;
    if (r == 0) {
        listen_print(&address, text);
        (void)fprintf(stderr, "rubricd-http: listening on %s\n", text);
        (void)backend_connect(gateway->control);
        (void)sd_notify(0, "READY=1");
        (void)event_base_dispatch(gateway->base);
    }
    process.server = server_free(process.server);
    if (term)
        event_free(term);
    if (interrupt)
        event_free(interrupt);
    return r;
}

/* Serves FD, or a socket of its own. Returns the exit status. */
static int run(struct http_settings *settings, bool check)
{
    struct fault fault = FAULT_NULL;
    struct tokens tokens = TOKENS_NULL;
    struct listen_address address;
    _cleanup_close_ int fd = -1;
    int r = listen_inherit(&fd, &fault);
    if (r >= 0)
        r = r > 0 ? listen_find(fd, &address) : listen_parse(settings->listen, &address);
    if (r == 0)
        r = load_tokens(settings, &address, &tokens, &fault);
    if (r == 0 && !check)
        r = bound_connections(settings, tokens.count, &fault);
    struct event_base *base = r == 0 ? event_base_new() : NULL;
    struct gateway gateway = {.base = NULL};
    if (base)
        r = gateway_init(&gateway, base, settings, &tokens, &fault);
    if (r < 0 || !base) {
        gateway_deinit(&gateway);
        tokens_deinit(&tokens);
        if (base)
            event_base_free(base);
        return complain_fault(&fault, r == -EINVAL || r == -ENOENT ? EX_CONFIG : EX_OSERR);
    }
    gateway.guards_browsers = listen_is_network(&address) && listen_is_local(&address);
    if (!check && fd < 0)
        r = listen_open(&address, settings->socket_mode, &fd, &fault);
    if (r == 0 && !check)
        r = serve(&gateway, TAKE_FD(fd), &fault);
    if (r == 0 && !check && address.of.generic.sa_family == AF_UNIX && sd_listen_fds(0) <= 0)
        (void)unlink(address.of.local.sun_path);
    gateway_deinit(&gateway);
    event_base_free(base);
    return r < 0 ? complain_fault(&fault, EX_UNAVAILABLE) : EX_OK;
}

int main(int argc, char **argv)
{
    struct http_arguments arguments = {.config = NULL};
    struct http_settings settings = HTTP_SETTINGS_NULL;
    int status = EX_OK;
    complain_as("rubricd-http");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_DUMPABLE, 0); /* the tokens' digests are in memory */
    if (http_options_parse(argc, argv, &arguments) < 0)
        status = EX_USAGE;
    else if (arguments.help)
        http_options_help(stdout);
    else if (arguments.version)
        (void)printf("rubricd-http %s\n", RUBRICCTL_VERSION);
    else if (load_settings(&arguments, &settings) < 0)
        status = EX_CONFIG;
    else
        status = run(&settings, arguments.check);
    http_settings_deinit(&settings);
    http_arguments_deinit(&arguments);
    return status;
}
