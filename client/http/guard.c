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

void guard_count_framing(struct guard_framing *framing, const char *name, const char *value)
{
    framing->hosts += strcasecmp(name, "Host") == 0;
    framing->lengths += strcasecmp(name, "Content-Length") == 0;
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        framing->encodings++;
        framing->encoding = value ? value : "";
    }
}

bool guard_framing_is_clear(const struct guard_framing *framing)
{
    if (framing->hosts > 1 || framing->lengths + framing->encodings > 1)
        return false;
    return !framing->encoding || strcasecmp(framing->encoding, "chunked") == 0;
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
