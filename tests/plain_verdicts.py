#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the verdicts of `rubricctl grade` with those of a plain compile and run of the same programs, without
rubricd: the solutions that data sets come with, or samples. Runs what is in them WITHOUT A SANDBOX.

    plain_verdicts.py [--samples FILE] [--grade OPTION]... [--jobs N] [--keep FILE] DATASET...

Prints a line for each data set and language, and each disagreement with both verdicts. Exits with 1 if there is
one. The jobs are those that `grade` submits: a proxy between it and a daemon of its own notes them. RUBRICD_BUILD
names the build directory."""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from bench import PYTHON, RUBRICCTL, SCRUBBED_ENV, Daemon  # noqa: E402

LANGUAGES = ROOT / "conf" / "languages.d"
# Disagreements are to be those of verdicts: a loaded host makes none.
COMPILE_SECONDS, RUN_SECONDS = 300, 40
HEAP_MB = "1024"


# --- what grade submits ---------------------------------------------------------------------------


def frames(sock):
    """Yields each frame that arrives at SOCK, with its header, until it is closed."""
    with sock.makefile("rb") as file:
        while header := file.read(4):
            yield header + file.read(struct.unpack(">I", header)[0])


class Proxy:
    """Passes on what clients and the daemon at TARGET say to each other. Notes jobs and answers by id, and the tests
    that are put, which jobs name by digest."""

    def __init__(self, path, target):
        self.path, self.target = path, target
        self.jobs, self.answers, self.parts = {}, {}, collections.defaultdict(dict)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, daemon = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            daemon.connect(str(self.target))
            for source, sink in ((client, daemon), (daemon, client)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def whole(self, job):
        """Returns JOB with its tests, which were put if it names them by digest."""
        if job["kind"] != "program" or "put" not in job["tests"]:
            return job
        parts = self.parts[job["tests"]["put"]]
        return {**job, "tests": [test for part in sorted(parts) for test in parts[part]]}

    def _pass_on(self, source, sink):
        for frame in frames(source):
            message = json.loads(frame[4:])
            if message["type"] == "submit":
                self.jobs[message["id"]] = message["job"]
            elif message["type"] == "put":
                self.parts[message["digest"]][message.get("part", 1)] = message["tests"]
            elif message["type"] in ("result", "error"):
                self.answers[message["id"]] = message
            try:
                sink.sendall(frame)
            except BrokenPipeError:  # it has what it wants
                break
        sink.shutdown(socket.SHUT_WR)


def submitted(dataset, samples, slots, options):
    """Returns the jobs that grade submits, and the daemon's answers; both by id."""
    # No path of the host: one beneath /tmp would be shown in the place of the jobs' own /tmp.
    with Daemon(f"daemon.slots={slots}", "isolation.readable=", "ceilings.wall_clock=600s", "ceilings.cpu=600s") as daemon:
        proxy = Proxy(daemon.directory / "proxy", daemon.socket)
        what = ["--samples", samples] if samples else ["--canonical"]
        command = [RUBRICCTL, f"--socket={proxy.path}", "grade", "--dataset", dataset, *what, "--no-preflight", "-k1",
                   "--quiet", "--force", "--no-fail", "--output", daemon.directory / "results", *options]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not proxy.jobs:
            sys.exit(f"{dataset}: {done.stderr or done.stdout}")
        print(done.stdout.splitlines()[0], flush=True)
        return {id: proxy.whole(job) for id, job in proxy.jobs.items()}, proxy.answers


# --- a plain run ----------------------------------------------------------------------------------


def language_file(name):
    """Returns what matters here of a language's file: {section: {key: [values]}}."""
    sections = collections.defaultdict(lambda: collections.defaultdict(list))
    section = None
    for line in (LANGUAGES / f"{name}.conf").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif " = " in line and line[0] not in "#|":
            key, value = line.split(" = ", 1)
            sections[section][key].append(value)
    return sections


def java_class(code):
    public = re.search(r"^\s*public\s+(?:final\s+|abstract\s+)?class\s+(\w+)", code, re.M)
    with_main = re.search(r"class\s+(\w+)(?:(?!\nclass |\npublic class ).)*?static\s+void\s+main", code, re.S)
    return (public or with_main or re.search("class (Main)", "class Main"))[1]


