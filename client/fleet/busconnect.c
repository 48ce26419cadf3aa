/* SPDX-License-Identifier: MIT */
#include "busconnect.h"

#include <linux/limits.h>
#include <string.h>
#include <strings.h>

#define CONNECT_MS 5000
#define RECONNECT_WAIT_MS 250
#define RECONNECT_JITTER_MS 250
/* Find out within twice this time that a server no longer answers. */
#define PING_MS 5000
#define PINGS_OUT_MAX 2
/* A server that reads nothing for so long is lost: the program must not stand still with it. */
#define WRITE_MS 5000
#define SECRET_MAX ((size_t)4096)
#define SERVERS_TEXT_MAX ((size_t)8192)
#define SERVERS_SEPARATORS ", "
#define TLS_HEAD "tls://"
/* Everything is sent again that a lost connection may have lost, so that storing it is a waste. */
#define RECONNECT_BUFFER (1 << 20)

/* Returns OPTION, or the path of the credential NAME of systemd if there is one, or NULL. */
static const char *find_file(const char *option, const char *name, char out[PATH_MAX])
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    if (option || !directory)
        return option;
    int n = snprintf(out, PATH_MAX, "%s/%s", directory, name);
    return n < PATH_MAX && access(out, F_OK) == 0 ? out : NULL;
}

/* Reads the first line of a file. */
static int read_secret(const char *path, char out[SECRET_MAX], struct fault *fault)
{
    FILE *file = fopen(path, "re");
    char *line = file ? fgets(out, (int)SECRET_MAX, file) : NULL;
    int error = file && !ferror(file) ? EINVAL : errno;
    if (file)
        (void)fclose(file);
    if (line)
        out[strcspn(out, "\r\n")] = '\0';
    if (line && *out)
        return 0;
    (void)fault_set(fault, "%s: %s", path, error == EINVAL ? "the file is empty" : strerror(error));
    return -error;
}

/* Complains about a file that the library could not use. */
static int refuse_file(const char *path, natsStatus status, struct fault *fault)
{
    const char *detail = nats_GetLastError(&status);
    int r = access(path, R_OK) < 0 ? -errno : -EINVAL;
    (void)fault_set(fault, "%s: %s", path,
                    r != -EINVAL        ? strerror(-r)
                    : detail && *detail ? detail
                                        : natsStatus_GetText(status));
    return r;
}

/* Appends URL to what OUT has; for messages without the password in it, "nats://ci:***@a:4222". */
static size_t put_server(const char *url, size_t length, bool is_for_people, char *out, size_t size)
{
    const char *host = memrchr(url, '@', length), *head = memmem(url, length, "://", 3);
    const char *user = head ? head + 3 : url;
    const char *colon = host && host > user ? memchr(user, ':', (size_t)(host - user)) : NULL;
    if (!is_for_people || !host || host < user)
        return (size_t)snprintf(out, size, "%.*s", (int)length, url);
    /* Without a colon it is a token. */
    const char *shown = colon ? colon + 1 : user;
    return (size_t)snprintf(out, size, "%.*s***%.*s", (int)(shown - url), url,
                            (int)(url + length - host), host);
}

/* Lists the servers, "nats://a:4222, nats://b:4222": those of the options, or else of NATS_URL. */
static void list_servers(const struct bus_options *options, bool is_for_people, char *out,
                         size_t size)
{
    const char *from_environment = getenv("NATS_URL");
    const char *const usual[] = {from_environment && *from_environment ? from_environment
                                                                       : BUS_SERVER_DEFAULT};
    const char *const *lists =
        options->servers.n > 0 ? (const char *const *)options->servers.items : usual;
    size_t n = MAX(options->servers.n, (size_t)1), used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++)
        for (const char *at = lists[i]; *at;) {
            size_t length = strcspn(at, SERVERS_SEPARATORS);
            if (length > 0 && used < size)
                used += (size_t)snprintf(out + used, size - used, "%s", used > 0 ? ", " : "");
            if (length > 0 && used < size)
                used += put_server(at, length, is_for_people, out + used, size - used);
            at += length + strspn(at + length, SERVERS_SEPARATORS);
        }
}

