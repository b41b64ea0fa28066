#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The telemetry benchmark's numbers agree with each other, whatever the machine: what was made is what arrived in time, what was
held back and what was dropped; budgets bound the bytes; in virtual time all of it repeats."""
import json
from harness import ROCELAB, SANITIZED, check, command

COUNTS = ("made", "in_time", "held_back", "dropped", "bytes", "frames", "epochs", "run_s", "known_run_us", "fullest_ms_bytes", "jain")


def bench():
    return json.loads(command(ROCELAB, "bench", "telemetry", "--repeats", 1, "--json").stdout)


def budget(case):
    return 0 if case["budget"] == "0" else int(case["budget"].removesuffix("MB")) * 1_000_000


first_run = bench()
cases = first_run["cases"]
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
    check(case["fullest_ms_bytes"] <= budget(case) / 1000 + 4608, f"{name}: no millisecond has more than the budget and a frame",
          case["fullest_ms_bytes"])
    check(0.5 < case["jain"] <= 1, f"{name}: no switch starves", case["jain"])
    enough = budget(case) >= unlimited["peak_bytes_s"]
    check((case["dropped"] + case["held_back"] == 0) == enough, f"{name}: something waits where less than the peak is allowed", case)
received = [c["in_time"] + c["held_back"] for c in limited]
check(received == sorted(received, reverse=True) and received[-1] < received[0] / 10, "the smaller the budget, the less comes", received)

off, alarms, counts = first_run["volumes"]
check(off["export"] == "off" and off["sent_bytes"] == 0 == off["port_bytes"] and off["ratio"] == 1 and
      off["counted_ns"] == 0, "the fabric without monitors", off)
check(0 < alarms["sent_bytes"] < counts["sent_bytes"], "alarms are fewer bytes than all volumes", (alarms, counts))
check(4000 < alarms["port_bytes"] == counts["port_bytes"] < 20000, "a monitor's memory does not depend on what it reports", alarms)

again_run = first_run if SANITIZED else bench()  # twice the same memory is no more to sanitizers
again = again_run["cases"]
check([row["sent_bytes"] for row in again_run["volumes"]] == [row["sent_bytes"] for row in first_run["volumes"]],
      "what monitors report repeats")
for first, second in zip(cases, again):
    if first["clock"] == "virtual":
        check(all(first[key] == second[key] for key in COUNTS), f"{first['policy']} at {first['budget']} B/s: counts repeat",
              (first, second))
