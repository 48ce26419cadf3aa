#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How late a deadline is kept when every slot spins: the distribution of the job's measured wall clock
less its limit. The daemon tells whole milliseconds, rounded up.

    deadline.py [JOBS [SLOTS]]"""

import sys

from bench import Daemon

LIMIT_SECONDS = 0.3


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    slots = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    job = {
        "kind": "sandbox",
        "snippet": "while :; do :; done",
        "limits": {"wall_clock": LIMIT_SECONDS},
    }
    with Daemon(f"daemon.slots={slots}") as daemon:
        _, results = daemon.batch(daemon.write_jobs("jobs", [job] * count))
    late = []
    for result in results:
        if result["outcome"]["limit_exceeded"] != "wall_clock":
            raise SystemExit(f"not ended by its deadline: {result}")
        late.append(result["usage"]["wall_clock_ms"] - round(LIMIT_SECONDS * 1000))
    late.sort()
    print(f"{count} jobs that spin, {slots} at once; kill later than the deadline, in ms (rounded up)")
    for name, share in (("least", 0), ("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("most", 1)):
        print(f"  {name:8} {late[min(int(share * len(late)), len(late) - 1)]:4}")
    print("  by ms   ", " ".join(f"{ms}:{late.count(ms)}" for ms in sorted(set(late))))


if __name__ == "__main__":
    main()
