# SPDX-License-Identifier: MIT
"""The values of pandas, there and back (daemon/checker/pandas_values.py)."""

import copy
import datetime
import decimal
import sys

import pytest
from wire_parts import ASKED, fuzz, liars_for, there_and_back, values

try:
    import numpy
    import pandas
    from pandas.testing import assert_frame_equal, assert_index_equal, assert_series_equal
except ImportError:
    pandas = None
needs_pandas = pytest.mark.skipif(pandas is None, reason="pandas is not installed")


def test_without_pandas_its_values_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr(values, "_classes", {})
    for name in ("DataFrame", "Series", "Index", "Timestamp", "Timedelta", "NaT", "NA", "Interval"):
        with pytest.raises(ValueError):
            values.make(name, ())
    assert values.describe(type("DataFrame", (), {"__module__": "pandas"})()) is None


def indexes():
    found = [pandas.RangeIndex(3), pandas.RangeIndex(5, 1, -2, name="n"), pandas.Index([1, 2, 3]), pandas.Index([1.5, None])]
    found += [pandas.Index(["a", "b"], name="letters"), pandas.Index([], dtype=object), pandas.Index([True, False])]
    found += [pandas.Index([1, "a", None, (1, 2)], dtype=object), pandas.Index([1, 2], dtype="uint64")]
    found += [pandas.date_range("2020-01-01", periods=3), pandas.date_range("2020-01-01", periods=3, freq="MS", tz="Europe/Berlin")]
    found += [pandas.DatetimeIndex(["2020-01-01", None, "2021-05-05 01:02:03.000000004"]), pandas.to_timedelta([1, 2], unit="h")]
    found += [pandas.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", None]), pandas.CategoricalIndex(["b", "a", "b"])]
    found += [pandas.period_range("2020-01", periods=2, freq="M", name="p")]
    return [*found, pandas.interval_range(0, 3), pandas.MultiIndex.from_tuples([("a", 1.5), ("b", numpy.nan)])]


def columns():
    """Returns arrays of four items."""
    texts = pandas.array(["a", None, "c", "d"], dtype="string")
    found = [[1, 2, 3, 4], [1.5, numpy.nan, numpy.inf, -0.0], ["a", None, "c", "\0"], [True, False, True, False], texts]
    found += [pandas.Categorical(["x", "y", None, "x"], ["y", "x"], ordered=True), pandas.date_range("2020-01-01", periods=4)]
    found += [pandas.date_range("2020-01-01", periods=4, tz="UTC"), pandas.to_timedelta([1, 2, None, 4], unit="s")]
    found += [pandas.array([1, None, 3, 4], dtype=kind) for kind in ("Int64", "UInt8", "Float64")]
    found += [pandas.array([True, None, False, True], dtype="boolean"), numpy.arange(4, dtype="i2"), numpy.arange(4) * 1j]
    found += [[[1], {"a": 1}, {1}, (2, 3)], [datetime.date(2020, 1, 1), decimal.Decimal("1.5"), pandas.NaT, pandas.NA]]
    found += [pandas.PeriodIndex(["2020Q1", None, "2020Q3", "2021Q1"], freq="Q")]
    return [*found, pandas.cut([1, 2, 3, 4], 2), [pandas.Timestamp("2020-01-01"), pandas.Timedelta("1h"), "a", 1]]


def frames():
    many = pandas.DataFrame({f"c{place}": column for place, column in enumerate(columns())})
    found = [many, many.iloc[::-1], many.iloc[:0], pandas.DataFrame(), pandas.DataFrame(index=[1, 2]), pandas.DataFrame(columns=["a"])]
    found += [pandas.DataFrame([[1, 2], [3, 4]], columns=["same", "same"]), pandas.DataFrame(numpy.arange(6).reshape(2, 3))]
    table = pandas.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3], "w": [1.0, 2.0, 3.5]})
    found += [table.groupby("k").agg(["sum", "mean"]), table.pivot_table(index="k", values="v"), table.describe(), table.T]
    return [*found, table.set_index(["k", "v"]), table["k"].value_counts().to_frame(), many.loc[:, ["c0"]]]


