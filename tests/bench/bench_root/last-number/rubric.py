# SPDX-License-Identifier: MIT
"""Grade an answer by the last number in it."""

import json
import re
import sys

asked = json.load(sys.stdin)
numbers = re.findall(r"-?\d+(?:\.\d+)?", asked["harness_output"]["answer"])
passed = bool(numbers) and float(numbers[-1]) == asked["case"]["answer"]
json.dump({"passed": passed, "score": float(passed), "breakdown": {"numbers": len(numbers)}}, sys.stdout)
