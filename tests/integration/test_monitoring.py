# SPDX-License-Identifier: MIT
"""packaging/monitoring: the alert rules and the dashboard parse, and every metric, label and label
value that they name occurs in the metrics of a real daemon."""

import json
import re

import pytest
import yaml
from conftest import ROOT, Daemon
from test_metrics import metrics

# These tests check the rules and the dashboard; test_metrics.py checks the metrics that they name.
pytestmark = pytest.mark.once

MONITORING = ROOT / "packaging" / "monitoring"
RULES = MONITORING / "rubricd.rules.yml"
DASHBOARD = MONITORING / "rubricd-dashboard.json"

# Labels that Prometheus adds to each sample, and metrics that it makes for each scrape.
ADDED_LABELS = {"job", "instance"}
ADDED_METRICS = {"up"}

KEYWORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "bool"}
TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<duration>\[[^\]]*\])|(?P<number>\d[\d.]*(?:e\d+)?)'
    r"|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)|(?P<operator>=~|!~|!=|==|>=|<=|[-+*/%(){},=<>])|(?P<blank>\s+)"
)


def tokens(expression):
    """Splits a PromQL expression into a list of (kind, text)."""
    at, found = 0, []
    while at < len(expression):
        match = TOKEN.match(expression, at)
        assert match, f"{expression!r}: unknown token at {expression[at:at + 20]!r}"
        if match.lastgroup != "blank":
            found.append((match.lastgroup, match.group()))
        at = match.end()
    return found


class Named:
    """The selectors of an expression, and the labels that it groups or joins by."""

    def __init__(self, expression):
        self.selectors = []  # (metric, [(label, operator, value)])
        self.grouped_by = set()
        self.made = set()  # labels that label_replace() makes
        self.rest = tokens(expression)
        while self.rest:
            self.take_one(*self.rest.pop(0))

    def next_is(self, text):
        return bool(self.rest) and self.rest[0][1] == text

    def take_until(self, end):
        taken = []
        while not self.next_is(end):
            taken.append(self.rest.pop(0))
        self.rest.pop(0)
        return taken

    def take_one(self, kind, text):
        if kind != "name":
            return
        if text in KEYWORDS:
            if self.next_is("("):
                self.grouped_by |= {name for kind, name in self.take_until(")") if kind == "name"}
        elif text == "label_replace":
            # its second argument names the label; its first is an expression
            strings = [token for kind, token in self.rest if kind == "string"]
            self.made.add(next(s for s in strings if re.fullmatch(r'"layer"', s)).strip('"'))
        elif not any(self.next_is(after) for after in ("(", "by", "without")):
            self.selectors.append((text, self.take_matchers()))

    def take_matchers(self):
        if not self.next_is("{"):
            return []
        self.rest.pop(0)
        inside = [token for _, token in self.take_until("}") if token != ","]
        assert len(inside) % 3 == 0, inside
        return [
            (label, operator, json.loads(value))
            for label, operator, value in zip(inside[::3], inside[1::3], inside[2::3])
        ]


def rules():
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return group["rules"]


def dashboard():
    return json.loads(DASHBOARD.read_text())


def panels_with_queries():
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expressions():
    """Returns all expressions, by their place in the files."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    for panel in panels_with_queries():
        for target in panel["targets"]:
            found[f"{panel['title']}/{target['refId']}"] = target["expr"]
    for annotation in dashboard()["annotations"]["list"]:
        found[annotation["name"]] = annotation["expr"]
    for variable in dashboard()["templating"]["list"]:
        if match := re.fullmatch(r"label_values\((.*), (\w+)\)", str(variable.get("definition"))):
            found[f"${variable['name']}"] = f"sum by ({match[2]}) ({match[1]})"
    return found


@pytest.fixture(name="told", scope="module")
def make_told(tmp_path_factory):
    """Returns a dict from each metric's name to its labels and their values."""
    daemon = Daemon(tmp_path_factory.mktemp("monitoring"))
    with daemon.connect() as client:
        samples = metrics(client).samples
    assert daemon.stop() == 0
    told = {name: {} for name in ADDED_METRICS}
    for name, pairs in samples:
        labels = told.setdefault(name, {})
        for label, value in pairs:
            labels.setdefault(label, set()).add(value)
    return told


def check_matcher(place, name, labels, label, operator, value):
    if label in ADDED_LABELS:
        return
    assert label in labels, f"{place}: {name} has no label {label}"
    for word in value.split("|") if operator in ("=~", "!~") else [value]:
        assert word in labels[label], f"{place}: {name} has no {label}={word!r}"


@pytest.mark.parametrize("place", expressions())
def test_what_is_named_is_there(told, place):
    named = Named(expressions()[place])
    assert named.selectors
    every_label = set(ADDED_LABELS) | named.made
    for name, matchers in named.selectors:
        assert name in told, f"{place}: there is no metric {name}"
        every_label |= told[name].keys()
        for label, operator, value in matchers:
            check_matcher(place, name, told[name], label, operator, value)
    assert named.grouped_by <= every_label


def test_the_check_sees_what_is_wrong(told):
    """Otherwise the check might accept anything."""
    wrong = Named('sum by (kind) (rate(rubricd_jobs_total{kind="rubrics", job="x"}[5m])) / on (x) up > 1e3')
    assert wrong.selectors == [
        ("rubricd_jobs_total", [("kind", "=", "rubrics"), ("job", "=", "x")]),
        ("up", []),
    ]
    assert wrong.grouped_by == {"kind", "x"}
    assert "rubricd_jobs_total" not in told
    labels = told["rubricd_jobs_submitted_total"]
    check_matcher("here", "it", labels, "kind", "=~", "rubric|sandbox")
    for label, operator, value in [("kind", "=", "rubrics"), ("kind", "=~", "rubric|x"), ("x", "=", "")]:
        with pytest.raises(AssertionError):
            check_matcher("here", "it", labels, label, operator, value)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_a_rule(told, rule):
    """A rule has everything that an operator needs, and uses only labels that exist."""
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Rubricd[A-Z][A-Za-z]+", rule["alert"])
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
    assert set(rule["annotations"]) == {"summary", "description"}
    assert 'job="rubricd"' in rule["expr"]
    shown = " ".join(rule["annotations"].values())
    named = Named(rule["expr"])
    labels = set(ADDED_LABELS) | named.made | named.grouped_by
    for name, _ in named.selectors:
        labels |= told[name].keys()
    assert set(re.findall(r"\$labels\.(\w+)", shown)) <= labels


def test_alerts_have_names_of_their_own():
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) > 15


def test_the_dashboard():
    board = dashboard()
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    variables = {variable["name"] for variable in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(board["panels"])))
    assert used == {*variables, "__rate_interval"}
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells


def test_legends_show_labels_that_are_there(told):
    for panel in panels_with_queries():
        for target in panel["targets"]:
            named = Named(target["expr"])
            labels = named.grouped_by or set().union(
                ADDED_LABELS, *(told[name] for name, _ in named.selectors)
            )
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels, panel["title"]
