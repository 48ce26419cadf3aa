/* SPDX-License-Identifier: MIT */
#include "addresses.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define SEPARATORS ", \t\n\v\f\r"
#define HEAD "://"
#define FORMS                                                                                 \
    "; expected nats://HOST:PORT or nats://USER:PASSWORD@HOST:PORT, where user and password " \
    "have %%XX for all but letters and digits"
#define HOST_MAX ((size_t)255)
#define PORT_DIGITS_MAX ((size_t)5)

/* A part of a text. */
struct slice {
    const char *at;
    size_t n;
};

/* A server's address in its parts. */
struct parts {
    struct slice scheme, account, host; /* account: "USER:PASSWORD" or a token */
    uint16_t port;                      /* 0: none is given */
    bool has_scheme, has_account;
};

/* Where in the texts the reader is. */
struct place {
    const char *what;
    size_t number; /* of the server, from 1 */
};

static bool slice_is(struct slice slice, const char *text)
{
    return slice.n == strlen(text) && strncasecmp(slice.at, text, slice.n) == 0;
}

/* Divides WHOLE at AT, of which LENGTH bytes belong to neither part. */
static struct slice behind(struct slice whole, const char *at, size_t length)
{
    return (struct slice){at + length, (size_t)(whole.at + whole.n - at) - length};
}

static struct slice before(struct slice whole, const char *at)
{
    return (struct slice){whole.at, (size_t)(at - whole.at)};
}

static bool is_host(struct slice host)
{
    bool is_ipv6 = host.n > 2 && host.at[0] == '[' && host.at[host.n - 1] == ']';
    if (host.n == 0 || host.n > HOST_MAX)
        return false;
    for (size_t i = is_ipv6 ? 1 : 0; i < host.n - (is_ipv6 ? 1 : 0); i++) {
        char c = host.at[i];
        if (!isalnum((unsigned char)c) && !strchr(is_ipv6 ? ":.%-_" : ".-_", c))
            return false;
    }
    return true;
}

/* Returns the port that TEXT names; 0: it names none. */
static uint16_t read_port(struct slice text)
{
    long port = 0;
    if (text.n > PORT_DIGITS_MAX)
        return 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return 0;
        port = port * 10 + (text.at[i] - '0');
    }
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* Reads "HOST:PORT". */
static int read_host(const struct place *place, struct slice text, struct parts *parts,
                     struct fault *fault)
{
    if (text.n > 0 && text.at[text.n - 1] == '/')
        text.n--;
    const char *close = text.n > 0 && text.at[0] == '[' ? memchr(text.at, ']', text.n) : NULL;
    struct slice rest = close ? behind(text, close, 1) : text;
    const char *colon = memchr(rest.at, ':', rest.n);
    struct slice host = colon ? before(text, colon) : text;
    if (host.n == 0)
        return fault_set(fault, "%s: server %zu has no host" FORMS, place->what, place->number);
    if (!is_host(host))
        return fault_set(fault, "%s: the host of server %zu is no name and no address" FORMS,
                         place->what, place->number);
    parts->port = colon ? read_port(behind(text, colon, 1)) : 0;
    if (colon && parts->port == 0)
        return fault_set(fault, "%s: the port of server %zu is no number from 1 to %d" FORMS,
                         place->what, place->number, UINT16_MAX);
    parts->host = host;
    return 0;
}

/* Returns SCHEME, if it is one that people write. It might be what is left of a password. */
static const char *known_scheme(struct slice scheme)
{
    static const char *const known[] = {"nats", "tls", "ws", "wss", "http", "https", "tcp"};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (slice_is(scheme, known[i]))
            return known[i];
    return "***";
}

/* Returns "nats://HOST:PORT", or NULL if memory ran out. The caller frees it. */
static char *print_url(const struct parts *parts)
{
    char port[PORT_DIGITS_MAX + 2] = "", *url = NULL;
    if (parts->port > 0)
        (void)snprintf(port, sizeof(port), ":%" PRIu16, parts->port);
    const char *scheme = parts->has_scheme ? known_scheme(parts->scheme) : "nats";
    int n = asprintf(&url, "%s" HEAD "%.*s%s", scheme, (int)parts->host.n, parts->host.at, port);
    return n < 0 ? NULL : url;
}

