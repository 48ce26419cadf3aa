/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define LOOPBACK_NET 127

/* Whether TEXT is empty or a colon and digits. */
static bool is_port(const char *text)
{
    return text[0] == '\0' ||
           (text[0] == ':' && text[1] != '\0' && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

bool guard_host_is_local(const char *host)
{
    static const char name[] = "localhost", ipv6[] = "[::1]";
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (!host)
        return true;
    if (strncasecmp(host, name, sizeof(name) - 1) == 0)
        return is_port(host + sizeof(name) - 1);
    if (strncmp(host, ipv6, sizeof(ipv6) - 1) == 0)
        return is_port(host + sizeof(ipv6) - 1);
    size_t n = strcspn(host, ":");
    if (n >= sizeof(text))
        return false;
    memcpy(text, host, n);
    text[n] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 &&
           ntohl(address.s_addr) >> IN_CLASSA_NSHIFT == LOOPBACK_NET && is_port(host + n);
}

bool guard_origin_is_local(const char *origin)
{
    static const char *const schemes[] = {"http://", "https://"};
    if (!origin)
        return true;
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strncasecmp(origin, schemes[i], strlen(schemes[i])) == 0)
            return guard_host_is_local(origin + strlen(schemes[i]));
    return false;
}

/* Whether NAME has only characters that names of headers may have. */
static bool is_token(const char *name)
{
    static const char characters[] = "!#$%&'*+-.^_`|~0123456789"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return name[0] != '\0' && name[strspn(name, characters)] == '\0';
}

static bool is_number(const char *value)
{
    return value[0] != '\0' && value[strspn(value, "0123456789")] == '\0';
}

static bool has_control(const char *value)
{
    for (; *value != '\0'; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
            return true;
    return false;
}

/* Whether NAME is WANTED with something behind it: libmicrohttpd 0.9 joins "Content-Length:" and a
 * second line " 44" to a header of the name "Content-Length44". */
static bool is_joined(const char *name, const char *wanted)
{
    size_t n = strlen(wanted);
    return strncasecmp(name, wanted, n) == 0 && name[n] != '\0';
}

void guard_count_framing(struct guard_framing *framing, const char *name, const char *value)
{
    bool is_length = strcasecmp(name, "Content-Length") == 0;
    if (!is_token(name) || (value && has_control(value)) ||
        (is_length && (!value || !is_number(value))) || is_joined(name, "Content-Length") ||
        is_joined(name, "Transfer-Encoding"))
        framing->is_odd = true;
    framing->hosts += strcasecmp(name, "Host") == 0;
    framing->origins += strcasecmp(name, "Origin") == 0;
    framing->authorizations += strcasecmp(name, "Authorization") == 0;
    framing->lengths += is_length;
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        framing->encodings++;
        framing->encoding = value ? value : "";
    }
}

bool guard_framing_is_clear(const struct guard_framing *framing)
{
    if (framing->is_odd || framing->hosts > 1 || framing->origins > 1 ||
        framing->authorizations > 1 || framing->lengths + framing->encodings > 1)
        return false;
    return !framing->encoding ||
           (framing->knows_encodings && strcasecmp(framing->encoding, "chunked") == 0);
}

const char *guard_bearer(const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
        return NULL;
    const char *token = authorization + sizeof(scheme) - 1;
    token += strspn(token, " ");
    return token[0] != '\0' ? token : NULL;
}

bool guard_is_type(const char *content_type, const char *type)
{
    size_t n = strlen(type);
    return content_type && strncasecmp(content_type, type, n) == 0 &&
           strchr("; \t", content_type[n]) != NULL;
}
