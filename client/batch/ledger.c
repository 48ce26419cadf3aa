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
    idmap_deinit(&ledger->rubrics);
}

/* Stops counting the line that the file has of an id with this VALUE. */
static void supersede(struct ledger *ledger, uint64_t value)
{
    assert((value & KIND) != LEDGER_NOTHING && ledger->lines[value & KIND] > 0);
    ledger->lines[value & KIND]--;
    ledger->superseded++;
}

/* The bits of a digest that the value of an id has room for. */
static uint64_t kept_bits(uint64_t digest)
{
    return digest & ~FLAGS;
}

static int add_rubric(struct ledger *ledger, const json_t *run)
{
    uint64_t rubric = kept_bits(runinfo_rubric(run));
    uint64_t *value = idmap_put(&ledger->rubrics, (const char *)&rubric, sizeof(rubric));
    if (!value)
        return -ENOMEM;
    *value = 1;
    return 0;
}

/* Whether the job of RUN differs from that of the value OLD in its rubric alone. An identity is the
 * digest of a job xor that of its rubric: what is left of OLD without the job's digest is that of a
 * rubric in the file only if the job is the same. */
static bool is_of_another_rubric(const struct ledger *ledger, uint64_t old, const json_t *run)
{
    uint64_t job = runinfo_identity(run) ^ runinfo_rubric(run);
    uint64_t rubric = kept_bits(old ^ job);
    return idmap_find(&ledger->rubrics, (const char *)&rubric, sizeof(rubric)) != NULL;
}

int ledger_add_line(struct ledger *ledger, const struct result_line *line)
{
    uint64_t *value = idmap_put(&ledger->ids, line->id, line->id_length);
    if (!value || add_rubric(ledger, line->run) < 0)
        return -ENOMEM;
    if ((*value & KIND) != LEDGER_NOTHING)
        supersede(ledger, *value);
    enum ledger_kind kind = !line->answered ? LEDGER_ERROR
                            : line->passed  ? LEDGER_PASSED
                                            : LEDGER_FAILED;
    *value = kept_bits(runinfo_identity(line->run)) | kind;
    ledger->lines[kind]++;
    ledger->cost_usd += line->cost_usd;
    return 0;
}

int ledger_take_job(struct ledger *ledger, const char *id, size_t n, const json_t *run)
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
    if (kept_bits(old) != kept_bits(runinfo_identity(run))) {
        supersede(ledger, old);
        if (is_of_another_rubric(ledger, old, run)) {
            ledger->rubric_changed++;
            return LEDGER_RUBRIC_CHANGED;
        }
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
