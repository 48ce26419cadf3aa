/* SPDX-License-Identifier: MIT */
#include "cancels.h"

#include "proto/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct cancels_entry {
    uint64_t number; /* 0: none */
    int64_t at_ms;
};

size_t cancel_print(const char *run, int64_t priority, const char *token, uint64_t number,
                    char ret[NAMES_SUBJECT_SIZE])
{
    char queue[NAMES_QUEUE_SIZE];
    names_queue(priority, queue);
    int n =
        snprintf(ret, NAMES_SUBJECT_SIZE, "%.64s %s %.384s %016" PRIx64, run, queue, token, number);
    return (size_t)n;
}

/* Takes what is in front of the first space in *TEXT to RET, if it has a byte and at most MAX. */
static bool take_word(const char **text, size_t max, char *ret)
{
    size_t n = strcspn(*text, " ");
    if (n == 0 || n > max || (*text)[n] != ' ')
        return false;
    memcpy(ret, *text, n);
    ret[n] = '\0';
    *text += n + 1;
    return true;
}

bool cancel_read(const char *text, size_t n, struct cancel *ret)
{
    char copy[NAMES_SUBJECT_SIZE];
    const char *at = copy;
    if (n >= sizeof(copy))
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (!take_word(&at, NAMES_RUN_MAX, ret->run) ||
        !take_word(&at, NAMES_QUEUE_SIZE - 1, ret->queue) ||
        !take_word(&at, NAMES_TOKEN_MAX, ret->token))
        return false;
    ret->number = cancel_read_number(at);
    return ret->number != 0;
}

bool cancel_is_of(const struct cancel *cancel, const struct names_job *names)
{
    char queue[NAMES_QUEUE_SIZE];
    names_queue(names->priority, queue);
    return strcmp(names->run, cancel->run) == 0 && strcmp(queue, cancel->queue) == 0 &&
           strcmp(names->token, cancel->token) == 0;
}

void cancel_print_number(uint64_t number, char ret[CANCEL_NUMBER_SIZE])
{
    (void)snprintf(ret, CANCEL_NUMBER_SIZE, "%016" PRIx64, number);
}

uint64_t cancel_read_number(const char *text)
{
    const size_t digits = CANCEL_NUMBER_SIZE - 1;
    if (!text || strlen(text) != digits || strspn(text, "0123456789abcdef") != digits)
        return 0;
    return strtoull(text, NULL, 16);
}

int cancels_init(struct cancels *cancels)
{
    *cancels = (struct cancels){.entries = calloc(CANCELS_MAX, sizeof(*cancels->entries))};
    return cancels->entries ? 0 : -ENOMEM;
}

void cancels_deinit(struct cancels *cancels)
{
    free(cancels->entries);
    *cancels = (struct cancels)CANCELS_NULL;
}

void cancels_note(struct cancels *cancels, uint64_t number, int64_t now)
{
    cancels->entries[cancels->next] = (struct cancels_entry){.number = number, .at_ms = now};
    cancels->next = (cancels->next + 1) % CANCELS_MAX;
}

bool cancels_has(const struct cancels *cancels, uint64_t number, int64_t now)
{
    /* From the newest one back, until one is too old: most of the time there are few. */
    for (size_t i = 1; number != 0 && i <= CANCELS_MAX; i++) {
        const struct cancels_entry *entry =
            &cancels->entries[(cancels->next + CANCELS_MAX - i) % CANCELS_MAX];
        if (entry->number == 0 || now - entry->at_ms > CANCELS_MS)
            break;
        if (entry->number == number)
            return true;
    }
    return false;
}
