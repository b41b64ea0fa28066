#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each stage of the telemetry path by itself: counts agree and repeat, what is late and dropped grows with the load."""
import json

from harness import ROCELAB, SANITIZED, check, command, reported

EXACT = ("load", "budget", "made", "in_time", "held_back", "dropped", "bytes", "waiting_bytes", "late_p50_us", "late_p99_us", "late_max_us",
         "dropped_of")


def stages(*args):
    return json.loads(command(ROCELAB, "bench", "stages", "--repeats", 1, "--json", *args).stdout)


first = stages()
for row in first["loads"]:
    name = f"load {row['load']}"
    check(row["made"] == row["in_time"] + row["held_back"] + row["dropped"] == first["records"], f"{name}: nothing is lost uncounted", row)
    check(sum(row["dropped_of"].values()) == row["dropped"], f"{name}: every drop has its kind", row)
    check(row["late_p50_us"] <= row["late_p99_us"] <= row["late_max_us"], f"{name}: lateness is in order", row)
    check(row["waiting_bytes"] <= 1_000_000, f"{name}: no more waits than the queue holds", row)
free, light, *loaded = first["loads"]
check(free["dropped"] == 0 == free["held_back"] and free["budget"] == 0, "without a budget nothing waits", free)
check(light["dropped"] == 0 == light["late_max_us"], "nor at a tenth of what it carries", light)
dropped = [row["dropped"] for row in loaded]
check(dropped == sorted(dropped) and dropped[-1] > 0.8 * first["records"], "ten times the budget drops most", dropped)
check(all(first[key] > 0 for key in ("frame_ns", "join_ns", "hop_ns")) and all(row["export_ns"] > 0 for row in first["loads"]),
      "every stage has its time", first)
over = first["sockets"]
check(set(over) == {"unix stream", "TCP over loopback", "UDP over loopback"}, "and the sockets their rates", over)
check(all(row["bytes_s"] > 0 for row in over.values()), "something arrives over each", over)
check(over["unix stream"]["lost"] == 0 == over["TCP over loopback"]["lost"] and 0 <= over["UDP over loopback"]["lost"] < 1,
      "streams lose nothing", over)
if not SANITIZED:  # their allocator counts nothing
    check(first["evidence_bytes"] > first["records"], "evidence is kept of every record", first["evidence_bytes"])
    check(first["loads"][-1]["heap_bytes"] > first["loads"][0]["heap_bytes"], "what waits takes memory", first["loads"])
for row in first["analyzers"]:
    name = f"an analyzer that reads {row['analyzer']}, {row['clock']} time" if row["analyzer"] != "stopped" else "a stopped analyzer"
    check(row["made"] == row["received"] + row["dropped"] and row["bytes"] > 24_000_000, f"{name}: nothing is lost uncounted", row)
    check(sum(row["dropped_of"].values()) == row["dropped"], f"{name}: every drop has its kind", row)
    check(row["clock"] == "real" or row["dropped"] == 0, f"{name}: in virtual time it is waited for", row)
    if row["analyzer"] == "stopped":
        check(row["dropped"] > 0.5 * row["made"], f"{name}: what its buffers do not hold is dropped", row)
        check(len(row["dropped_of"]) > 1, f"{name}: whatever kind it is", row)
check({row["clock"] for row in first["analyzers"]} == {"real", "virtual"}, "slow analyzers in both times", first["analyzers"])
waited = next(r for r in first["analyzers"] if r["clock"] == "virtual" and r["analyzer"] == "20 MB/s")
check(waited["record_ns"] * waited["made"] > 0.5 * 1e9 * (waited["bytes"] - 10e6) / 20e6, "back-pressure: the run lasts as the analyzer reads", waited)
if not SANITIZED:
    again = stages()
    check([{k: r[k] for k in EXACT} for r in again["loads"]] == [{k: r[k] for k in EXACT} for r in first["loads"]], "counts repeat")
    larger = stages("--k", 6, "--rate", 400)
    check(larger["records"] > first["records"], "a larger fabric reports more", (larger["records"], first["records"]))
text = reported(command(ROCELAB, "bench", "stages", "--k", 3, expect=2))
check("4" in text and "16" in text, "a fat-tree that is none is refused", text)
