/* SPDX-License-Identifier: MIT */
#include "check_host.h"

#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/base/environment.h"
#include "daemon/base/privileges.h"
#include "daemon/confine/isolation.h"
#include "proto/util.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#define MODULES_TIMEOUT_NS (UINT64_C(10000) * NS_PER_MS)
/* Bytes of the names of missing modules. */
#define MISSING_MAX 1024

/* Looks for modules without running any, except the packages that a dotted name is in. */
static char find_modules[] = "import importlib.util, sys\n"
                             "for name in sys.argv[1:]:\n"
                             "    try:\n"
                             "        found = importlib.util.find_spec(name)\n"
                             "    except (ImportError, ValueError):\n"
                             "        found = name in sys.modules\n"
                             "    if not found: print(name, end=' ')\n";

static int check_user(const struct config *config, FILE *err)
{
    struct account account;
    struct fault fault = FAULT_NULL;
    if (privileges_find(config->user, CONFIG_DEFAULT_USER, &account, &fault) == 0)
        return 0;
    (void)fprintf(err, "rubricd: %s\n", fault.text);
    return 1;
}

static int check_interpreter(const struct config *config, FILE *err)
{
    struct version_query query;
    struct fault fault = FAULT_NULL;
    _cleanup_free_ char *version = NULL;
    if (isolation_version_begin(config->interpreter, &query, &fault) == 0)
        version = isolation_version_end(&query, config->interpreter, &fault);
    if (version)
        return 0;
    (void)fprintf(err, "rubricd: %s\n", fault.text);
    return 1;
}

/* Starts the interpreter, which prints the names of missing modules to OUTPUT. */
static int spawn_search(const struct config *config, int output, pid_t *ret)
{
    _cleanup_string_list_ struct string_list argv = STRING_LIST_NULL;
    const char *const first[] = {config->interpreter, "-s", "-B", "-c", find_modules};
    posix_spawn_file_actions_t actions;
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(first); i++)
        r = string_list_add(&argv, first[i]);
    for (size_t i = 0; r == 0 && i < config->warm_modules.count; i++)
        r = string_list_add(&argv, config->warm_modules.item[i]);
    if (r < 0)
        return r;
    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn(ret, config->interpreter, &actions, NULL, argv.item,
                        (char *const *)(uintptr_t)isolation_scrubbed_env);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Reads what the search prints, until its end or the deadline, into MISSING. */
static void read_missing(int fd, uint64_t deadline_ns, char missing[MISSING_MAX])
{
    size_t length = 0;
    while (length < MISSING_MAX - 1 && await_readable(fd, deadline_ns)) {
        ssize_t n = read(fd, missing + length, MISSING_MAX - 1 - length);
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    while (length > 0 && missing[length - 1] == ' ')
        length--;
    missing[length] = '\0';
}

/* Writes the names of the missing modules; "" if none is, or the search failed: the start of the
 * daemon, which loads them, tells why. */
static void search_modules(const struct config *config, char missing[MISSING_MAX])
{
    int fds[2];
    pid_t pid = -1;
    missing[0] = '\0';
    if (config->warm_modules.count == 0 || pipe2(fds, O_CLOEXEC) < 0)
        return;
    int r = spawn_search(config, fds[1], &pid);
    close_fd(fds[1]);
    if (r == 0) {
        read_missing(fds[0], clock_now_ns() + MODULES_TIMEOUT_NS, missing);
        (void)kill(pid, SIGKILL); /* it has ended, or has had its time */
        (void)waitpid(pid, NULL, 0);
    }
    close_fd(fds[0]);
}

static int check_modules(const struct config *config, FILE *err)
{
    char missing[MISSING_MAX];
    if (config->warm == CONFIG_WARM_NO)
        return 0;
    search_modules(config, missing);
    if (!*missing)
        return 0;
    bool is_needed = config->warm == CONFIG_WARM_YES;
    (void)fprintf(err, "rubricd: %s[warm] modules: %s has no %s%s\n",
                  is_needed ? "" : "warning: ", config->interpreter, missing,
                  is_needed ? "" : ": no interpreter will wait in the jails");
    return is_needed;
}

/* The daemon starts without it, and each rubric then fails for want of its file. */
static void check_bench(const struct config *config, FILE *err)
{
    if (config->bench_root[0] == '\0')
        return;
    _cleanup_close_ int fd = open(config->bench_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        (void)fprintf(err, "rubricd: warning: [rubric] bench_root: %s: %s\n", config->bench_root,
                      strerror(errno));
}

int check_host(const struct config *config, FILE *err)
{
    check_bench(config, err);
    int bad = check_user(config, err), interpreter = check_interpreter(config, err);
    return bad + interpreter + (interpreter == 0 ? check_modules(config, err) : 0);
}
