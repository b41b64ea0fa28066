#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One run of the fabric is both for the truth and for full polling: its packets are those of a run without detection, in every
family. Which policies are asked for, and in which order, changes neither the truth, nor which cases it excludes, nor a verdict."""
import csv
import json
import signal
import sqlite3
import subprocess
import time

from harness import STALL_LIMIT_S, ROCELAB, SANITIZED, check, command, dpswitch, long_run, scratch, sets

FAMILIES = ("contention", "incast", "pfc-storm", "backpressure", "deadlock", "loop", "imbalance", "mixed", "clean", "slow-host")
SEEDS = ((1, "0.02"),) if SANITIZED else ((1, "0.05"), (2, "0.02")) # and scales
FACTS = ("packet_hops", "virtual_ns", "end_reason", "drops")


def evaluate(directory, *args, expect=0):
    return command(ROCELAB, "eval", *args, "--out", directory, expect=expect, timeout=900)


def rows(directory):
    with open(directory / "runs.csv", newline="") as file:
        return {(r["family"], r["case"], r["policy"]): {k: v for k, v in r.items() if not k.endswith("_s")}
                for r in csv.DictReader(file)}


def excluded(directory):
    with sqlite3.connect(directory / "eval.sqlite") as db:
        return db.execute("SELECT family, idx, attempt, why FROM excluded ORDER BY family, idx, attempt").fetchall()


def full_polling_changes_no_packet():
    for seed, scale in SEEDS:
        directory = scratch() / "polled"
        evaluate(directory, *FAMILIES, "--cases", 1, "--scale", scale, "--seed", seed, "--policy", "full-polling", expect=None)
        for family in FAMILIES:
            case = directory / family / "000"
            polled = json.loads((case / "truth/run.json").read_text())
            alone = dpswitch(case / "case.cfg", "--quiet", *sets(detection__policy="off"))
            check(polled["overhead"]["policy"] == "full-polling" and not (case / "full-polling/run.json").exists(),
                  f"{family}, seed {seed}: one run of the fabric", case)
            check(polled["overhead"]["reports_collected"] > 0, f"{family}, seed {seed}: switches were read", polled["overhead"])
            check((case / "truth/truth.json").read_bytes() == (alone.dir / "truth.json").read_bytes(),
                  f"{family}, seed {seed}: the truth is that of a run without detection", case)
            check([polled[fact] for fact in FACTS] == [alone.run[fact] for fact in FACTS],
                  f"{family}, seed {seed}: so are its packets", [(polled[fact], alone.run[fact]) for fact in FACTS])


def order_does_not_matter():
    """Full polling with another policy, after it and before it; its cost is reported in full each time."""
    args = ("pfc-storm", "incast", "--cases", 1, "--scale", "0.02", "--policy")
    ours, polling = "vedrfolnir", "full-polling"
    together = scratch() / "together"
    evaluate(together, *args, f"{ours},{polling}")
    truth = (together / "pfc-storm/000/truth/truth.json").read_bytes()
    for first, then in ((ours, f"{ours},{polling}"), (polling, f"{ours},{polling}"), (polling, ours)):
        directory = scratch() / "apart"
        evaluate(directory, *args, first)
        check(len(rows(directory)) == 2, f"{first}: a row a case", rows(directory))
        evaluate(directory, *args, then)
        check(rows(directory) == rows(together), f"{first}, then {then}: the same rows", (rows(directory), rows(together)))
        check((directory / "pfc-storm/000/truth/truth.json").read_bytes() == truth, f"{first}, then {then}: the same truth", directory)
        check(not list(directory.glob("*/*/truth/records.bin")), f"{first}, then {then}: no stream is left", directory)
    with open(together / "runs.csv", newline="") as file:
        for row in csv.DictReader(file):
            check(float(row["wall_s"]) >= float(row["cpu_s"]) > 0, f"{row['family']}, {row['policy']}: what the run took", row)


def interrupted_before_its_diagnosis():
    """What full polling recorded is diagnosed later, from the run that is there."""
    directory = scratch() / "interrupted"
    words = [str(word) for word in (ROCELAB, "eval", "contention", "--cases", 1, "--scale", "0.1", "--policy",
                                    "vedrfolnir,full-polling", "--jobs", 1, "--out", directory)]
    case = directory / "contention/000"
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        deadline = time.monotonic() + STALL_LIMIT_S
        while not (case / "vedrfolnir").exists() and started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=STALL_LIMIT_S)
    check(started.returncode == 130 and (case / "truth/records.bin").exists(), "interrupted between truth and diagnosis", case)
    made = (case / "truth/run.json").stat().st_mtime_ns
    command(*words, timeout=900)
    check(len(rows(directory)) == 2 and (case / "truth/run.json").stat().st_mtime_ns == made, "the fabric runs once", case)
    check(not (case / "truth/records.bin").exists(), "then its stream goes", case)


def exclusion_is_first():
    """A case that is wrong by construction is replaced for the same reason either way."""
    reasons = []
    for policy in ("vedrfolnir", "full-polling"):
        directory = scratch() / policy
        evaluate(directory, "deadlock", "--cases", 8, "--scale", "0.02", "--policy", policy, expect=None)
        reasons.append(excluded(directory))
        check(len(rows(directory)) == 8, f"{policy}: every case has its verdict", rows(directory))
        check(not list(directory.glob("*/*/truth/verdict.json")), f"{policy}: no truth is diagnosed where it is found", directory)
    check(reasons[0] and reasons[0] == reasons[1], "the same cases are excluded, for the same reasons", reasons)


if not SANITIZED or long_run("packets of ten families with and without full polling"):
    full_polling_changes_no_packet()
order_does_not_matter()
interrupted_before_its_diagnosis()
if not SANITIZED:
    exclusion_is_first()
