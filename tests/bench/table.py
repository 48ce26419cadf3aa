# SPDX-License-Identifier: MIT
"""The results of the benchmarks as rows of one table, and the command line that the benchmarks share."""

import argparse
import json
import os
import platform
import signal
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field

import compare
from bench import BUILD, Daemon, NotMeasured

ITEMS = {
    "a": "sandbox jobs to a plain loop",
    "b": "sandbox jobs to bubblewrap",
    "c": "rubrics to a plain loop",
    "d": "rubrics to an asyncio runner",
    "e": "idle latency",
    "f": "cost as the queue grows",
    "g": "deadlines",
    "h": "cost and size of the daemon",
    "i": "the protocol alone",
    "j": "how jails start",
    "k": "judged code to runners without a judge",
    "l": "delay by large frames",
    "m": "programs to plain loops",
    "n": "many slots",
}
HEAD = ("", "what", "median (least to most)", "goal", "")
COMPARISON_HEAD = ("", "what", "this build", "the other", "ratio (95 % interval)", "")


@dataclass
class Scale:
    """How many jobs and rounds to measure."""

    quick: bool = False

    def rounds(self, full):
        return min(3, full) if self.quick else full

    def jobs(self, full):
        return max(full // 5, 10) if self.quick else full


@dataclass
class Goal:
    bound: float
    at_least: bool

    def __str__(self):
        return f"{'at least' if self.at_least else 'at most'} {self.bound:g}"

    def held(self, value):
        return value >= self.bound if self.at_least else value <= self.bound


def at_least(bound):
    return Goal(bound, True)


def at_most(bound):
    return Goal(bound, False)


@dataclass
class Row:
    """One line: a value for each round, or why there is none. The verdict compares the median to the goal."""

    item: str
    what: str
    values: list = field(default_factory=list)
    unit: str = ""
    goal: Goal = None
    missing: str = ""

    def measured(self):
        if self.missing:
            return f"not measured: {self.missing}"
        return describe(self.values) + (f" {self.unit}" if self.unit else "")

    def verdict(self):
        if not self.goal:
            return ""
        if not self.values:
            return "missed"
        return "held" if self.goal.held(statistics.median(self.values)) else "missed"

    def cells(self):
        goal = f"{self.goal}{' ' + self.unit if self.unit else ''}" if self.goal else ""
        return self.item, self.what, self.measured(), goal, self.verdict()

    def record(self):
        median = statistics.median(self.values) if self.values else None
        return {**asdict(self), "goal": str(self.goal) if self.goal else None, "median": median,
                "verdict": self.verdict()}  # fmt: skip


def number(value):
    """Formats VALUE with three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def describe(values):
    """Formats the median and spread of VALUES."""
    middle, low, high = (number(f(values)) for f in (statistics.median, min, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def ratios(ours, theirs):
    """Returns the ratio of each round, for values that were measured in turn."""
    return [a / b for a, b in zip(ours, theirs, strict=True)]


def percentile(values, share):
    """Returns the percentile by nearest rank."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


# --- the machine --------------------------------------------------------------------------------


def processor():
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def build_type():
    try:
        with open(BUILD / "meson-info" / "intro-buildoptions.json") as options:
            return next(option["value"] for option in json.load(options) if option["name"] == "buildtype")
    except (OSError, StopIteration):
        return "unknown"


class Processors:
    """Counts what the processors do besides the benchmarks, from construction on."""

    def __init__(self):
        self.before = self._now()

    @staticmethod
    def _now():
        """Returns seconds since boot: of all processors, busy, stolen by the host, and our own."""
        with open("/proc/stat") as lines:
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, next(lines).split()[1:9])
        busy, tick = user + nice + system + irq + softirq, os.sysconf("SC_CLK_TCK")
        whole = busy + idle + iowait + steal
        return whole / tick, busy / tick, steal / tick, sum(os.times()[:4])

    def besides(self):
        whole, busy, stolen, ours = (now - before for now, before in zip(self._now(), self.before))
        others, whole = max(busy - ours, 0), max(whole, 0.01)  # a tick of the clock, at least
        return f"{others / whole:.0%} of the processors' time; {stolen / whole:.0%} taken by the host of this machine"


def load():
    busy = os.getloadavg()[0]
    return f"{busy:.2f}" + (" (busy: these are not figures of a quiet machine)" if busy > 1 else "")


