/* SPDX-License-Identifier: MIT */
#include "mailbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

void arrival_free(struct arrival *arrival)
{
    natsMsg_Destroy(arrival->message);
    free(arrival);
}

static void wake(const struct mailbox *mailbox)
{
    (void)eventfd_write(mailbox->fd, 1);
}

/* --- the library's threads ---------------------------------------------------------------- */

void mailbox_put(struct mailbox *mailbox, void *of, natsMsg *message)
{
    struct arrival *arrival = malloc(sizeof(*arrival));
    if (!arrival) {
        natsMsg_Destroy(message);
        return;
    }
    *arrival = (struct arrival){.message = message, .of = of};
    (void)pthread_mutex_lock(&mailbox->lock);
    bool was_empty = STAILQ_EMPTY(&mailbox->arrivals), is_ending = mailbox->is_ending;
    if (!is_ending)
        STAILQ_INSERT_TAIL(&mailbox->arrivals, arrival, link);
    (void)pthread_mutex_unlock(&mailbox->lock);
    if (is_ending)
        arrival_free(arrival);
    else if (was_empty)
        wake(mailbox);
}

static void note(struct mailbox *mailbox, bool *flag)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    *flag = true;
    (void)pthread_mutex_unlock(&mailbox->lock);
    wake(mailbox);
}

static void on_lost(_unused_ natsConnection *connection, void *mailbox)
{
    note(mailbox, &((struct mailbox *)mailbox)->news.is_lost);
}

static void on_back(_unused_ natsConnection *connection, void *mailbox)
{
    note(mailbox, &((struct mailbox *)mailbox)->news.is_back);
}

static void on_closed(_unused_ natsConnection *connection, void *mailbox)
{
    note(mailbox, &((struct mailbox *)mailbox)->news.is_closed);
}

static void on_refused(natsConnection *connection, _unused_ natsSubscription *subscription,
                       natsStatus status, void *mailbox_)
{
    struct mailbox *mailbox = mailbox_;
    const char *text = NULL;
    if (status != NATS_NOT_PERMITTED)
        return; /* the connection ends, and the reason is told then */
    (void)natsConnection_GetLastError(connection, &text);
    (void)pthread_mutex_lock(&mailbox->lock);
    (void)snprintf(mailbox->news.refusal, sizeof(mailbox->news.refusal), "%s",
                   text && *text ? text : natsStatus_GetText(status));
    (void)pthread_mutex_unlock(&mailbox->lock);
    wake(mailbox);
}

const struct busconnect_events mailbox_events = {
    .lost = on_lost, .back = on_back, .closed = on_closed, .refused = on_refused};

/* --- the bus ------------------------------------------------------------------------------ */

int mailbox_init(struct mailbox *mailbox)
{
    *mailbox = (struct mailbox){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (mailbox->fd < 0)
        return -errno;
    STAILQ_INIT(&mailbox->arrivals);
    (void)pthread_mutex_init(&mailbox->lock, NULL);
    return 0;
}

void mailbox_deinit(struct mailbox *mailbox)
{
    (void)pthread_mutex_destroy(&mailbox->lock);
    mailbox->fd = close_fd(mailbox->fd);
}

void mailbox_take(struct mailbox *mailbox, struct arrivals *ret)
{
    eventfd_t count;
    (void)eventfd_read(mailbox->fd, &count);
    (void)pthread_mutex_lock(&mailbox->lock);
    STAILQ_CONCAT(ret, &mailbox->arrivals);
    (void)pthread_mutex_unlock(&mailbox->lock);
}

void mailbox_take_news(struct mailbox *mailbox, struct mailbox_news *ret)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    *ret = mailbox->news;
    mailbox->news = (struct mailbox_news){.is_closed = false};
    (void)pthread_mutex_unlock(&mailbox->lock);
}

void mailbox_end(struct mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    mailbox->is_ending = true;
    (void)pthread_mutex_unlock(&mailbox->lock);
    struct arrival *arrival;
    while ((arrival = STAILQ_FIRST(&mailbox->arrivals)) != NULL) {
        STAILQ_REMOVE_HEAD(&mailbox->arrivals, link);
        arrival_free(arrival);
    }
}