@needs_pandas
def test_an_index_arrives_with_type_names_and_labels():
    for index in indexes():
        back = there_and_back(index)
        assert_index_equal(back, index, exact=True)
        assert type(back) is type(index) and back.names == index.names
        assert getattr(back, "freq", None) == getattr(index, "freq", None)


@needs_pandas
@pytest.mark.parametrize("place", range(20))
def test_a_column_arrives_with_its_type(place):
    series = pandas.Series(columns()[place], name="n", index=[4, 3, 2, 1])
    back = there_and_back(series)
    assert type(back) is pandas.Series
    assert_series_equal(back, series, check_exact=True, check_freq=True)
    if series.dtype == object:
        assert list(map(type, back)) == list(map(type, series))


@needs_pandas
def test_the_columns_are_all_tried():
    assert len(columns()) == 20


@needs_pandas
@pytest.mark.parametrize("place", range(15))
def test_a_table_arrives(place):
    frame = frames()[place]
    back = there_and_back(frame)
    assert type(back) is pandas.DataFrame and back is not frame
    assert_frame_equal(back, frame, check_exact=True, check_freq=True, check_column_type=True)
    back["new"] = 1  # which changes the copy alone
    assert "new" not in frame.columns


@needs_pandas
def test_the_tables_are_all_tried():
    assert len(frames()) == 15


@needs_pandas
def test_times_arrive():
    found = [pandas.Timestamp("2020-01-02 03:04:05.678901234"), pandas.Timestamp("2020-07-01", tz="Europe/Berlin")]
    found += [pandas.Timestamp("2020-07-01", tz="UTC"), pandas.Timedelta("1 days 2 ns"), pandas.Timedelta(-1, "s")]
    found += [pandas.Interval(0, 1), pandas.Interval(0.5, 1.5, "both"), pandas.Period("2020-03")]
    found += [pandas.offsets.MonthEnd(2), pandas.DateOffset(months=1), pandas.offsets.BDay(), pandas.offsets.Week(weekday=2)]
    for value in found:
        back = there_and_back(value)
        assert type(back) is type(value) and back == value and repr(back) == repr(value)
    assert there_and_back(pandas.NaT) is pandas.NaT
    assert there_and_back(pandas.NA) is pandas.NA


@needs_pandas
def test_what_would_arrive_as_something_else_stays_where_it_is():
    class Own(pandas.DataFrame):
        pass

    class Label:
        pass

    noted = pandas.DataFrame({"a": [1]})
    noted.attrs["unit"] = "m"
    found = [Own({"a": [1]}), noted, pandas.DataFrame({"a": [object()]}), pandas.Series([1], name=Label())]
    found += [pandas.DataFrame({"__array_ufunc__": [1]}), pandas.Series([1], index=["__len__"])]
    found += [pandas.Series([1], index=[Label()]), pandas.Series([1], index=pandas.Index([(Label(), 1)], tupleize_cols=False))]
    found += [pandas.Series(pandas.arrays.SparseArray([0, 1])), pandas.DataFrame({"a": [1]}).groupby("a")]
    for value in found:
        assert values.describe(value) is None, value


@needs_pandas
def test_contents_are_put_into_what_is_there():
    for old in frames():
        for new in frames():
            value = old.copy()
            values.refresh(value, values.describe(new)[1])
            assert_frame_equal(value, new, check_freq=True)
    series = pandas.Series([1, 2], name="a")
    values.refresh(series, values.describe(pandas.Series(["x"], index=[7], name="b"))[1])
    assert_series_equal(series, pandas.Series(["x"], index=[7], name="b"))


@needs_pandas
def test_parts_tell_whether_a_table_has_changed():
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    before = values.describe(frame)[1]
    assert before == values.describe(frame)[1]
    changes = [lambda f: f.__setitem__("a", [1, 3]), lambda f: f.insert(0, "c", 1), lambda f: f.drop(0, inplace=True)]
    changes += [lambda f: f.rename(columns={"a": "z"}, inplace=True), lambda f: f.at.__setitem__((0, "b"), "q")]
    changes += [lambda f: f.rename_axis("n", inplace=True), lambda f: f.__setitem__("a", [1.0, 2.0])]
    for change in changes:
        now = copy.deepcopy(frame)
        change(now)
        assert values.describe(now)[1] != before