def surroundings():
    """Returns the surroundings on which the figures depend."""
    before = load()
    with Daemon() as daemon:
        status = daemon.status()
    isolation = status["isolation"]
    return {
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processors": f"{os.cpu_count()} of {processor()}",
        "kernel": f"{platform.system()} {platform.release()}",
        "load before": before,
        "rubricd": f"{status['version']}, build type {build_type()}",
        "layers in force": " ".join(isolation["layers"]),
        "missing": "; ".join(f"{gone['layer']}: {gone['reason']}" for gone in isolation["missing"]) or "none",
    }


# --- output -------------------------------------------------------------------------------------


def text_lines(around, head, cells):
    lines = [head, *cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    yield from (f"{name}: {value}" for name, value in around.items())
    yield ""
    for line in lines:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths)).rstrip()


def markdown_lines(around, head, cells):
    yield from ("| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in around.items()), "")
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(line)} |" for line in cells)


def comparison_cells(row):
    what = f"{row.what}, {row.unit}" if row.unit else row.what
    if row.missing:
        return row.item, what, "", "", row.missing, ""
    ratio = "no ratio to 0"
    if row.ratio is not None:
        ratio = f"{row.ratio:.3f} " + ("({:.3f} to {:.3f})".format(*row.bounds) if row.bounds else "(too few rounds)")
    return row.item, what, number(row.ours), number(row.theirs), ratio, "differs" if row.differs() else ""


def replace_in_page(path, lines):
    """Replaces the text between the page's marks for results with LINES."""
    begin, end = "<!-- results -->\n", "<!-- end of results -->\n"
    with open(path) as page:
        text = page.read()
    head, found, rest = text.partition(begin)
    tail = rest.partition(end)[2]
    if not found or end not in rest:
        sys.exit(f"{path} has no lines {begin.strip()} and {end.strip()}")
    with open(path, "w") as page:
        page.write(head + begin + "\n" + "".join(line + "\n" for line in lines) + "\n" + end + tail)


def collect(measures, scale):
    """Yields all rows. A measure that fails yields a row with the reason and does not stop the others."""
    for measure in measures:
        try:
            yield from measure(scale)
        except NotMeasured as why:
            item, what = measure.__module__, (measure.__doc__ or measure.__name__).partition("\n")[0]
            yield Row("", f"{item}: {what}" if item != "__main__" else what, missing=" ".join(str(why).split())[:400])


def measured_here(measures, options):
    """Measures this build. Returns its surroundings, the head and the cells of its table, and what to keep."""
    rows, processors = [], Processors()
    around = surroundings()
    for row in collect(measures, Scale(options.quick)):
        rows.append(row)
        print("  ".join(cell for cell in row.cells() if cell), file=sys.stderr, flush=True)
    around["other work meanwhile"] = processors.besides()
    return around, HEAD, [row.cells() for row in rows], rows


def measured_in_turn(measures, options):
    """Measures this build and the one that --compare names, part by part."""
    rows, processors = [], Processors()
    around = {**surroundings(), "compared with": options.compare,
              "rounds": f"{options.rounds} with each build, in turn"}  # fmt: skip
    scripts = dict.fromkeys(measure.__code__.co_filename for measure in measures)
    for row in compare.run(scripts, options.compare, options.rounds, ["--quick"]):
        rows.append(row)
        print("  ".join(cell for cell in comparison_cells(row) if cell), file=sys.stderr, flush=True)
    around["other work meanwhile"] = processors.besides()
    return around, COMPARISON_HEAD, [comparison_cells(row) for row in rows], rows


def options_of(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and jobs: to see that it works")
    parser.add_argument("--json", metavar="FILE", help="write all values there, too")
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    parser.add_argument("--page", metavar="FILE", help="put that table into FILE, between its marks")
    parser.add_argument("--compare", metavar="BUILD", help="run each part with this build and that one in turn, and print\n"
                        "the ratios")  # fmt: skip
    parser.add_argument("--rounds", metavar="N", type=int, default=compare.ROUNDS,
                        help=f"of --compare: turns of each build ({compare.ROUNDS})")  # fmt: skip
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    return options


def main(description, *measures):
    """Runs a benchmark from the command line. Exits with 1 if something could not be measured."""
    options = options_of(description)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that no daemon stays behind
    try:
        around, head, cells, rows = (measured_in_turn if options.compare else measured_here)(measures, options)
    except NotMeasured as why:
        sys.exit(f"not measured: {why}")
    lines = list((markdown_lines if options.markdown else text_lines)(around, head, cells))
    print("\n" + "\n".join(lines))
    if options.page:
        replace_in_page(options.page, markdown_lines(around, head, cells))
    if options.json:
        with open(options.json, "w") as out:
            json.dump({**around, "rows": [row.record() for row in rows]}, out, indent=1)
    sys.exit(1 if any(row.missing for row in rows) else 0)