static int set_credentials(natsOptions *nats, const struct bus_options *options,
                           struct fault *fault)
{
    char path[PATH_MAX], secret[SECRET_MAX];
    natsStatus status = NATS_OK;
    int r = 0;
    const char *file = find_file(options->creds, "nats.creds", path);
    if (file) {
        if (access(file, R_OK) < 0)
            return refuse_file(file, NATS_OK, fault);
        status = natsOptions_SetUserCredentialsFromFiles(nats, file, NULL);
        return status == NATS_OK ? 0 : refuse_file(file, status, fault);
    }
    if ((file = find_file(options->token_file, "nats.token", path)) != NULL) {
        r = read_secret(file, secret, fault);
        if (r == 0)
            status = natsOptions_SetToken(nats, secret);
    } else if ((file = find_file(options->password_file, "nats.password", path)) != NULL) {
        r = read_secret(file, secret, fault);
        if (r == 0)
            status =
                natsOptions_SetUserInfo(nats, options->user ? options->user : "rubricd", secret);
    } else if (options->user) {
        r = fault_set(fault, "--user: its password is missing: name its file with --password-file");
    }
    explicit_bzero(secret, sizeof(secret));
    return r < 0 || status == NATS_OK ? r : refuse_file(file, status, fault);
}

/* Whether a server is named by a URL of TLS. The library itself would talk to it without if the
 * server, or somebody between, asks for no TLS. */
static bool wants_tls(const struct bus_options *options)
{
    char servers[SERVERS_TEXT_MAX], *state = NULL;
    list_servers(options, false, servers, sizeof(servers));
    for (char *url = strtok_r(servers, SERVERS_SEPARATORS, &state); url;
         url = strtok_r(NULL, SERVERS_SEPARATORS, &state))
        if (strncasecmp(url, TLS_HEAD, strlen(TLS_HEAD)) == 0)
            return true;
    return false;
}

static int set_tls(natsOptions *nats, const struct bus_options *options, struct fault *fault)
{
    char ca_path[PATH_MAX], cert_path[PATH_MAX], key_path[PATH_MAX];
    const char *ca = find_file(options->ca, "nats.ca", ca_path);
    const char *cert = find_file(options->cert, "nats.cert", cert_path);
    const char *key = find_file(options->key, "nats.key", key_path);
    natsStatus status = NATS_OK;
    if (!ca && !cert && !key && !wants_tls(options))
        return 0;
    if (!cert != !key)
        return fault_set(fault, "%s is there without %s", cert ? "--cert" : "--key",
                         cert ? "--key" : "--cert");
    if (ca && (status = natsOptions_LoadCATrustedCertificates(nats, ca)) != NATS_OK)
        return refuse_file(ca, status, fault);
    if (cert && (status = natsOptions_LoadCertificatesChain(nats, cert, key)) != NATS_OK)
        return refuse_file(cert, status, fault);
    return natsOptions_SetSecure(nats, true) == NATS_OK ? 0 : -ENOMEM;
}

static natsStatus set_behaviour(natsOptions *nats, const struct busconnect_events *events,
                                void *arg)
{
    natsStatus status = natsOptions_SetName(nats, "rubricctl-fleet");
    if (status == NATS_OK)
        status = natsOptions_SetTimeout(nats, CONNECT_MS);
    if (status == NATS_OK)
        status = natsOptions_SetMaxReconnect(nats, -1);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectWait(nats, RECONNECT_WAIT_MS);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectJitter(nats, RECONNECT_JITTER_MS, RECONNECT_JITTER_MS);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectBufSize(nats, RECONNECT_BUFFER);
    if (status == NATS_OK)
        status = natsOptions_SetPingInterval(nats, PING_MS);
    if (status == NATS_OK)
        status = natsOptions_SetMaxPingsOut(nats, PINGS_OUT_MAX);
    if (status == NATS_OK)
        status = natsOptions_SetWriteDeadline(nats, WRITE_MS);
    if (status == NATS_OK)
        status = natsOptions_SetDisconnectedCB(nats, events->lost, arg);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectedCB(nats, events->back, arg);
    if (status == NATS_OK)
        status = natsOptions_SetErrorHandler(nats, events->refused, arg);
    return status == NATS_OK ? natsOptions_SetClosedCB(nats, events->closed, arg) : status;
}