class Plain:
    """A program in a directory of its own, compiled and run with the commands of its language's file."""

    def __init__(self, directory, name, code):
        self.directory, self.file = directory, language_file(name)
        self.values = {"class": java_class(code), "python": PYTHON, "heap_mb": HEAP_MB}
        self.values["source"] = self.file["language"]["source"][0].format(**self.values)
        (directory / self.values["source"]).write_text(code)
        own = dict(line.split("=", 1) for line in self.file["language"]["env"])
        places = {key: directory / key for key, value in own.items() if value.startswith(("/tmp", "/dev/shm"))}
        for place in places.values():
            place.mkdir(exist_ok=True)
        self.env = {**SCRUBBED_ENV, **own, **{key: str(place) for key, place in places.items()}}

    def execute(self, section, text, seconds):
        command = self.file[section]["command"][0].format(**self.values).split()
        process = subprocess.Popen(command, cwd=self.directory, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)  # fmt: skip
        try:
            stdout, stderr = process.communicate(text, seconds)
            return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # What it has started would run on for ever.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def verdict_of(done, expected=None, rule="exact"):
    """Judges the words of an output by RULE `exact`, or one by one: the rules of contests differ in less than that."""
    if done is None:
        return "timeout", ""
    if done.returncode != 0:
        return "runtime_error", done.stderr[-600:]
    right = expected is None or done.stdout == expected or (rule != "exact" and done.stdout.split() == expected.split())
    return ("pass", "") if right else ("wrong_answer", done.stdout[-600:])


def run_program(job, directory):
    """Returns the verdict of a plain run, and what it wrote last."""
    if job.get("files") or job.get("checker") or job.get("call"):
        sys.exit("jobs with files, checkers or calls have no plain run here")
    plain = Plain(directory, job["language"], job.get("prelude", "") + job["code"])
    if "compile" in plain.file:
        done = plain.execute("compile", "", COMPILE_SECONDS)
        if done is None or done.returncode != 0:
            return "compile_error", done.stderr[-600:] if done else "timeout"
    for test in job["tests"]:
        done = plain.execute("run", test["input"], RUN_SECONDS)
        verdict, words = verdict_of(done, test.get("output"), job.get("compare", "exact"))
        if verdict != "pass":
            return verdict, words
    return "pass", ""


def run_code(job, directory):
    """Runs code and its tests in one process, as the data sets' own harnesses do."""
    tests = [job["test"], f"check({job['entry_point']})"] if "test" in job else job["targets"]
    code = [job.get("prelude", ""), job["code"], job.get("test_setup", ""), *tests]
    if job.get("prelude") and not re.search(rf"^def {job.get('entry_point')}\b", job["code"], re.M):
        code[:2] = [job["prelude"] + job["code"]]
    verdict, words = verdict_of(Plain(directory, "python", "\n".join(code)).execute("run", "", RUN_SECONDS))
    return {"runtime_error": "assertion_fail"}.get(verdict, verdict), words


def plain_verdict(job):
    with tempfile.TemporaryDirectory(prefix="rubricd-plain-", dir="/var/tmp") as directory:
        return (run_code if job["kind"] == "code_exec" else run_program)(job, Path(directory))


# --- the table ------------------------------------------------------------------------------------


def compare(dataset, options):
    """Prints a line for each language of DATASET, and what differs. Returns how many verdicts do."""
    jobs, answers = submitted(dataset, options.samples, options.jobs, options.grade)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        plain = dict(zip(jobs, pool.map(plain_verdict, jobs.values()), strict=True))
    rows, differ = collections.defaultdict(collections.Counter), []
    for id, job in jobs.items():
        ours = answers[id].get("verdict") or f"error {answers[id].get('code')}: {answers[id].get('message')}"
        theirs, words = plain[id]
        row = rows[job.get("language", "python")]
        row.update(tasks=1, ours=ours == "pass", theirs=theirs == "pass", differ=(ours == "pass") != (theirs == "pass"))
        if (ours == "pass") != (theirs == "pass"):
            differ.append(f"    {id}: {ours}, plain {theirs}: {' '.join(words.split())[-200:]}")
        if options.keep:
            record = {"dataset": Path(dataset).name, "id": id, "ours": ours, "plain": theirs, "words": words,
                      "answer": answers[id]}  # fmt: skip
            with open(options.keep, "a") as keep:
                keep.write(json.dumps(record) + "\n")
    for language, row in rows.items():
        print(f"{Path(dataset).name:40} {language:12} {row['tasks']:4} tasks: {row['ours']:4} pass, "
              f"{row['theirs']:4} plain, {row['differ']:2} disagree")  # fmt: skip
    print("\n".join(differ), flush=True)
    return len(differ)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("dataset", nargs="+", metavar="DATASET")
    parser.add_argument("--samples", metavar="FILE")
    parser.add_argument("--grade", metavar="OPTION", action="append", default=[], help="an option for grade")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="programs at a time (default: 2)")
    parser.add_argument("--keep", metavar="FILE", help="append all verdicts to FILE, as JSON Lines")
    options = parser.parse_args()
    os.nice(5)
    return 1 if sum(compare(dataset, options) for dataset in options.dataset) else 0


if __name__ == "__main__":
    sys.exit(main())