@needs_pandas
def test_parts_that_describe_would_not_have_said_are_refused():
    numbers, index = ("plain", "<i8", bytes(16)), ("RangeIndex", 1, 0, 2, 1)
    good = (1, index, numbers)
    assert len(values.make("Series", (good, None, None))) == 2
    bad = [(1, index, ("plain", "<i8", bytes(8))), (1, ("RangeIndex", 1, 0, 3, 1), numbers), (2, index, numbers), (-1, index, numbers)]
    bad += [(1, ("RangeIndex", 1, 0, 2, 0), numbers), (1, ("RangeIndex", 1, 0.0, 2, 1), numbers), (1, index, ("plain", "|O", bytes(16)))]
    bad += [(1, index, ("objects", 2)), (1, index, ("objects", 1 << 60)), (1, index, ("zone", "dateutil//etc/x", "<M8[ns]", bytes(16)))]
    bad += [(1, index, ("zone", "../../x", "<M8[ns]", bytes(16))), (1, index, ("zone", "/etc/x", "<M8[ns]", bytes(16)))]
    bad += [(1, index, ("nothing", 1)), (1, index, ()), (1, (), numbers), good[:2], (1, index, list(numbers)), (1, list(index), numbers)]
    bad += [(1, index, ("category", True, bytes(16), index)), (1, index, ("masked", "int64", bytes(16), b"\0\0"))]
    bad += [(1, index, ("masked", "Int64", bytes(16), b"\0\2")), (1, index, ("masked", "Int64", bytes(16), b"\0"))]
    bad += [(1, index, ("texts", "object", 0)), (1, ("DataFrame", 1, None, numbers), numbers)]
    bad += [(1, ("DatetimeIndex", 1, "x" * 99, ("plain", "<M8[ns]", bytes(16))), numbers)]
    for structure in bad:
        with pytest.raises(ValueError):
            values.make("Series", (structure, None, None))
    for labels in (["__len__", "a"], [[], "a"], [("a", []), "a"], [object(), "a"]):
        with pytest.raises(ValueError):
            values.make("Series", ((1, ("Index", 1, None, ("objects", 2)), numbers), None, None, *labels))
    for more in ((None,), (None, None, None), (None, [])):
        with pytest.raises(ValueError):
            values.make("Series", (good, *more))
    codes = ((0).to_bytes(8, "little"), (5).to_bytes(8, "little"))
    levels = (("RangeIndex", 1, 0, 1, 1), ("RangeIndex", 1, 0, 1, 1))
    with pytest.raises(ValueError):
        values.make("Index", (("MultiIndex", 2, levels, codes), None, None, None, None))


def altered(part):
    """Yields copies of PART with one liar in one place, at any depth."""
    yield from liars_for(part)
    if type(part) is tuple:
        for place, inner in enumerate(part):
            yield from (part[:place] + (other,) + part[place + 1 :] for other in altered(inner))


@needs_pandas
def test_parts_are_never_asked_anything():
    tables = [pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}), pandas.Series(pandas.array([1, None], "Int64"), name="n")]
    tables += [pandas.Index(["a"]), pandas.MultiIndex.from_tuples([(1, 2)]), pandas.Timestamp(0, tz="UTC")]
    for value in tables:
        name, parts = values.describe(value)
        ASKED.clear()
        for liars in altered(parts):
            with pytest.raises(ValueError):
                values.make(name, liars)
            assert ASKED == [], liars


@needs_pandas
def test_mutated_parts_are_refused_or_make_a_value():
    seeds = [values.describe(value) for value in [*frames(), *indexes(), pandas.Timestamp(0), pandas.Interval(0, 1)]]
    flat = [(name, parts) for name, parts in seeds if parts]
    made, refused, peak = fuzz(flat, 2000)
    assert made + refused == 2000 and refused > 1000 and peak < 64 << 20


@needs_pandas
def test_a_table_that_nobody_uses_any_more_is_forgotten():
    import sharing

    frame, series = pandas.DataFrame({"a": [1, 2]}), pandas.Series(["x"])
    assert frame["a"].sum() == 3 and series.str.upper()[0] == "X"  # which leave something in them
    assert not sharing.holds_more(frame) and not sharing.holds_more(series)
    object.__setattr__(frame, "note", 1)
    assert sharing.holds_more(frame)
