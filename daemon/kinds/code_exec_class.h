/* SPDX-License-Identifier: MIT */
#pragma once
/* The class of a code_exec job: the modules that it wants to be loaded once for all jobs that name
 * the same (jail/link.h). */

#include "daemon/pool/launch.h"
#include "proto/jobspec.h"

/* The memory that the class of a launch borrows. */
struct code_exec_class {
    char key[LAUNCH_CLASS_KEY_SIZE];
    char *names; /* owned: "m" and the name of each module, each with its NUL; NULL: none */
    const char *parts[1 + CODE_EXEC_WARM_MODULES_MAX + 1];
    char why_not[96];
};

#define CODE_EXEC_CLASS_NULL \
    {                        \
        .names = NULL        \
    }

void code_exec_class_deinit(struct code_exec_class *class);

/* Fills *RET for the job SPEC and its LAUNCH, which is complete but for that; *RET borrows from
 * CLASS. The key covers the modules, the arguments and each limit that a process is given at its
 * start. Some jobs that name modules are of no class: with WHY_NOT of *RET. 0 or -ENOMEM. */
int code_exec_class_init(struct code_exec_class *class, const struct code_exec_spec *spec,
                         const struct launch *launch, struct launch_class *ret);

/* The same for all jobs that name the same modules, and not 0; 0 for others. */
uint64_t code_exec_class_affinity(const struct code_exec_spec *spec);
