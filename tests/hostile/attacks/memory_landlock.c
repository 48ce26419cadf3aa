/* SPDX-License-Identifier: MIT */
/* Fills kernel memory with the rules of Landlock rulesets, of which one may have any number, and
 * which without a control group nobody counts. Stopped by: seccomp. */
#include "attack.h"

#include <linux/landlock.h>

int main(void)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE};
    long ruleset = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
    if (ruleset < 0) {
        barred("landlock_create_ruleset");
        all_barred();
    }
    int fd = open("/usr", O_PATH | O_DIRECTORY);
    struct landlock_path_beneath_attr rule = {LANDLOCK_ACCESS_FS_READ_FILE, fd};
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        unclear("landlock_add_rule: %s", errno_name(errno));
    succeeded("a ruleset that takes any number of rules");
}
