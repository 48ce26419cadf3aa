/* SPDX-License-Identifier: MIT */
/* Makes a BPF map and loads a program.
 * Stopped by: seccomp, user_namespace (no CAP_BPF). */
#include "attack.h"

#include <linux/bpf.h>

int main(void)
{
    static const struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr map = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
                           .insn_cnt = COUNT_OF(program),
                           .insns = (uint64_t)(uintptr_t)program,
                           .license = (uint64_t)(uintptr_t) "GPL"};
    if (syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)) >= 0)
        succeeded("a BPF map");
    barred("bpf(BPF_MAP_CREATE)");
    if (syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load)) >= 0)
        succeeded("a BPF program");
    barred("bpf(BPF_PROG_LOAD)");
    all_barred();
}
