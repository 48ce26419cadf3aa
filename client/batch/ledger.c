/* SPDX-License-Identifier: MIT */
#include "ledger.h"
#include "runinfo.h"

#include <assert.h>
#include <errno.h>

/* The value of an id: the upper bits of the job's identity, and these flags. */
#define IN_INPUT UINT64_C(4)
#define KIND UINT64_C(3) /* enum ledger_kind */
#define FLAGS (IN_INPUT | KIND)

void ledger_deinit(struct ledger *ledger)
{
    idmap_deinit(&ledger->ids);
}

/* Stops counting the line that the file has of an id with this VALUE. */
static void supersede(struct ledger *ledger, uint64_t value)
{
    assert((value & KIND) != LEDGER_NOTHING && ledger->lines[value & KIND] > 0);
    ledger->lines[value & KIND]--;
    ledger->superseded++;
}

int ledger_add_line(struct ledger *ledger, const struct result_line *line)
{
    uint64_t *value = idmap_put(&ledger->ids, line->id, line->id_length);
    if (!value)
        return -ENOMEM;
    if ((*value & KIND) != LEDGER_NOTHING)
        supersede(ledger, *value);
    enum ledger_kind kind = !line->answered ? LEDGER_ERROR
                            : line->passed  ? LEDGER_PASSED
                                            : LEDGER_FAILED;
    *value = (runinfo_identity(line->run) & ~FLAGS) | kind;
    ledger->lines[kind]++;
    ledger->cost_usd += line->cost_usd;
    return 0;
}

int ledger_take_job(struct ledger *ledger, const char *id, size_t n, uint64_t identity)
{
    uint64_t *value = idmap_put(&ledger->ids, id, n);
    if (!value)
        return -ENOMEM;
    uint64_t old = *value;
    if (old & IN_INPUT)
        return LEDGER_DUPLICATE;
    *value |= IN_INPUT;
    if ((old & KIND) == LEDGER_NOTHING)
        return LEDGER_NEW;
    if ((old & KIND) == LEDGER_ERROR) {
        supersede(ledger, old);
        ledger->failed_before++;
        return LEDGER_AGAIN;
    }
    if ((old & ~FLAGS) != (identity & ~FLAGS)) {
        supersede(ledger, old);
        ledger->changed++;
        return LEDGER_CHANGED;
    }
    ledger->kept++;
    ledger->kept_passed += (old & KIND) == LEDGER_PASSED;
    return LEDGER_KEPT;
}

void ledger_skip_job(struct ledger *ledger, const char *id, size_t n)
{
    uint64_t *value = idmap_find(&ledger->ids, id, n);
    if (value)
        *value |= IN_INPUT;
}

bool ledger_has_job(const struct ledger *ledger, const char *id, size_t n)
{
    const uint64_t *value = idmap_find(&ledger->ids, id, n);
    return value && (*value & IN_INPUT);
}
