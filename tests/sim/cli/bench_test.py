#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The analyzer's benchmark holds what the analyzer promises: 50 ms to a verdict, a million records a second. That the work
grows in proportion is counted, see tests/unit/diag/work_test.c: times of a busy machine prove nothing."""
import json
from harness import ROCELAB, SANITIZED, check, command, skip

if SANITIZED:
    skip("times of a build with sanitizers say nothing")
cases = json.loads(command(ROCELAB, "bench", "analyzer", "--repeats", 1, "--json").stdout)["cases"]
paper = cases[0]
check(paper["join_ms"] + paper["verdict_ms"] < 50, "a case of the paper: a verdict within 50 ms", paper)
check(all(c["mrecords_s"] > 1 for c in cases), "a million records a second are taken in", cases)
