#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The evaluation, scaled down: every family's cases are right by construction and their verdicts hold their scores; a seed
makes the same cases and scores again; an interrupted evaluation continues where it was; two jobs have two CPUs."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import time

from harness import STALL_LIMIT_S, ROCELAB, SANITIZED, check, command, cpus, descendants, rocelab, scratch, reported

SCALE = "0.02"
CASES = 2 if SANITIZED else 4
# Precision and recall of policy vedrfolnir, at least.
FLOORS = {"contention": 1, "incast": 1, "pfc-storm": 1, "backpressure": 1, "deadlock": 0.95, "loop": 0.95, "imbalance": 0.95,
          "mixed": 0.95, "clean": 1, "slow-host": 1}
KEYS = {"precision", "recall", "tp", "fp", "fn", "telemetry_bytes_median", "bandwidth_bytes_median", "polls_median", "wall_s"}


def evaluate(directory, *args, expect=0):
    return command(ROCELAB, "eval", *args, "--out", directory, expect=expect, timeout=1500)


def rows(directory):
    with open(directory / "runs.csv", newline="") as file:
        return list(csv.DictReader(file))


def wrong(directory):
    return [(r["family"], r["case"], r["policy"], r["why"]) for r in rows(directory) if r["outcome"] != "tp"]


def shape(entry, family, cases, policies):
    check(set(entry) - {"families"} == {"family", "shape", "cases", "seed", "scale", "policies"}, f"{family}: the object's keys", entry)
    check((entry["family"], entry["shape"], entry["cases"], entry["seed"], entry["scale"]) ==
          (family, "paper", cases, 1, float(SCALE)),
          f"{family}: the object says what was asked for", entry)
    check(set(entry["policies"]) == policies, f"{family}: every policy is there", entry["policies"])
    for policy, result in entry["policies"].items():
        check(set(result) == KEYS, f"{family}, {policy}: its keys", result)
        check(result["tp"] + result["fp"] + result["fn"] == cases, f"{family}, {policy}: every case counts once", result)


def every_family():
    """A slice of all families holds its scores."""
    directory = scratch() / "all"
    done = evaluate(directory, "all", "--cases", CASES, "--scale", SCALE, "--policy", "vedrfolnir", "--json", expect=None)
    check(done.returncode == 0, "all families: few cases are wrong by construction", reported(done))
    whole = json.loads(done.stdout)
    shape(whole, "all", CASES * len(FLOORS), {"vedrfolnir"})
    check([f["family"] for f in whole["families"]] == list(FLOORS), "all families are there", whole["families"])
    for entry in whole["families"]:
        family = entry["family"]
        shape(entry, family, CASES, {"vedrfolnir"})
        result = entry["policies"]["vedrfolnir"]
        check(min(result["precision"], result["recall"]) >= FLOORS[family], f"{family}: precision and recall",
              (result, wrong(directory)))
    check(len(rows(directory)) == CASES * len(FLOORS), "a row a run", directory)
    case = directory / "pfc-storm" / "000"
    run = rocelab(case / "case.cfg")
    reported_then = json.loads((case / "vedrfolnir" / "verdict.json").read_text())
    check(run.verdict["findings"] == reported_then["findings"], "a case replays alone, to the same findings", case)
    score = json.loads((case / "vedrfolnir" / "score.json").read_text())
    check(score["truth"]["faults"][0]["target"] == score["anomalies"][0]["root"], "the truth stands beside the verdict", score)


def policies_share_cases():
    """Every policy gets the same cases; a seed gives the same scores again."""
    first, again = scratch() / "first", scratch() / "again"
    args = ("pfc-storm", "--cases", 2, "--scale", SCALE, "--policy", "vedrfolnir,hawkeye-maxr", "--json")
    entry = json.loads(evaluate(first, *args).stdout)
    shape(entry, "pfc-storm", 2, {"vedrfolnir", "hawkeye-maxr"})
    evaluate(again, *args, "--jobs", 1)
    same = [r for r in rows(first)]
    for a, b in zip(same, rows(again)):
        check({k: v for k, v in a.items() if not k.endswith("_s")} == {k: v for k, v in b.items() if not k.endswith("_s")},
              f"case {a['case']}, {a['policy']}: the same again, on one job", (a, b))
    check((first / "pfc-storm/000/case.cfg").read_text() == (again / "pfc-storm/000/case.cfg").read_text(), "the same case", first)


