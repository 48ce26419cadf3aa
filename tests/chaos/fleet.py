#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Three hosts, each a network namespace with a nats-server of a cluster, a rubricd and a worker, and one batch of
mixed jobs over them, while one thing after another breaks: a host is cut off the network, a worker is killed, a
nats-server is killed and its disk wiped, a daemon is killed or drained; with --starve
some jobs get no CPU besides. At the end every job must have exactly one result, and the right one; also for a batch
that then takes the run up, and the servers must have all results.

    tests/chaos/fleet.py --seed 1 --jobs 20000 --build build
    tests/chaos/fleet.py --seed 1 --runs 10 --jobs 2000 --build build      seeds 1 to 10

Needs root, ip (iproute2) and nats-server. Faults, jobs and moments follow from the seed. A storage fault comes
only when every stream is current again on all servers: with three replicas, one may be lost at a time. The exit
status is 0 if nothing was wrong, lost or doubled."""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HOSTS = 3
STREAMS = ("jobs", "results", "marks", "inputs", "dead", "hosts")
# Streams from which nothing is taken while a run lasts.
KEPT = ("results", "inputs")
PATIENCE = 120
# A server that has lost its disk reads everything anew, while jobs run that leave it little time.
CATCHES_UP_S = 300
# With nats-server 2.9 a copy may stop on its way. Then the server is restarted, and if that does not help gets
# everything anew, as the README of the fleet tells.
STOPS_AFTER_S = 120
BATCHES_AGAIN = 3


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def remove_what_was_left(links, namespaces):
    """Removes the network of a run that was killed. Raises OSError if one still runs."""
    left = [name for name in namespaces if Path("/run/netns", name).exists()]
    if used := [name for name in left if ip("netns", "pids", name).split()]:
        raise OSError(f"processes run in {', '.join(used)}: another run of this test, or what a killed run left")
    for link in links:
        with contextlib.suppress(OSError):
            ip("link", "del", link)
    for name in left:
        ip("netns", "del", name)


def wait_for(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, AssertionError, KeyError, ValueError):
            if condition():
                return
        if time.monotonic() > end:
            raise TimeoutError(f"after {seconds} s still not: {what}")
        time.sleep(0.1)


class Host:
    """A network namespace, and what runs in it."""

    def __init__(self, number, place, network, build, starve):
        self.number, self.network, self.build, self.starve = number, network, build, starve
        self.namespace = f"rubricd-chaos-{network}-{number}"
        self.link = f"rbc{network}-{number}"
        self.address = self.address_of(number)
        self.place = place / f"host{number}"
        self.place.mkdir()
        self.place.chmod(0o755)
        self.processes = {}

    def address_of(self, number):
        return f"10.77.{self.network}.{10 + number}"

    def connect(self, bridge):
        ip("netns", "add", self.namespace)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        ip("link", "set", self.link, "master", bridge, "up")
        for command in (["addr", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
            ip("-n", self.namespace, *command)

    def start(self, name, *command):
        with open(self.place / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def start_server(self):
        routes = ", ".join(f"nats-route://{self.address_of(i)}:6222" for i in range(HOSTS))
        config = self.place / "nats.conf"
        config.write_text(
            f'server_name: n{self.number}\nlisten: "{self.address}:4222"\nhttp: "{self.address}:8222"\n'
            f'jetstream {{ store_dir: "{self.place}/js" }}\n'
            f'cluster {{ name: chaos, listen: "{self.address}:6222", routes: [{routes}] }}\n'
        )
        self.start("server", shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin"), "-c", config)

    def start_daemon(self):
        self.start(
            "daemon", self.build / "daemon/rubricd", "--config=/dev/null", f"--set=daemon.socket={self.place}/s",
            "--set=daemon.slots=2", f"--set=daemon.work_dir={self.place}/work", "--set=daemon.socket_group=",
            "--set=daemon.user=nobody", "--set=languages.ask_versions=no",
        )  # fmt: skip

    def start_starving(self):
        """Puts something between worker and daemon that lets some jobs starve."""
        self.start("starving", sys.executable, ROOT / "tests/integration/starving.py", self.place / "starving", self.place / "s",
                   "--rate", self.starve, "--seed", self.number)  # fmt: skip

    def start_worker(self):
        socket = self.place / ("starving" if self.starve else "s")
        servers = [word for i in range(HOSTS) for word in ("--server", f"nats://{self.address_of(i)}:4222")]
        self.start("worker", self.build / "client/fleet/rubricctl-fleet", "worker", *servers, "--socket", socket, "--name", f"host{self.number}")

    def end(self, name, politely=False):
        process = self.processes.pop(name)
        (process.terminate if politely else process.kill)()
        process.wait()

    def close(self):
        for name in ("worker", "starving", "daemon", "server"):
            if name in self.processes:
                self.end(name, politely=name == "daemon")
        for command in (["link", "del", self.link], ["netns", "del", self.namespace]):
            with contextlib.suppress(OSError):
                ip(*command)


class World:
    """The hosts, a bridge that joins them, and the observer's connections."""

    def __init__(self, place, network, build, starve):
        self.network = network
        self.bridge = f"rbc{network}"
        self.too_early = 0  # how often all copies were called current, and one was behind
        place.chmod(0o755)
        self.hosts = [Host(number, place, network, build, starve) for number in range(HOSTS)]
        self.ctl = build / "client/rubricctl"
        self.servers = [word for host in self.hosts for word in ("--server", f"nats://{host.address}:4222")]
        remove_what_was_left([self.bridge, *(host.link for host in self.hosts)], [host.namespace for host in self.hosts])
        with contextlib.ExitStack() as unfinished:
            unfinished.callback(self.close)
            self.begin(starve)
            unfinished.pop_all()

    def begin(self, starve):
        ip("link", "add", self.bridge, "type", "bridge")
        ip("addr", "add", f"10.77.{self.network}.1/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        for host in self.hosts:
            host.connect(self.bridge)
        for host in self.hosts:
            host.start_server()
            host.start_daemon()
            if starve:
                host.start_starving()
        wait_for(lambda: self.fleet("init", "--replicas", HOSTS).returncode == 0, "the streams are there")
        wait_for(self.is_current, "the streams are current")
        for host in self.hosts:
            host.start_worker()
        wait_for(lambda: len(json.loads(self.fleet("status", "--json").stdout)["hosts"]) == HOSTS, "three workers")

    def fleet(self, command, *arguments):
        return subprocess.run(
            [self.ctl, "fleet", command, *self.servers, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
        )

    def ask(self, subject, **fields):
        """Asks the first server that answers."""
        from fleet_hosts import Nats

        for host in self.hosts:
            with contextlib.suppress(OSError, AssertionError), Nats(4222, host.address) as nats:
                nats.sock.settimeout(5)
                return nats.ask(subject, **fields)
        raise OSError("no server answers")

    def copies(self):
        """Yields, for each stream, the servers that have all of it and those that lag."""
        for stream in STREAMS:
            cluster = self.ask(f"STREAM.INFO.rubricd-{stream}")["cluster"]
            replicas = cluster.get("replicas", [])
            lag = {replica["name"] for replica in replicas if not replica["current"] or replica.get("offline")}
            good = {cluster["leader"]} if cluster.get("leader") else set()
            yield good | {replica["name"] for replica in replicas} - lag, lag

    def is_current(self):
        """Whether all servers have all of each stream."""
        if not all(len(good) == HOSTS for good, _ in self.copies()):
            return False
        behind = self.behind()
        self.too_early += bool(behind)
        return not behind

    def behind(self):
        """Returns the servers whose own copy of a stream in KEPT ends before what the leader had a moment ago. With
        nats-server 2.9 a copy may be called current before it has fetched what was lost with its disk: if the next
        disk goes then, nobody has that. (A copy of the queue may stay behind for good. A batch gets over that.)"""
        last = {stream: self.ask(f"STREAM.INFO.rubricd-{stream}")["state"]["last_seq"] for stream in KEPT}
        copies = [(host, self.states(host)) for host in self.hosts]
        return [
            host
            for host, states in copies
            if any(states.get(f"rubricd-{stream}", {"last_seq": -1})["last_seq"] < last[stream] for stream in KEPT)
        ]

    def lagging(self):
        """Returns the hosts that lack a part of a stream which all others have."""
        lag = set().union(*(lag for _, lag in self.copies()))
        behind = self.behind()
        return [host for host in self.hosts if f"n{host.number}" in lag or host in behind]

    def become_current(self, say, what):
        """Waits until all servers have all of each stream. Those that do not get there by themselves are restarted, one
        after the other. If that does not help, they are started without their disks, one after the other, as long as
        one server has everything."""
        with contextlib.suppress(TimeoutError):
            return wait_for(self.is_current, what, STOPS_AFTER_S)
        for host in self.lagging():
            say(f"  a copy on {host.namespace} lags for {STOPS_AFTER_S} s: its nats-server is restarted")
            host.end("server", politely=True)
            host.start_server()
            with contextlib.suppress(TimeoutError):
                return wait_for(self.is_current, what, STOPS_AFTER_S)
        for host in self.lagging():
            if len(self.lagging()) == HOSTS:
                break
            say(f"  a copy on {host.namespace} lags still: its disk is wiped")
            lose_disk(self, host, random.Random(0))
            wait_for(lambda host=host: host not in self.lagging(), f"{host.namespace} has everything", CATCHES_UP_S)
        return wait_for(self.is_current, what, CATCHES_UP_S)

    def results(self):
        return self.ask("STREAM.INFO.rubricd-results")["state"]

    def states(self, host):
        """Returns what the server of HOST says of its own copy of each stream."""
        with urllib.request.urlopen(f"http://{host.address}:8222/jsz?streams=1&config=0", timeout=5) as answer:
            accounts = json.load(answer)["account_details"]
        return {stream["name"]: stream["state"] for account in accounts for stream in account["stream_detail"]}

    def result_copies(self):
        """Returns how many results each server says that it has. Who does not lead says nothing more about a stream."""
        counts = {}
        for host in self.hosts:
            with contextlib.suppress(OSError, ValueError, KeyError):
                counts[f"n{host.number}"] = self.states(host)["rubricd-results"]["messages"]
        return counts

    def close(self):
        for host in self.hosts:
            host.close()
        with contextlib.suppress(OSError):
            ip("link", "del", self.bridge)


# --- faults --------------------------------------------------------------------------------------


def cut_off(world, host, chance):
    ip("link", "set", host.link, "down")
    time.sleep(chance.uniform(1, 12))
    ip("link", "set", host.link, "up")


def kill_worker(world, host, chance):
    host.end("worker")
    time.sleep(chance.uniform(0, 2))
    host.start_worker()


def stop_worker(world, host, chance):
    host.end("worker", politely=True)
    host.start_worker()


def lose_disk(world, host, chance):
    host.end("server")
    shutil.rmtree(host.place / "js")
    time.sleep(chance.uniform(0, 3))
    host.start_server()


def restart_daemon(world, host, chance):
    host.end("daemon", politely=chance.random() < 0.5)
    time.sleep(chance.uniform(0, 1))
    host.start_daemon()


FAULTS = (cut_off, kill_worker, stop_worker, lose_disk, restart_daemon)


# --- jobs ----------------------------------------------------------------------------------------


def make_job(number, chance):
    """Returns a job and what its result must have."""
    id = f"job.{number}"
    kind = chance.choice(["echo", "echo", "sleep", "fail", "program", "large"])
    if kind == "program":
        tests = [{"input": f"{n}\n", "output": f"{n * number}\n"} for n in range(3)]
        wrong = chance.random() < 0.3
        code = f"print(int(input()) * {number}{' + 1' if wrong else ''})"
        return {"id": id, "kind": "program", "language": "python", "code": code, "tests": tests}, (not wrong, None)
    if kind == "large":
        text = f"{number} " + "x" * 700_000
        return {"id": id, "kind": "sandbox", "argv": ["/usr/bin/head", "-c", "9", "f"], "files": {"f": text}}, (True, text[:9])
    script = {"echo": f"echo {number}", "sleep": f"sleep 0.0{chance.randrange(1, 9)}; echo {number}", "fail": f"echo {number}; exit 3"}[kind]
    return {"id": id, "kind": "sandbox", "argv": ["/bin/sh", "-c", script]}, (kind != "fail", f"{number}\n")


def check(path, wanted):
    """Returns what is wrong with the file of results."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    wrong = [] if len(lines) == len(wanted) else [f"{len(lines)} lines for {len(wanted)} jobs"]
    seen = set()
    for line in lines:
        id = line["id"]
        if id in seen:
            wrong.append(f"{id} is doubled")
        seen.add(id)
        passed, stdout = wanted[id]
        if line["type"] != "result":
            wrong.append(f"{id}: {line['code']}: {line['message']}")
        elif line["score"]["passed"] != passed or (stdout is not None and line["stdout"] != stdout):
            wrong.append(f"{id}: {json.dumps(line)[:200]}")
    return wrong + [f"{id} is lost" for id in wanted if id not in seen]


# --- a run ---------------------------------------------------------------------------------------


def run(seed, options, say):
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="rubricd-fleet-chaos-") as place:
        place = Path(place)
        made = [make_job(number, chance) for number in range(options.jobs)]
        wanted = {job["id"]: expected for job, expected in made}
        (place / "jobs").write_text("".join(json.dumps(job) + "\n" for job, _ in made))
        world = None
        try:
            world = World(place, options.network, options.build, options.starve)
            return break_things(world, place, wanted, chance, options, say)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            states = world and [world.ask(f"STREAM.INFO.rubricd-{stream}").get("cluster") for stream in STREAMS]
            return [f"{error}: {json.dumps(states)}"], 0
        finally:
            if world:
                world.close()
            if options.keep:
                shutil.copytree(place, options.keep / f"seed{seed}", ignore=shutil.ignore_patterns("js", "work", "s"), dirs_exist_ok=True)


@contextlib.contextmanager
def running_batch(world, place, output):
    with open(place / "batch.log", "ab") as log:
        batch = subprocess.Popen(
            [world.ctl, "fleet", "batch", *world.servers, "--run", "chaos", "--ack-wait", "5", "--no-fail", "--quiet",
             "--retries", "5", "--output", place / output, place / "jobs"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        yield batch
    finally:
        # One that goes on would take part in the next run, which has the same name.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(batch.pid, signal.SIGKILL)
        batch.wait()


def judge(batch, place, output, wanted):
    """Returns what is wrong with a batch that has ended."""
    path = place / output
    wrong = check(path, wanted) if path.exists() else ["the batch has no output"]
    if batch.returncode != 0:
        wrong.append(f"the batch ended with {batch.returncode}: {(place / 'batch.log').read_text()[-2000:]}")
    return wrong


def break_things(world, place, wanted, chance, options, say):
    """Breaks things for as long as the batch runs. Then another batch takes the run up: it reads the results
    that are stored, and runs the jobs whose results the servers have lost with a disk."""
    with running_batch(world, place, "out") as batch:
        wrong, faults = break_beneath(batch, world, place, wanted, chance, options, say)
    if wrong:
        return wrong, faults
    world.become_current(say, "every stream is current at the end")
    say(f"  {world.too_early} times all copies were called current while one was behind")
    lost = len(wanted) - world.results()["messages"]
    if lost > 0:
        say(f"  the servers have lost {lost} of the results, which the output has")
    # Copies of a stream may differ though each says that it is current: a batch reads its results from one of them,
    # the number of results comes from another. What is not stored there, another batch runs again.
    for number in range(BATCHES_AGAIN):
        output = f"out-again{number}"
        with running_batch(world, place, output) as batch:
            batch.wait(options.patience)
        wrong = judge(batch, place, output, wanted)
        state = world.results()
        stored = (state["messages"], state["num_subjects"])
        if wrong or stored == (len(wanted), len(wanted)):
            return wrong, faults
        say(f"  the stream has {stored[0]} results of {stored[1]} ids after another batch; " + json.dumps(world.result_copies()))
        world.ask("STREAM.LEADER.STEPDOWN.rubricd-results")
        world.become_current(say, "the results have a leader")
    wrong.append(f"the stream has {stored[0]} results of {stored[1]} ids after {BATCHES_AGAIN} batches")
    return wrong, faults


def break_beneath(batch, world, place, wanted, chance, options, say):
    began = time.monotonic()
    faults = 0
    while batch.poll() is None:
        time.sleep(chance.uniform(0.5, options.pause))
        if batch.poll() is not None:
            break
        fault, host = chance.choice(FAULTS), chance.choice(world.hosts)
        world.become_current(say, "every stream is current")
        say(f"  {time.monotonic() - began:6.1f} s  {fault.__name__} {host.namespace}")
        fault(world, host, chance)
        faults += 1
        if time.monotonic() - began > options.patience:
            return [f"the batch has not ended after {options.patience} s: {(place / 'batch.log').read_text()[-2000:]}"], faults
    return judge(batch, place, "out", wanted), faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1, help="how many seeds, from --seed on")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=4, help="at most so many seconds between two faults")
    parser.add_argument("--patience", type=float, default=3600, help="seconds after which a run counts as hung")
    parser.add_argument("--starve", type=float, default=0, help="let this part of the jobs starve: 0.05")
    parser.add_argument("--network", type=int, default=93, help="the hosts are in 10.77.NETWORK.0/24; runs at the same time need one each")
    parser.add_argument("--keep", type=Path, help="copy logs and results of each run to this folder")
    parser.add_argument("--build", type=Path, default=Path(os.environ.get("RUBRICD_BUILD", ROOT / "build")))
    options = parser.parse_args()
    options.build = options.build.resolve()
    os.environ["RUBRICD_BUILD"] = str(options.build)
    sys.path.insert(0, str(ROOT / "tests" / "integration"))
    if os.geteuid() != 0:
        sys.exit("needs root, for network namespaces")
    failed = 0
    for seed in range(options.seed, options.seed + options.runs):
        began = time.monotonic()
        wrong, faults = run(seed, options, lambda text: print(text, flush=True))
        failed += bool(wrong)
        print(f"seed {seed}: {options.jobs} jobs, {faults} faults, {time.monotonic() - began:.0f} s: {len(wrong)} wrong", flush=True)
        for text in wrong[:10]:
            print(f"    {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