/* Divides TEXT, which has no separators, and checks all but the account. */
static int divide(const struct place *place, struct slice text, struct parts *ret,
                  struct fault *fault)
{
    struct parts parts = {.port = 0};
    const char *head = memmem(text.at, text.n, HEAD, strlen(HEAD));
    if (head) {
        parts.has_scheme = true;
        parts.scheme = before(text, head);
        text = behind(text, head, strlen(HEAD));
    }
    const char *at = memrchr(text.at, '@', text.n);
    if (at) {
        parts.has_account = true;
        parts.account = before(text, at);
        text = behind(text, at, 1);
    }
    int r = read_host(place, text, &parts, fault);
    if (r < 0)
        return r;
    if (parts.has_scheme && !slice_is(parts.scheme, "nats") && !slice_is(parts.scheme, "tls")) {
        _cleanup_free_ char *url = print_url(&parts);
        return fault_set(fault, "%s: server %zu (%s): its scheme is neither nats:// nor tls://",
                         place->what, place->number, url ? url : "***");
    }
    *ret = parts;
    return 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a user, a password or a token. -EINVAL: it is empty, or a % is followed by no two digits,
 * or by those of a NUL. */
static int decode(struct slice text, char **ret)
{
    size_t used = 0;
    bool is_right = text.n > 0;
    char *out = malloc(text.n + 1);
    if (!out)
        return -ENOMEM;
    for (size_t i = 0; is_right && i < text.n; i++) {
        int c = (unsigned char)text.at[i];
        if (c == '%') {
            int high = text.n - i > 2 ? digit_of(text.at[i + 1]) : -1;
            int low = high >= 0 ? digit_of(text.at[i + 2]) : -1;
            c = low >= 0 ? high << 4 | low : 0;
            i += 2;
        }
        out[used++] = (char)c;
        is_right = c != 0;
    }
    out[used] = '\0';
    if (is_right) {
        *ret = out;
        return 0;
    }
    explicit_bzero(out, used);
    free(out);
    return -EINVAL;
}

/* Erases a secret, which may be NULL. Returns NULL. */
static char *erase(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
    return NULL;
}

static void erase_account(struct addresses *addresses)
{
    addresses->user = erase(addresses->user);
    addresses->password = erase(addresses->password);
    addresses->token = erase(addresses->token);
}

static int read_account(struct slice text, struct addresses *ret)
{
    const char *colon = memchr(text.at, ':', text.n);
    if (!colon)
        return decode(text, &ret->token);
    int r = decode(before(text, colon), &ret->user);
    return r < 0 ? r : decode(behind(text, colon, 1), &ret->password);
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Takes the account of a server. The library has one for all servers. */
static int take_account(const struct place *place, struct slice text, struct addresses *addresses,
                        struct fault *fault)
{
    struct addresses own = ADDRESSES_NULL;
    int r = read_account(text, &own);
    bool is_first = !addresses->user && !addresses->token;
    if (r == -EINVAL)
        (void)fault_set(fault,
                        "%s: the user, password or token of server %zu is empty, or has a %% that "
                        "is not followed by two hexadecimal digits (%%25 is a %%, %%00 is not "
                        "allowed)",
                        place->what, place->number);
    if (r == 0 && !is_first &&
        !(is_same(own.user, addresses->user) && is_same(own.password, addresses->password) &&
          is_same(own.token, addresses->token)))
        r = fault_set(fault,
                      "%s: server %zu has another user, password or token than the one before: all "
                      "servers are shown the same",
                      place->what, place->number);
    if (r == 0 && is_first) {
        addresses->user = TAKE_PTR(own.user);
        addresses->password = TAKE_PTR(own.password);
        addresses->token = TAKE_PTR(own.token);
    }
    erase_account(&own);
    return r;
}

static int take_server(const struct place *place, struct slice text, struct addresses *addresses,
                       struct fault *fault)
{
    struct parts parts = {.port = 0};
    int r = divide(place, text, &parts, fault);
    if (r < 0)
        return r;
    if (addresses->n == BUS_SERVERS_MAX)
        return fault_set(fault, "%s: it names more than %d servers", place->what, BUS_SERVERS_MAX);
    if (parts.has_account)
        r = take_account(place, parts.account, addresses, fault);
    if (r < 0)
        return r;
    char *url = print_url(&parts);
    if (!url)
        return -ENOMEM;
    addresses->urls[addresses->n++] = url;
    addresses->want_tls |= slice_is(parts.scheme, "tls");
    return 0;
}

/* Moves *AT behind the next server of the text, which it returns. */
static struct slice next_server(const char **at)
{
    const char *start = *at + strspn(*at, SEPARATORS);
    struct slice server = {start, strcspn(start, SEPARATORS)};
    *at = start + server.n;
    return server;
}

/* Refuses a text with secrets and a server without a scheme, before a complaint about another
 * server could show what is a piece of a password. */
static int check_schemes(struct place place, const char *text, struct fault *fault)
{
    if (!strchr(text, '@'))
        return 0;
    for (;;) {
        struct slice server = next_server(&text);
        if (server.n == 0)
            return 0;
        if (!memmem(server.at, server.n, HEAD, strlen(HEAD)))
            return fault_set(fault,
                             "%s: server %zu does not begin with nats:// or tls://, as it must "
                             "where a user or token is given; in a password, a comma "
                             "is %%2C and a space is %%20",
                             place.what, place.number);
        place.number++;
    }
}

int addresses_read(const char *what, const char *const *texts, size_t n, struct addresses *ret,
                   struct fault *fault)
{
    struct addresses addresses = ADDRESSES_NULL;
    struct place place = {.what = what, .number = 1};
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        const char *at = texts[i];
        r = check_schemes(place, at, fault);
        for (struct slice server; r == 0 && (server = next_server(&at)).n > 0; place.number++)
            r = take_server(&place, server, &addresses, fault);
    }
    if (r == 0 && addresses.n == 0)
        r = fault_set(fault, "%s: it names no server", what);
    if (r == -ENOMEM)
        (void)fault_set(fault, "%s: %s", what, strerror(ENOMEM));
    if (r < 0)
        addresses_deinit(&addresses);
    else
        *ret = addresses;
    return r;
}

void addresses_deinit(struct addresses *addresses)
{
    erase_account(addresses);
    for (size_t i = 0; i < addresses->n; i++)
        free(addresses->urls[i]);
    addresses->n = 0;
}

void addresses_list(const struct addresses *addresses, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < addresses->n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 addresses->urls[i]);
}
