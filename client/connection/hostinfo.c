/* SPDX-License-Identifier: MIT */
#include "hostinfo.h"

#include <sys/utsname.h>
#include <unistd.h>

/* Makes "Linux 6.1.0-28-amd64 x86_64"; leaves out the host's name, which is private. */
static json_t *system_json(void)
{
    struct utsname name;
    if (uname(&name) < 0)
        return json_null();
    return json_sprintf("%s %s %s", name.sysname, name.release, name.machine);
}

json_t *hostinfo_make(const struct message *hello)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    json_int_t memory = (json_int_t)MAX(pages, 0) * sysconf(_SC_PAGESIZE);
    /* The hello of an older daemon has no interpreter. */
    return json_pack("{s:s,s:s,s:O?,s:O,s:o,s:I,s:I}", "rubricctl", RUBRICCTL_VERSION, "rubricd",
                     message_text(hello, "version"), "interpreter",
                     json_object_get(hello->object, "interpreter"), "limits",
                     json_object_get(hello->object, "limits"), "system", system_json(), "cpus",
                     (json_int_t)MAX(cpus, 1), "memory_bytes", memory);
}