def other_shapes():
    """The paper's families have their scores on another graph and at another rate; a store holds one shape."""
    for name in ("leaf-spine", "25g"):
        directory = scratch() / name
        args = ("pfc-storm", "backpressure", "--cases", 1, "--scale", "0.05", "--policy", "vedrfolnir", "--json")
        whole = json.loads(evaluate(directory, *args, "--shape", name).stdout)
        check([f["shape"] for f in whole["families"]] == [name, name], f"{name}: the object names it", whole)
        check(not wrong(directory), f"{name}: right verdicts", wrong(directory))
        check(f"shape {name}," in (directory / "pfc-storm/000/case.cfg").read_text().splitlines()[0],
              f"{name}: the case names it", directory)
        done = evaluate(directory, *args, expect=2)
        check(f"--shape {name}" in reported(done), f"{name}: another shape needs another directory", reported(done))


def in_order():
    """Nothing picked, frames of another size: cases run, and a store holds one way of making them."""
    directory = scratch() / "unpicked"
    args = ("clean", "backpressure", "--cases", 1, "--scale", SCALE, "--policy", "vedrfolnir", "--set", "host.mtu=4096")
    evaluate(directory, *args, "--pick", "none")
    check(len(rows(directory)) == 2 and not wrong(directory), "both are run and right", rows(directory))
    done = evaluate(directory, *args, expect=2)
    check("--pick none" in reported(done), "other picks need another directory", reported(done))


def fabrics(pid):
    """CPUs that each dpswitch below a process may use."""
    sets = {}
    for child in descendants(pid):
        try:
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "dpswitch":
                sets[child] = os.sched_getaffinity(child)
        except OSError:
            continue
    return sets


def interrupted(jobs_have_cpus):
    """SIGINT in the midst of it: what is done stays, the same command does the rest. On the way, where jobs run."""
    directory = scratch() / "interrupted"
    args = [str(ROCELAB), "eval", "contention", "--cases", "6", "--scale", SCALE, "--policy", "vedrfolnir", "--jobs", "2",
            "--out", str(directory)]
    together = apart = 0
    with subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        deadline = time.monotonic() + STALL_LIMIT_S
        scores = []
        while len(scores) < 2 and time.monotonic() < deadline and started.poll() is None:
            sets = list(fabrics(started.pid).values())
            if len(sets) == 2 and jobs_have_cpus:
                apart += all(len(s) == 1 for s in sets) and sets[0] != sets[1]
                together += 1
            scores = list(directory.glob("*/*/vedrfolnir/score.json"))
            time.sleep(0.01)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=STALL_LIMIT_S)
    check(together > 0 or not jobs_have_cpus, "two jobs ran side by side", together)
    # One that is looked at while it starts or ends may not have, or may have lost, its place.
    check(apart >= 0.95 * together, "two jobs have two CPUs", (apart, together))
    check(started.returncode == 130, "an interrupted evaluation says so", started.returncode)
    check(not descendants(os.getpid()), "nothing is left running", descendants(os.getpid()))
    before = {r["case"]: r["wall_s"] for r in rows(directory)}
    check(2 <= len(before) < 6, "what is done is kept, and not all is", before)
    evaluate(directory, *args[2:-2])
    after = {r["case"]: r["wall_s"] for r in rows(directory)}
    check(len(after) == 6 and before.items() <= after.items(), "the rest is done, what was there is not done again",
          (before, after))


def refused():
    directory = scratch() / "refused"
    for args, words in [(("nonsense",), "nonsense"), (("storm",), 'did you mean "pfc-storm"'),
                        (("slowhost",), 'did you mean "slow-host"'),
                        (("clean", "--shape", "halving_doubling"), 'did you mean "halving-doubling"'),
                        (("pfc-storm", "--scale", "0"), "0.01"), (("pfc-storm", "--cases", "0"), "--cases"),
                        (("pfc-storm", "--policy", "guess"), "guess"), ((), "which family"),
                        (("pfc-storm", "pfc-storm"), "twice"), (("pfc-storm", "--shape", "round"), "no shape \"round\""),
                        (("deadlock", "--shape", "k6"), "needs the paper's fabric"), (("all", "all"), "twice"), (("pfc-storm", "all"), "twice"),
                        (("clean", "--pick", "seeds"), "--pick seeds"),
                        (("pfc-storm", "--policy", "vedrfolnir,hawkeye-minr,vedrfolnir"), "twice"),
                        (("pfc-storm", "--policy", "hawkeye-minr", "--ablation", "fixed"), "--ablation")]:
        done = evaluate(directory, *args, expect=2)
        check(words in reported(done), f"eval {' '.join(args)} is refused, with the reason", reported(done))
    evaluate(directory, "clean", "--cases", 1, "--scale", SCALE, "--policy", "vedrfolnir")
    done = evaluate(directory, "clean", "--cases", 1, "--scale", SCALE, "--seed", 2, expect=2)
    check("seed 1" in reported(done), "another seed needs another directory", reported(done))


every_family()
policies_share_cases()
other_shapes()
in_order()
interrupted(cpus() >= 2)
refused()
