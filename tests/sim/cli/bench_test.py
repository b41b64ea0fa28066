#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The analyzer's benchmark: every case's records reach a verdict, and its figures follow from its times. How long they take is not
asserted: times of a busy machine prove nothing. That the work grows in proportion is counted, see tests/unit/diag/work_test.c."""
import json
import math
from harness import ROCELAB, SANITIZED, check, command, skip

if SANITIZED:
    skip("times of a build with sanitizers say nothing")
cases = json.loads(command(ROCELAB, "bench", "analyzer", "--repeats", 1, "--json").stdout)["cases"]
check({case["case"] for case in cases} == {"a case of the paper", "ranks x steps", "more switches", "more reports"}, "four series", cases)
for case in cases:
    name = f"{case['case']}: {case['ranks']} ranks, {case['switches']} switches, {case['reports']} reports"
    spent_ns = 1e6 * (case["join_ms"] + case["verdict_ms"])
    check(case["findings"] > 0 and case["runs"] > 0, f"{name}: a verdict", case)
    check(case["join_ms"] > 0 and case["verdict_ms"] > 0 and case["mrecords_s"] > 0, f"{name}: has times", case)
    check(math.isclose(case["ns_a_step"], spent_ns / (case["ranks"] * case["steps"]), rel_tol=1e-6) and
          math.isclose(case["ns_a_report"], spent_ns / (case["switches"] * case["reports"]), rel_tol=1e-6),
          f"{name}: what a step and a report cost follows from them", case)
    check(case["records"] >= case["switches"] * case["reports"] and case["bytes"] > case["records"], f"{name}: a record a report at least", case)
SHAPE = ("ranks", "steps", "switches", "reports")
same = {}
for case in cases:
    same.setdefault(tuple(case[key] for key in SHAPE), set()).add((case["records"], case["bytes"], case["findings"]))
check(len(same) < len(cases) and all(len(counts) == 1 for counts in same.values()), "one shape in two series: the same counts", same)
