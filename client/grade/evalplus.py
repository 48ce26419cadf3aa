def _evalplus(candidate, program, entry_point, inputs, atol):
    """Compares what CANDIDATE returns for each input with what PROGRAM, the data set's own solution, returns,
    as EvalPlus does. INPUTS are JSON texts of lists of arguments."""
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
    for text in inputs:
        # Neither sees what the other does to its arguments.
        for ours, theirs in zip(json.loads(text), json.loads(text), strict=True):
            if entry_point == "find_zero":  # any zero will do
                out = candidate(*theirs)
                assert abs(polynomial(*ours, out)) <= atol
                continue
            expected = reference(*ours)
            out = candidate(*theirs)
            if atol == 0 and is_floats(expected):
                atol = 1e-06
            if atol == 0 or out == expected:
                assert out == expected
            else:
                assert type(out) is type(expected)
                assert is_close(out, expected), f"got {out!r}, expected about {expected!r}"
