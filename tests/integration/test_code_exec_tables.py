# SPDX-License-Identifier: MIT
"""Tables of pandas that assertions and code hand to each other. The reference is a single process: each honest
program here passes in this process, too."""

import pytest
from code_exec_jobs import assert_passed, assert_verdict, details, job, judge

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
# Python code decides what the checker believes; the daemon sees ordinary reports.
pytestmark = pytest.mark.once

PANDAS = "import pandas as pd\n"
KEEPER = "class Keeper:\n    def __init__(self, df): self.df = df\n    def get(self): return self.df\n"
GROWER = "class Grower:\n    def __init__(self): self.df = pd.DataFrame({'v': [1]})\n    def add(self, x): self.df.loc[len(self.df)] = [x]\n"
HONEST = {
    "a table is returned": (
        "def f(): return pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})",
        "df = f()\nassert isinstance(df, pd.DataFrame) and df.shape == (2, 2) and df['a'].sum() == 3\n"
        "pd.testing.assert_frame_equal(df, pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']}))",
    ),
    "a table is handed over": (
        "def f(df): return df.groupby('k')['v'].sum().to_dict()",
        "assert f(pd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]})) == {'a': 4, 'b': 2}",
    ),
    "the code changes a table of the tests": (
        "def f(df): df['w'] = df['v'] + 1\ndef g(df): df.dropna(inplace=True)",
        "d = pd.DataFrame({'v': [1, None]})\nf(d)\nassert d['w'].tolist()[0] == 2\ng(d)\nassert len(d) == 1",
    ),
    "the code keeps a table of the tests": (
        KEEPER,
        "d = pd.DataFrame({'v': [1]})\nk = Keeper(d)\nassert k.get() is d and k.df is d\nd.loc[0, 'v'] = 5\nassert k.get().v[0] == 5",
    ),
    "the code's own table grows": (GROWER, "g = Grower()\ng.add(4)\nassert g.df.v.tolist() == [1, 4]\ng.add(5)\nassert len(g.df) == 3"),
    "a column": (
        "def f(): return pd.Series([1, 2, 3], name='q')",
        "r = f()\nassert r.name == 'q' and r.mean() == 2\npd.testing.assert_series_equal(r, pd.Series([1, 2, 3], name='q'))",
    ),
    "times": (
        "def f(x): return pd.to_datetime(x)\ndef g(): return pd.NaT, pd.NA",
        "assert f('2020-01-02') == pd.Timestamp(2020, 1, 2) and isinstance(f('2020-01-02'), pd.Timestamp)\n"
        "assert g()[0] is pd.NaT and g()[1] is pd.NA",
    ),
    "tables in a dictionary": (
        "def f(): return {'a': pd.DataFrame({'x': [1]}), 'b': [pd.Series([1])]}",
        "assert f()['a'].x[0] == 1 and f()['b'][0].iloc[0] == 1",
    ),
    "a function of the tests is applied": (
        "def f(d, g): return d['a'].apply(g)",
        "assert f(pd.DataFrame({'a': [1, 2]}), lambda x: x * 10).tolist() == [10, 20]",
    ),
    "a function of the code is applied": ("def f(x): return x * x", "assert pd.Series([1, 2, 3]).apply(f).tolist() == [1, 4, 9]"),
    "indexes": (
        "def f(d): return d.groupby(['a', 'b']).size()\ndef g(): return pd.date_range('2020-01-01', periods=2, tz='UTC')",
        "r = f(pd.DataFrame({'a': [1, 1, 2], 'b': ['x', 'x', 'y']}))\nassert r[(1, 'x')] == 2 and isinstance(r.index, pd.MultiIndex)\n"
        "assert g().equals(pd.date_range('2020-01-01', periods=2, tz='UTC'))",
    ),
    "an error": ("def f(d): return d['zz']", "try:\n    f(pd.DataFrame({'a': [1]}))\n    assert False\nexcept KeyError: pass"),
    "many tables": ("def f(i): return pd.DataFrame({'a': [i]})", "for i in range(300): assert f(i).a[0] == i"),
}  # fmt: skip


@pytest.fixture(name="daemon")
def share_daemon(lend):
    return lend()


@pytest.mark.parametrize("name", HONEST)
def test_tables_cross(client, name):
    code, test = HONEST[name]
    code, test = PANDAS + code, PANDAS + test
    exec(compile(code + "\n" + test, name, "exec"), {"__name__": "tables"})
    assert_passed(judge(client, code, test))


def test_a_pass_with_tables_replays(client):
    code, test = (PANDAS + text for text in HONEST["a table is returned"])
    asked = job(code, test)
    recorded = client.run({**asked, "transcript": True})
    assert_passed(recorded)
    assert recorded["transcript"]["replayable"] is True, recorded["transcript"]
    answer = client.run({**asked, "replay": recorded["transcript"]["data"]})
    assert answer["verdict"] == "pass", answer


WRONG = {
    "a class that equals everything": "class F(pd.DataFrame):\n    def __eq__(self, other): return True\n"
    "    def __ne__(self, other): return False\ndef f(): return F({'a': [9]})",
    "a patched method": "pd.DataFrame.equals = lambda self, other: True\ndef f(): return pd.DataFrame({'a': [9]})",
    "a label that is a special method": "def f(): return pd.DataFrame({'a': [9], '__eq__': [1], '__array_ufunc__': [1]})",
    "an object in a cell": "class E:\n    def __eq__(self, other): return True\n    def __hash__(self): return 1\n"
    "def f(): return pd.DataFrame({'a': [E()]})",
    "an object as a label": "class E(str):\n    def __eq__(self, other): return True\n    def __hash__(self): return hash('a')\n"
    "def f(): return pd.DataFrame([[9]], columns=[E('b')])",
}  # fmt: skip


@pytest.mark.parametrize("test", [
    "assert f().equals(pd.DataFrame({'a': [1]}))", "pd.testing.assert_frame_equal(f(), pd.DataFrame({'a': [1]}))",
    "assert f()['a'].tolist() == [1]", "assert (f() == pd.DataFrame({'a': [1]})).all().all()",
    "assert f()['a'].iloc[0] == 1", "assert 1 in f()['a'].values", "assert f().to_dict('list') == {'a': [1]}",
])  # fmt: skip
@pytest.mark.parametrize("name", WRONG)
def test_a_table_says_nothing_but_what_it_holds(client, name, test):
    result = judge(client, PANDAS + WRONG[name], PANDAS + test)
    assert result["verdict"] != "pass", result


def test_a_view_that_the_code_returns_is_a_table_of_its_own(client):
    """In one process the test sees its change in the other table, so the pass in two processes counts for nothing."""
    code = PANDAS + "df = pd.DataFrame({'a': [1, 2]})\ndef f(): return df\ndef g(): return df['a']"
    result = judge(client, code, PANDAS + "whole, column = f(), g()\ncolumn[0] = 9\nassert whole.a[0] == 1")
    assert_verdict(result, "assertion_fail")
    assert "passes only in isolation" in details(result)[0], result
