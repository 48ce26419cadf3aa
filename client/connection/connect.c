/* SPDX-License-Identifier: MIT */
#include "connect.h"

#include "client/terminal/text.h"
#include "proto/util.h"

#include <grp.h>
#include <string.h>
#include <sys/stat.h>

#define SOCKET_DEFAULT "/run/rubricd/rubricd.sock"

/* The socket that the user names, or NULL. */
static const char *named_socket(const struct globals *globals)
{
    const char *from_environment = getenv("RUBRICD_SOCKET");
    if (globals->socket)
        return globals->socket;
    return from_environment && *from_environment ? from_environment : NULL;
}

/* Only the socket's group may connect; stat() works for others too and tells which group that is.
 */
static void complain_denied(const char *path)
{
    struct stat st;
    const struct group *group = stat(path, &st) == 0 ? getgrgid(st.st_gid) : NULL;
    const char *name = group ? group->gr_name : "rubricd";
    complain("%s: permission denied: members of the group \"%s\" may connect "
             "(usermod -aG %s USER, then log in anew)",
             path, name, name);
}

static void complain_connect(const char *path, int error, enum connect_policy policy,
                             const struct fault *fault)
{
    switch (-error) {
    case ENOENT:
        complain("no rubricd at %s: start the service (systemctl start rubricd), or name its "
                 "socket with --socket or in $RUBRICD_SOCKET",
                 path);
        break;
    case ECONNREFUSED:
        /* A private daemon in the place of a service that has gone would go unnoticed. */
        complain("no rubricd listens on %s, though the socket is there: start the service "
                 "(systemctl start rubricd)%s",
                 path,
                 policy == CONNECT_OR_START ? ", or do without it: --embedded starts a private one"
                                            : "");
        break;
    case EACCES:
    case EPERM:
        complain_denied(path);
        break;
    default:
        complain("%s", fault->text);
        break;
    }
}

static int embed(const struct globals *globals, const char *set, struct session *ret)
{
    struct fault fault = FAULT_NULL;
    int r = session_embed(globals->config, globals->slots, set, ret, &fault);
    if (r < 0)
        complain("%s", fault.text);
    return r;
}

static int connect_or_embed(const struct globals *globals, enum connect_policy policy,
                            const char *set, struct session *ret)
{
    if (globals->embedded)
        return embed(globals, set, ret);

    const char *named = named_socket(globals), *path = named ? named : SOCKET_DEFAULT;
    struct fault fault = FAULT_NULL;
    int r = session_connect(path, ret, &fault);
    if (r == -ENOENT && policy == CONNECT_OR_START && !named) {
        complain("no service at %s: starting a private rubricd", path);
        return embed(globals, set, ret);
    }
    if (r < 0)
        complain_connect(path, r, policy, &fault);
    else if (globals->config || globals->slots)
        complain(
            "--config and --slots only affect a private daemon; the service at %s ignores them",
            path);
    return r;
}

int connect_session(const struct globals *globals, enum connect_policy policy, struct session *ret)
{
    return connect_session_with(globals, policy, NULL, ret);
}

int connect_session_with(const struct globals *globals, enum connect_policy policy, const char *set,
                         struct session *ret)
{
    _cleanup_session_ struct session session = SESSION_NULL;
    struct fault fault = FAULT_NULL;
    int r = globals->open ? globals->open(globals, &session)
                          : connect_or_embed(globals, policy, set, &session);
    if (r < 0)
        return r;
    r = session_greet(&session, &fault);
    if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return r;
    }
    *ret = TAKE_STRUCT(session, SESSION_NULL);
    return 0;
}
