#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The telemetry benchmark's numbers agree with each other, whatever the machine: what was made is what came in time, what was
held back and what was dropped; budgets bound the bytes; in virtual time all of it repeats."""
import json
from harness import ROCELAB, check, command

COUNTS = ("made", "in_time", "held_back", "dropped", "bytes", "frames", "epochs", "run_s", "known_run_us")


def bench():
    return json.loads(command(ROCELAB, "bench", "telemetry", "--repeats", 1, "--json").stdout)["cases"]


def budget(case):
    return 0 if case["budget"] == "0" else int(case["budget"].removesuffix("MB")) * 1_000_000


cases = bench()
flood = [c for c in cases if c["policy"] == "full-polling" and c["clock"] == "virtual"]
unlimited, limited = flood[0], flood[1:]
check(budget(unlimited) == 0 and unlimited["dropped"] == 0 == unlimited["held_back"], "no budget, and nothing held back", unlimited)
check(unlimited["made"] > 50000, "the load is worth measuring", unlimited)
for case in cases:
    name = f"{case['policy']} at {case['budget']} B/s, {case['clock']} time"
    check(case["made"] == case["in_time"] + case["held_back"] + case["dropped"], f"{name}: nothing is lost uncounted", case)
    check((case["known_wall_us"] is not None) == (case["clock"] == "real"), f"{name}: wall time only where it is real", case)
    late = case["known_run_us"] if case["known_wall_us"] is None else case["known_wall_us"]
    check(0 <= late["p50"] <= late["p99"] <= late["max"], f"{name}: known after its end", late)
for case in limited:
    name = f"at {case['budget']} B/s"
    check(case["made"] == unlimited["made"], f"{name}: as much is made as without a budget", case)
    burst = max(budget(case) / 1000, 4096)
    check(case["bytes"] <= burst + budget(case) * case["run_s"], f"{name}: {case['bytes']} B are within it", case)
    enough = budget(case) >= unlimited["peak_bytes_s"]
    check((case["dropped"] + case["held_back"] == 0) == enough, f"{name}: something waits where less than the peak is allowed", case)
came = [c["in_time"] + c["held_back"] for c in limited]
check(came == sorted(came, reverse=True) and came[-1] < came[0] / 10, "the smaller the budget, the less comes", came)

again = bench()
for first, second in zip(cases, again):
    if first["clock"] == "virtual":
        check(all(first[key] == second[key] for key in COUNTS), f"{first['policy']} at {first['budget']} B/s: counts repeat",
              (first, second))
