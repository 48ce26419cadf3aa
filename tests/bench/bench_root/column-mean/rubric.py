# SPDX-License-Identifier: MIT
"""Grades whether the answer is the mean of a column of a table."""

import io
import json
import sys

import numpy
import pandas

asked = json.load(sys.stdin)
case = asked["case"]
table = pandas.read_csv(io.StringIO(case["table"]))
passed = bool(numpy.isclose(float(asked["harness_output"]["answer"]), table[case["column"]].mean()))
json.dump({"passed": passed, "score": float(passed), "failure_modes": []}, sys.stdout)
