/* SPDX-License-Identifier: MIT */
#pragma once
/* The templates of a jail (template.h), by class. */

#include "link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sockets of one: both ends of its link. */
#define TEMPLATE_SOCKETS 2

/* Templates of one jail, and classes that it knows to be without one. */
#define TEMPLATES_MAX 32

struct template
{
    pid_t pid;         /* 0: the class has none, and `because` says why */
    int pidfd;         /* of it */
    int link;          /* to it */
    uint64_t used;     /* the larger, the later; 0: this entry is free */
    unsigned failures; /* how often it could not serve */
    uint8_t digest[LINK_DIGEST_BYTES];
    uint64_t bench_device, bench_inode;
    struct limits limits; /* those that its forks inherit */
    uint64_t bytes;       /* of memory */
    char because[LINK_BECAUSE_MAX];
};

struct templates {
    struct template *of; /* TEMPLATES_MAX of them, in memory that is empty in forks; NULL: none */
    unsigned max;
    uint64_t bytes_max;
    uint64_t uses;
    bool are_barred; /* no job can steer a process with a pid of the jail's own */
    pid_t apart[TEMPLATES_MAX + 2];
};

/* Prepares to keep as many as SETUP says. 0 or a negative errno. */
int templates_init(struct templates *templates, const struct link_setup *setup);

/* Returns how many there are, and the pids of those and of TWIN (0: none), for children.h. The list
 * is valid until the next call. */
unsigned templates_count(const struct templates *templates);
const pid_t *templates_apart(struct templates *templates, pid_t twin);

/* Stores the links to them, at most TEMPLATES_MAX; returns how many. A fork of the jail, which
 * finds the table empty, closes those that it does not close with everything else. */
size_t templates_links(const struct templates *templates, int ret[TEMPLATES_MAX]);

/* Whether the entry has a template that lives. */
bool template_lives(const struct template *template);

/* Kills, reaps and forgets it. */
void template_end(struct template *template);

/* Forgets those that have died. */
void templates_tidy(struct templates *templates);

/* Finds the entry for the class of REQUEST; NULL: there is none, or its template has died. */
struct template *templates_find(struct templates *templates, const struct link_job *request);

/* Makes an entry for that class, in place of the one that was used longest ago. It has no template
 * yet. */
struct template *templates_add(struct templates *templates, const struct link_job *request);

/* Ends the templates that were used longest ago until the bounds hold, but never KEPT. */
void templates_make_room(struct templates *templates, const struct template *kept);
