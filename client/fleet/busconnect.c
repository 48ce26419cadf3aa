/* SPDX-License-Identifier: MIT */
#include "busconnect.h"
#include "addresses.h"

#include <linux/limits.h>
#include <string.h>

#define CONNECT_MS 5000
#define RECONNECT_WAIT_MS 250
#define RECONNECT_JITTER_MS 250
/* Find out within twice this time that a server no longer answers. */
#define PING_MS 5000
#define PINGS_OUT_MAX 2
/* A server that reads nothing for so long is lost: the program must not stand still with it. */
#define WRITE_MS 5000
#define SECRET_MAX ((size_t)4096)
/* Of a byte between the quotes of JSON: "\u001f". */
#define ESCAPED_MAX ((size_t)6)
/* The library's text for a server that closes the connection instead of an answer. */
#define NOTHING "got ''"
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

/* Reads the servers of the options, or else of NATS_URL. */
static int read_addresses(const struct bus_options *options, struct addresses *ret,
                          struct fault *fault)
{
    const char *from_environment = getenv("NATS_URL");
    const char *const usual[] = {from_environment && *from_environment ? from_environment
                                                                       : BUS_SERVER_DEFAULT};
    if (options->servers.n == 0)
        return addresses_read("NATS_URL", usual, 1, ret, fault);
    return addresses_read("--server", (const char *const *)options->servers.items,
                          options->servers.n, ret, fault);
}

int busconnect_check(const struct bus_options *options, struct fault *fault)
{
    _cleanup_(addresses_deinit) struct addresses addresses = ADDRESSES_NULL;
    return read_addresses(options, &addresses, fault);
}

/* Returns SECRET as it stands between the quotes of JSON, where the library puts it as it is; NULL
 * if memory ran out. */
static char *escape(const char *secret)
{
    size_t used = 0;
    char *out = malloc(strlen(secret) * ESCAPED_MAX + 1);
    if (!out)
        return NULL;
    for (; *secret; secret++) {
        unsigned char c = (unsigned char)*secret;
        if (c == '"' || c == '\\')
            out[used++] = '\\';
        if (c < ' ')
            used += (size_t)sprintf(out + used, "\\u%04x", c);
        else
            out[used++] = (char)c;
    }
    out[used] = '\0';
    return out;
}

/* Sets user and password, or PASSWORD as a token if USER is NULL. */
static natsStatus show(natsOptions *nats, const char *user, const char *password)
{
    char *name = user ? escape(user) : NULL, *secret = escape(password);
    natsStatus status = NATS_NO_MEMORY;
    if (secret && !user)
        status = natsOptions_SetToken(nats, secret);
    else if (secret && name)
        status = natsOptions_SetUserInfo(nats, name, secret);
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
    free(name);
    return status;
}

static int set_credentials(natsOptions *nats, const struct bus_options *options,
                           const struct addresses *addresses, struct fault *fault)
{
    char path[PATH_MAX], secret[SECRET_MAX] = "";
    natsStatus status = NATS_OK;
    int r = 0;
    const char *file = find_file(options->creds, "nats.creds", path);
    if (file) {
        if (access(file, R_OK) < 0)
            return refuse_file(file, NATS_OK, fault);
        status = natsOptions_SetUserCredentialsFromFiles(nats, file, NULL);
        if (status != NATS_OK)
            return refuse_file(file, status, fault);
    }
    if (addresses->user || addresses->token) {
        status =
            show(nats, addresses->user, addresses->user ? addresses->password : addresses->token);
        return status == NATS_OK ? 0 : -ENOMEM;
    }
    if (file)
        return 0;
    if ((file = find_file(options->token_file, "nats.token", path)) != NULL) {
        r = read_secret(file, secret, fault);
        if (r == 0)
            status = show(nats, NULL, secret);
    } else if ((file = find_file(options->password_file, "nats.password", path)) != NULL) {
        r = read_secret(file, secret, fault);
        if (r == 0)
            status = show(nats, options->user ? options->user : "rubricd", secret);
    } else if (options->user) {
        r = fault_set(fault, "--user: its password is missing: name its file with --password-file");
    }
    explicit_bzero(secret, sizeof(secret));
    return r < 0 || status == NATS_OK ? r : refuse_file(file, status, fault);
}

/* The library itself would talk without TLS to a server of a URL of TLS, if that server, or
 * somebody between, asks for none. */
