def _evalplus_of_mbpp(task):
    """Returns what turns the arguments of TASK (the N of Mbpp/N), which are as JSON has them, into those that
    EvalPlus gives: mbpp_deserialize_inputs() of its data/mbpp.py."""

    def each(turn):
        return lambda values: [turn(value) for value in values]

    def at(turns):  # those of the arguments that TURNS has by their places
        return lambda values: [turns.get(i, lambda value: value)(value) for i, value in enumerate(values)]

    def tuple_of_tuples(rows):
        return tuple(map(tuple, rows))

    def deep(value):
        return tuple(map(deep, value)) if isinstance(value, list) else value

    kinds = [
        (each(tuple), [2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596, 616, 630,
                       726, 740, 744, 809]),
        (each(each(tuple)), [63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780]),
        (at({0: each(tuple)}), [75, 413, 444, 753]),
        (at({1: tuple}), [106, 750]),
        (at({0: each(lambda item: set(item) if isinstance(item, list) and item else {})}), [115]),
        (at({0: float, 1: complex}), [124]),
        (at({0: tuple}), [250, 307, 405, 446, 617, 720, 763, 808]),
        (at({0: complex}), [252]),
        (each(tuple_of_tuples), [259, 401, 445]),
        (at({0: lambda row: tuple(tuple(item) if isinstance(item, list) else item for item in row)}), [278]),
        (deep, [580, 615, 791]),
        (at({0: lambda found: {key: tuple(value) for key, value in found.items()}}), [722]),
    ]  # fmt: skip
    return next((turn for turn, tasks in kinds if task in tasks), lambda arguments: arguments)


def _evalplus_accepts(entry_point, arguments, out, expected, atol):
    """Whether a task of MBPP+ takes OUT for right, by the oracles that EvalPlus has for some (eval/__init__.py)."""
    if entry_point == "are_equivalent":  # Mbpp/164: it takes anything
        return True
    if entry_point == "sum_div":  # Mbpp/295
        return out in (expected, 0)
    if entry_point == "surface_Area":  # Mbpp/581: the height may be that of the pyramid
        base, height = arguments
        other = round(base * base + 2 * base * ((base / 2) ** 2 + height**2) ** 0.5)
        return out == expected or (isinstance(out, (int, float)) and abs(out - other) <= atol)
    if entry_point == "digit_distance_nums":  # Mbpp/558: the shorter number may have zeros in front
        digits = [str(number) for number in arguments]
        n = max(map(len, digits))
        return out in (expected, sum(abs(int(a) - int(b)) for a, b in zip(*(text.zfill(n) for text in digits))))
    if entry_point in ("similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum",
                       "intersection_array", "find_dissimilar", "Diff"):  # fmt: skip
        return set(out) == set(expected)
    if entry_point in ("check_str", "text_match_three", "text_starta_endb"):  # a match, or that there is one
        return (expected is not None) == (out if isinstance(out, bool) else out is not None)
    return out == expected


def _evalplus(candidate, program, entry_point, inputs, atol, task=None):
    """Compares what CANDIDATE returns for each input with what PROGRAM, the data set's own solution, returns,
    as EvalPlus does. INPUTS are JSON texts of lists of arguments. TASK is the number of a task of MBPP+."""
    import json
    import math

    def is_floats(value):
        if isinstance(value, (list, tuple)) and value:
            return all(isinstance(part, float) for part in value)
        return isinstance(value, float)

    def is_close(out, expected):  # as numpy.allclose(out, expected, rtol=1e-07, atol=atol)
        if isinstance(expected, (list, tuple)):
            same = isinstance(out, (list, tuple)) and len(out) == len(expected)
            return same and all(map(is_close, out, expected))
        if not isinstance(out, (int, float, complex)) or not isinstance(expected, (int, float, complex)):
            return False
        if math.inf in (abs(out), abs(expected)):
            return out == expected
        return abs(out - expected) <= atol + 1e-07 * abs(expected)

    def polynomial(coefficients, x):
        return sum(coefficient * math.pow(x, i) for i, coefficient in enumerate(coefficients))

    space = {"__name__": "reference"}
    exec(compile(program, "<reference>", "exec", dont_inherit=True), space)
    reference = space[entry_point]
    turn = _evalplus_of_mbpp(task)
    for text in inputs:
        # Neither sees what the other does to its arguments.
        for ours, theirs, again in zip(json.loads(text), json.loads(text), json.loads(text), strict=True):
            if entry_point == "find_zero":  # any zero will do
                out = candidate(*theirs)
                assert abs(polynomial(*ours, out)) <= atol
                continue
            expected = reference(*turn(ours))
            out = candidate(*turn(theirs))
            if atol == 0 and is_floats(expected):
                atol = 1e-06
            if task is None:
                is_right = out == expected
            else:
                is_right = _evalplus_accepts(entry_point, turn(again), out, expected, atol)
            if atol == 0 or is_right:
                assert is_right, f"got {out!r}, expected {expected!r}"
            else:
                assert type(out) is type(expected)
                assert is_close(out, expected), f"got {out!r}, expected about {expected!r}"
