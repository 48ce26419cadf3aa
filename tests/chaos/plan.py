# SPDX-License-Identifier: MIT
"""What happens in each round: which clients submit which jobs, and which faults come after how many answers.
All of it follows from the seed and the number of the round; how long it takes does not enter."""

import random
from dataclasses import dataclass

import catalog
import faults
import place

USERS = (None, 64801, 64802, 64803)  # None: the driver's own
# How often a row is chosen, and a client of each behaviour.
ROWS = {"sandbox": 8, "rubric": 6, "code isolated": 5, "code shared": 2, "refused": 3, "hostile": 4}
BEHAVIOURS = {"good": 6, "cancels": 2, "leaves": 2, "half-closes": 2, "deaf": 1, "batch": 3}
SHAPES = {"all layers": 4, "own uid": 3, "no namespaces": 3, "cold": 1}
ROUNDS_OF_A_SHAPE = 3


def choose(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


@dataclass
class Round:
    number: int
    shape: str
    clients: list
    faults: list

    def lines(self):
        """Returns the plan for people."""
        yield f"round {self.number}: {self.shape}"
        for client in self.clients:
            jobs = ", ".join(f"{job.row}/{job.name}" for job in client["jobs"])
            yield f"  {client['name']} uid {client['uid']} window {client['window']}: {jobs}"
        for fault in self.faults:
            yield f"  after {fault['after']} answers: {fault['name']} for {fault['hold']} s (pick {fault['pick']})"


class Planner:
    """Makes the rounds of a SEED. ROOT: the bench. Each round has about JOBS jobs."""

    def __init__(self, seed, jobs=120, faults_per_round=5, shapes=None, users=USERS):
        self.seed, self.jobs, self.faults_per_round = seed, jobs, faults_per_round
        self.shapes = shapes or SHAPES
        self.users = users
        names = catalog.Catalog("/").names()
        self.names = {row: [n for r, n in names if r == row] for row in ROWS}
        # The cases of the shipped bench are many, and worth as much as all others of their kind.
        self.names["rubric"] += ["example"] * len(self.names["rubric"])

    def shape(self, number):
        """Returns the shape of the daemon in a round: it lasts for some rounds."""
        rng = random.Random(f"{self.seed}/shape/{number // ROUNDS_OF_A_SHAPE}")
        return choose(rng, self.shapes)

    def round(self, number, root):
        rng = random.Random(f"{self.seed}/{number}")
        makes = catalog.Catalog(root)
        shape = self.shape(number)
        clients, left = [], self.jobs
        while left > 0:
            client = self._client(rng, makes, number, len(clients))
            left -= len(client["jobs"])
            clients.append(client)
        total = sum(len(client["jobs"]) for client in clients)
        return Round(number, shape, clients, self._faults(rng, shape, total))

    def _client(self, rng, makes, number, place_in_round):
        behaviour = choose(rng, BEHAVIOURS)
        name = f"r{number}-{place_in_round}-{behaviour}"
        count = rng.randint(8, 30)
        client = {
            "name": name,
            "behaviour": behaviour,
            "uid": rng.choice(self.users),
            "seed": rng.random(),
            "window": rng.choice((1, 2, 4, 8, 16)),
        }
        if behaviour == "leaves":
            client["leaves_after"] = rng.randint(1, count - 1)
        if behaviour == "batch":
            client["killed_after"] = rng.choice((None, None, count // 2))
        if behaviour == "deaf":
            client["jobs"] = [self._large(makes, f"{name}x{n}", rng) for n in range(count // 2)]
        else:
            client["jobs"] = [
                self._job(rng, makes, f"{name}x{n}", behaviour == "batch") for n in range(count)
            ]
        return client

    def _job(self, rng, makes, token, in_batch):
        while True:
            row = choose(rng, ROWS)
            name = rng.choice(self.names[row])
            job = makes.get(row, name, token.replace("-", "_"), rng.randrange(1000))
            if job.in_batch or not in_batch:
                return job

    @staticmethod
    def _large(makes, token, rng):
        return makes.get("sandbox", "long", token, rng.randrange(1000))

    def _faults(self, rng, shape, total):
        usable = [name for name, fault in faults.FAULTS.items() if shape in fault.shapes]
        places = sorted(rng.randrange(total) for _ in range(self.faults_per_round))
        chosen = []
        for after in places:
            name = rng.choice(usable)
            hold = rng.choice(faults.FAULTS[name].holds)
            chosen.append({"after": after, "name": name, "hold": hold, "pick": min(round(rng.random(), 3), 0.999)})
        return chosen