static int set_tls(natsOptions *nats, const struct bus_options *options,
                   const struct addresses *addresses, struct fault *fault)
{
    char ca_path[PATH_MAX], cert_path[PATH_MAX], key_path[PATH_MAX];
    const char *ca = find_file(options->ca, "nats.ca", ca_path);
    const char *cert = find_file(options->cert, "nats.cert", cert_path);
    const char *key = find_file(options->key, "nats.key", key_path);
    natsStatus status = NATS_OK;
    if (!ca && !cert && !key && !addresses->want_tls)
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

/* What OpenSSL finds wrong with a certificate, as the library prints it: "20:unable to
 * ...:depth=0:". */
enum {
    NO_ISSUER = 2,
    NOT_YET_VALID = 9,
    EXPIRED = 10,
    SELF_SIGNED = 18,
    SELF_SIGNED_ABOVE = 19,
    NO_ISSUER_HERE = 20,
    NOT_VERIFIED = 21,
    OTHER_NAME = 62,
    OTHER_ADDRESS = 64,
};

/* Says what to do about the failure DETAIL of TLS. */
static void add_tls_remedy(const struct bus_options *options, const char *detail, char *out,
                           size_t size)
{
    char path[PATH_MAX];
    const char *number = strstr(detail, "error: ");
    const char *ca = find_file(options->ca, "nats.ca", path);
    out[0] = '\0';
    switch (number ? strtol(number + strlen("error: "), NULL, 10) : 0) {
    case OTHER_NAME:
    case OTHER_ADDRESS:
        (void)snprintf(out, size,
                       "; the certificate is for another host: give the server one for this "
                       "address, or name it with --server as its certificate does");
        break;
    case EXPIRED:
        (void)snprintf(out, size, "; renew the certificate of the %s",
                       strstr(detail, ":depth=0:") ? "server" : "authority");
        break;
    case NOT_YET_VALID:
        (void)snprintf(out, size, "; see whether the clock of this host is right");
        break;
    case NO_ISSUER:
    case SELF_SIGNED:
    case SELF_SIGNED_ABOVE:
    case NO_ISSUER_HERE:
    case NOT_VERIFIED:
        if (ca)
            (void)snprintf(
                out, size,
                "; no authority in %.150s vouches for the server: name the one that does "
                "with --ca",
                ca);
        else
            (void)snprintf(out, size, "; name the authority that vouches for the server with --ca");
        break;
    default:
        break;
    }
}

/* Skips the place in the library's code with which its texts begin: "(conn.c:1905): ". */
static const char *without_place(const char *detail)
{
    const char *end = *detail == '(' ? strstr(detail, "): ") : NULL;
    return end ? end + strlen("): ") : detail;
}

/* Writes the remedy for a server that may have refused the certificate, or may want one. */
static void add_cert_remedy(const struct bus_options *options, char *ret, size_t size)
{
    if (options->cert)
        (void)snprintf(ret, size,
                       "it may refuse %s: it has ended if `openssl x509 -noout -checkend 0 -in %s` "
                       "says so",
                       options->cert, options->cert);
    else
        (void)snprintf(ret, size, "if it asks for certificates, give one with --cert and --key");
}

static int explain(const struct bus_options *options, const struct addresses *addresses,
                   natsStatus status, struct fault *fault)
{
    char servers[FAULT_MAX / 2], remedy[FAULT_MAX / 2];
    natsStatus last = NATS_OK;
    const char *detail = nats_GetLastError(&last);
    if (!detail || !*detail)
        detail = natsStatus_GetText(status);
    detail = without_place(detail);
    addresses_list(addresses, servers, sizeof(servers));
    if (status == NATS_CONNECTION_AUTH_FAILED) {
        (void)fault_set(fault,
                        "%s: the NATS server refuses the credentials (%s); give others with "
                        "--creds, --token-file, or --user and --password-file",
                        servers, detail);
        return -EACCES;
    }
    if (status == NATS_SSL_ERROR || status == NATS_SECURE_CONNECTION_WANTED ||
        status == NATS_SECURE_CONNECTION_REQUIRED) {
        add_tls_remedy(options, detail, remedy, sizeof(remedy));
        (void)fault_set(fault, "%s: no TLS with the NATS server: %s%s", servers, detail, remedy);
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
    if (status == NATS_PROTOCOL_ERROR && strstr(detail, NOTHING)) {
        add_cert_remedy(options, remedy, sizeof(remedy));
        (void)fault_set(fault,
                        "%s: the NATS server has closed the connection without a word: see its "
                        "log; %s",
                        servers, remedy);
        return -EACCES;
    }
    (void)fault_set(fault, "%s: cannot connect to the NATS server: %s", servers, detail);
    return -EIO;
}

static natsStatus set_servers(natsOptions *nats, const struct addresses *addresses)
{
    const char *urls[BUS_SERVERS_MAX];
    for (size_t i = 0; i < addresses->n; i++)
        urls[i] = addresses->urls[i];
    return natsOptions_SetServers(nats, urls, (int)addresses->n);
}

static int set_options(natsOptions *nats, const struct bus_options *options,
                       const struct addresses *addresses, struct fault *fault)
{
    int r = set_credentials(nats, options, addresses, fault);
    return r < 0 ? r : set_tls(nats, options, addresses, fault);
}

int busconnect(const struct bus_options *options, const struct busconnect_events *events, void *arg,
               natsConnection **ret, struct fault *fault)
{
    struct addresses addresses = ADDRESSES_NULL;
    natsOptions *nats = NULL;
    int r = read_addresses(options, &addresses, fault);
    if (r < 0)
        return r;
    natsStatus status = natsOptions_Create(&nats);
    if (status == NATS_OK)
        status = set_servers(nats, &addresses);
    if (status == NATS_OK)
        status = set_behaviour(nats, events, arg);
    if (status == NATS_OK)
        r = set_options(nats, options, &addresses, fault);
    if (r == 0 && status == NATS_OK)
        status = natsConnection_Connect(ret, nats);
    if (r == 0 && status != NATS_OK)
        r = explain(options, &addresses, status, fault);
    natsOptions_Destroy(nats);
    addresses_deinit(&addresses);
    return r;
}
