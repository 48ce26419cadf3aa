/* SPDX-License-Identifier: MIT */
#pragma once
/* Judges the headers that say where a request comes from. Pure.
 *
 * A page of a foreign site that a browser of this host shows can send requests to a loopback
 * address. The browser then names the site in Origin, or, if the site's name was made to resolve to
 * the loopback address, in Host. Neither can be forged by a page. */

#include <stdbool.h>

/* Whether HOST, the value of a Host header, names this machine's loopback interface: localhost,
 * 127.x.x.x or [::1], with or without a port. NULL (HTTP/1.0) does not come from a browser. */
bool guard_host_is_local(const char *host);

/* Whether ORIGIN, the value of an Origin header, is a page of this machine: http or https and such
 * a host. NULL counts as one: a request without Origin comes from no page of another site. */
bool guard_origin_is_local(const char *origin);

/* Returns the token in AUTHORIZATION ("Bearer TOKEN"), borrowed from it; NULL if there is none. */
const char *guard_bearer(const char *authorization);

/* The headers of a request that say where it goes, who sends it, and where its body ends. */
struct guard_framing {
    unsigned hosts, origins, authorizations, lengths, encodings; /* how often there is one */
    const char *encoding; /* the last Transfer-Encoding; NULL: none */
    bool knows_encodings; /* HTTP/1.0 does not: its proxies see no body there */
    bool is_odd; /* a name or value that others may read in another way: "Content-Length : 5" */
};

/* Counts the header NAME: VALUE. */
void guard_count_framing(struct guard_framing *framing, const char *name, const char *value);

/* Whether everybody who reads the request sees the same body and the same client. Otherwise a proxy
 * in front may take for a part of it what this server takes for the next request, in the name of
 * another client. */
bool guard_framing_is_clear(const struct guard_framing *framing);

/* Whether the media type of CONTENT_TYPE is TYPE; parameters ("; charset=utf-8") do not count. */
bool guard_is_type(const char *content_type, const char *type);