/* What to do about the failure DETAIL of TLS. */
static const char *tls_remedy(const char *detail)
{
    if (strstr(detail, "expired"))
        return "; renew the certificate of the server";
    return strstr(detail, "issuer") || strstr(detail, "self-signed") ||
                   strstr(detail, "self signed")
               ? "; name the authority that vouches for the server with --ca"
               : "";
}

/* Skips the place in the library's code with which its texts begin: "(conn.c:1905): ". */
static const char *without_place(const char *detail)
{
    const char *end = *detail == '(' ? strstr(detail, "): ") : NULL;
    return end ? end + strlen("): ") : detail;
}

static int explain(const struct bus_options *options, natsStatus status, struct fault *fault)
{
    char servers[FAULT_MAX / 2];
    natsStatus last = NATS_OK;
    const char *detail = nats_GetLastError(&last);
    if (!detail || !*detail)
        detail = natsStatus_GetText(status);
    detail = without_place(detail);
    list_servers(options, true, servers, sizeof(servers));
    if (status == NATS_CONNECTION_AUTH_FAILED) {
        (void)fault_set(fault,
                        "%s: the NATS server refuses the credentials (%s); give others with "
                        "--creds, --token-file, or --user and --password-file",
                        servers, detail);
        return -EACCES;
    }
    if (status == NATS_SSL_ERROR || status == NATS_SECURE_CONNECTION_WANTED ||
        status == NATS_SECURE_CONNECTION_REQUIRED) {
        (void)fault_set(fault, "%s: no TLS with the NATS server: %s%s", servers, detail,
                        tls_remedy(detail));
        return -EACCES;
    }
    if (status == NATS_NO_SERVER) {
        (void)fault_set(fault,
                        "no NATS server at %s: start one (systemctl start nats-server), or name it "
                        "with --server",
                        servers);
        return -ECONNREFUSED;
    }
    if (status == NATS_TIMEOUT) {
        (void)fault_set(fault, "%s: the NATS server did not answer within %d s", servers,
                        CONNECT_MS / 1000);
        return -ETIMEDOUT;
    }
    (void)fault_set(fault, "%s: cannot connect to the NATS server: %s", servers, detail);
    return -EIO;
}

static int set_servers(natsOptions *nats, const struct bus_options *options, struct fault *fault)
{
    char servers[SERVERS_TEXT_MAX], *state = NULL;
    const char *urls[BUS_SERVERS_MAX];
    int n = 0;
    list_servers(options, false, servers, sizeof(servers));
    for (char *url = strtok_r(servers, SERVERS_SEPARATORS, &state); url && n < BUS_SERVERS_MAX;
         url = strtok_r(NULL, SERVERS_SEPARATORS, &state))
        urls[n++] = url;
    if (n == 0)
        return fault_set(fault, "%s: it names no server",
                         options->servers.n > 0 ? "--server" : "NATS_URL");
    natsStatus status = natsOptions_SetServers(nats, urls, n);
    return status == NATS_OK ? 0 : explain(options, status, fault);
}

int busconnect(const struct bus_options *options, const struct busconnect_events *events, void *arg,
               natsConnection **ret, struct fault *fault)
{
    natsOptions *nats = NULL;
    natsStatus status = natsOptions_Create(&nats);
    int r = status == NATS_OK ? set_servers(nats, options, fault) : 0;
    if (r == 0 && status == NATS_OK)
        status = set_behaviour(nats, events, arg);
    if (r == 0 && status == NATS_OK)
        r = set_credentials(nats, options, fault);
    if (r == 0 && status == NATS_OK)
        r = set_tls(nats, options, fault);
    if (r == 0 && status == NATS_OK)
        status = natsConnection_Connect(ret, nats);
    natsOptions_Destroy(nats);
    return r < 0 || status == NATS_OK ? r : explain(options, status, fault);
}
