/* SPDX-License-Identifier: MIT */
#pragma once
/* A connection to a NATS server.
 *
 * Theory of operation. The NATS library has threads of its own. They only put what arrives into a
 * queue and wake the program's one thread through bus_fd(); that thread calls bus_dispatch(), and
 * every callback below runs in there. A request is sent again until its callback accepts an answer:
 * after a reply that does not come, after a lost connection, and when the callback asks for it. So
 * every request has to be one that may arrive twice.
 *
 * The library connects again by itself. If it gives up, as it does when credentials are refused
 * twice, the bus makes a new connection and reads the credentials anew. */

#include "bustypes.h"

#include "proto/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct bus;

/* Checks the fleet's name and the addresses of the servers, without asking for any. -EINVAL or
 * -ENOMEM with FAULT. bus_open() does so, too. */
int bus_check(const struct bus_options *options, struct fault *fault);

/* Connects, and gives up after a few seconds. Negative errno with a FAULT that names the server and
 * the cause: -ECONNREFUSED (nobody there), -EACCES (credentials or certificate refused), others. A
 * bus that is PATIENT complains on stderr instead, and tries on in bus_dispatch(). */
int bus_open(const struct bus_options *options, bool patient, struct bus **ret,
             struct fault *fault);

/* Closes the connection, frees everything and returns NULL. No callback is called for requests that
 * have no answer. Accepts NULL. */
struct bus *bus_free(struct bus *bus);

/* Returns the fleet's name, borrowed. */
const char *bus_fleet(const struct bus *bus);

/* Returns the connection for the library's synchronous calls; it changes when the bus connects
 * anew. */
natsConnection *bus_connection(struct bus *bus);

/* Returns the descriptor to poll for reading, and when to call bus_dispatch() at the latest
 * (monotonic milliseconds; INT64_MAX: no time). */
int bus_fd(const struct bus *bus);
int64_t bus_due(const struct bus *bus);

/* Calls the callbacks of all that has arrived, and sends again what is due. */
void bus_dispatch(struct bus *bus, int64_t now);

/* Whether the server is connected. */
bool bus_is_up(const struct bus *bus);

/* Returns why it is not, borrowed; NULL: it is. */
const char *bus_trouble(const struct bus *bus);

/* Counts the connections so far: what was sent on an earlier one may be lost. */
unsigned bus_epoch(const struct bus *bus);

/* The most that a message has beside its headers, in bytes. A server whose max_payload is smaller
 * than that and the headers is refused, as one that is not there. */
#define BUS_DATA_MAX ((size_t)512 << 10)

struct header {
    const char *name, *value;
};

/* Sends the N bytes at DATA to SUBJECT, with HEADERS up to one without a name (may be NULL), until
 * REPLY accepts an answer. Returns the request's number, or 0 when memory runs out. */
uint64_t bus_request(struct bus *bus, const char *subject, const struct header *headers,
                     const char *data, size_t n, bus_reply *reply, void *arg);

/* Forgets a request: REPLY will not be called. A number that is no request's is ignored. */
void bus_forget(struct bus *bus, uint64_t number);

/* Sends once; answers go to REPLY (may be NULL). Returns whether the library took it. */
bool bus_publish(struct bus *bus, const char *subject, const char *reply, const char *data,
                 size_t n);

/* Complains on stderr of something that lasts and that many requests meet: once in a while. */
_printf_(2, 3) void bus_complain(struct bus *bus, const char *format, ...);

#define BUS_INBOX_SIZE 96

/* Writes a subject that nobody else uses and that has no token behind it: "_INBOX.abc.7". */
void bus_new_inbox(struct bus *bus, char ret[BUS_INBOX_SIZE]);

/* Calls TAKE for every message on SUBJECT, which may have wildcards, for as long as the bus lives;
 * also for messages that a consumer sends there, which carry the subject that they had in their
 * stream. 0 or a negative errno. */
typedef void bus_take(void *arg, natsMsg *message);
int bus_watch(struct bus *bus, const char *subject, bus_take *take, void *arg);
