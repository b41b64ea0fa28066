#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab eval flowpulse at small size: what leaves counted adds up, large faults are found and nothing else, and links
named; the same again runs nothing; a run that is wanting is made again; bad input is refused."""
import json
import shutil
import sys

from harness import ROCELAB, SANITIZED, SOURCE, check, command, long_run, scratch, reported

sys.path.insert(0, str(SOURCE / "scripts/evaluation"))

from flowpulse_tables import sample  # noqa: E402 (the path comes first)

ARGS = ("--trials", 2, "--scale", "0.01")


def evaluate(directory, *args, expect=0):
    return command(ROCELAB, "eval", "flowpulse", *args, "--out", directory, expect=expect, timeout=600)


def rows_of(directory, name):
    return json.loads((directory / "flowpulse.json").read_text())[name]


def loads(directory):
    rows = rows_of(directory, "prediction")
    check([row["spine"] for row in rows] == list(range(16)), "a row a port", rows)
    predicted, seen = (sum(row[key] for row in rows) for key in ("predicted_bytes", "seen_bytes"))
    check(abs(seen / predicted - 1) < 1e-3, "all that is predicted arrives, and nothing else: no packet came twice", rows)
    check(all(abs(row["seen_bytes"] - row["predicted_bytes"]) < 2 * 1200 for row in rows),
          "adaptive spraying is even, but for a packet", rows)


def learned(directory):
    rows = rows_of(directory, "relearning")
    first, last = rows[0], rows[-1]
    check(first["faulty_seen_bytes"] < 0.98 * first["other_seen_bytes"], "a fault while loads are learned", rows)
    check(abs(last["faulty_predicted_bytes"] / last["other_predicted_bytes"] - 1) < 0.02, "is not learned for good", rows)


def found(directory):
    rows = rows_of(directory, "size")
    check(all(row["spraying"] == "adaptive" and row["packets_a_port"] > 0 for row in rows), "what rows are of", rows)
    large = [row for row in rows if row["packets_a_port"] >= 97]
    check(all(row["fpr_percent"] == 0 for row in large if row["test"] == "learned"), "no alarm without fault", large)
    check(all(row["trials"] >= 2 for row in rows), "so many trials as wanted", rows)


def once():
    directory = scratch() / "flowpulse"
    names = "prediction,relearning,size"
    first = evaluate(directory, "--only", names, *ARGS)
    loads(directory)
    learned(directory)
    found(directory)
    check(sample(json.loads((directory / "flowpulse.json").read_text())) in (SOURCE / "docs/flowpulse-tables.md").read_text(),
          "docs/flowpulse-tables.md has these rows: scripts/flowpulse-figures --sample writes them anew")
    runs = sorted(directory.glob("*/counts.bin"))
    times = [path.stat().st_mtime_ns for path in runs]
    check(not list(directory.glob("*/records.bin")) and len(runs) >= 10, "counts stay, recordings do not", runs)
    again = evaluate(directory, "--only", names, *ARGS)
    check(again.stdout == first.stdout, "the same again says the same", reported(again))
    check([path.stat().st_mtime_ns for path in runs] == times, "and runs nothing", runs)
    shutil.rmtree(runs[0].parent)
    again = evaluate(directory, "--only", names, *ARGS, "--json")
    check(runs[0].exists() and [path.stat().st_mtime_ns for path in runs[1:]] == times[1:], "what is wanting alone is run",
          runs)
    check(json.loads(again.stdout) == json.loads((directory / "flowpulse.json").read_text()), "JSON on demand", reported(again))


def named():
    directory = scratch() / "places"
    evaluate(directory, "--only", "places,known", "--trials", 4, "--scale", "0.1")
    rows = [row for row in rows_of(directory, "places") if row["drop_percent"] == 5]
    check([(row["senders_a_leaf"], row["detector"]) for row in rows] ==
          [(senders, detector) for senders in (1, 2) for detector in ("threshold", "noise", "pooled")],
          "one and two senders a leaf, by every detector", rows)
    check(all(row["missed_percent"] == row["wrong_percent"] == 0 for row in rows), "5 % are found, and nothing else is named", rows)
    check(all(row["right_percent"] == 100 for row in rows[:3]), "one sender: the pair", rows)
    check(all(row["right_percent"] >= 75 for row in rows[3:]), "two: the link", rows)
    check(all(row["false_percent"] == 0 and row["clean_trials"] > 10 for row in rows), "and nothing where no fault is", rows)
    rows = [row for row in rows_of(directory, "known") if row["drop_percent"] == 2.5 and row["test"] == "learned"]
    check([(row["known_links"], row["known_drop_percent"]) for row in rows] == [(1, 100), (2, 100), (4, 100), (8, 100), (4, 5)],
          "links down before, and such that lose 5 %", rows)
    check(all(row["fpr_percent"] == row["fnr_percent"] == 0 for row in rows), "are no faults, and hide none", rows)


def others():
    directory = scratch() / "others"
    evaluate(directory, "--only", "fib,priority", "--trials", 20, "--scale", "0.2")
    rows = rows_of(directory, "fib")
    check([(row["senders_a_leaf"], row["detector"]) for row in rows] ==
          [(senders, detector) for senders in (1, 2) for detector in ("threshold", "noise", "pooled")],
          "entries of a FIB, by every detector", rows)
    check(all(row["missed_percent"] == row["wrong_percent"] == row["false_percent"] == 0 for row in rows),
          "what a spine swallows of one sender is missing, and nothing else", rows)
    check(all(row["right_percent"] == 100 for row in rows), "and so it is named", rows)
    rows = {(row["class"], row["others_load_percent"]): row["off_rms_percent"] for row in rows_of(directory, "priority")}
    check(rows["shared", 30] > 3 * rows["alone", 0], "other data in its class changes how a collective is sprayed", rows)
    check(all(rows["its own", load] < 1.5 * rows["alone", 0] for load in (10, 30, 50)), "but not in a class before it", rows)


def reported_bytes():
    directory = scratch() / "bytes"
    evaluate(directory, "--only", "bytes", "--scale", "0.05")
    rows = {(row["export"], row["drop_percent"]): row["bytes"] for row in rows_of(directory, "bytes")}
    check(0 < rows["alarms", 0] < rows["alarms", 2] < rows["counts", 0] / 5, "alarms are few beside counts", rows)


def points():
    """A pattern takes the rows that it names; the rest is not run."""
    directory = scratch() / "points"
    evaluate(directory, "--only", "bytes,prediction", "--points", "32x16-adaptive-10", *ARGS)
    check({row["packets_a_port"] for row in rows_of(directory, "bytes")} == {10} and rows_of(directory, "prediction") == [],
          "rows of one point alone", rows_of(directory, "bytes"))
    check([path for path in directory.iterdir() if path.is_dir() and "-32x16-adaptive-10-" not in path.name] == [],
          "and nothing else is run", list(directory.iterdir()))
    done = evaluate(directory, "--only", "roc", "--points", "4x4-*", *ARGS, expect=2)
    check("32x16-adaptive-" in reported(done) and "8x4-random-" in reported(done), "no such point: it says which there are", reported(done))


def refused():
    directory = scratch() / "refused"
    for args, words in [(("--only", "nonsense"), "no experiment"), (("--only", "roc,roc"), "twice"),
                        (("--trials", "0"), "--trials"), (("--scale", "0"), "--scale"), (("roc",), "takes no")]:
        done = evaluate(directory, *args, expect=2)
        check(words in reported(done), f"{' '.join(args)} is refused, with the reason", reported(done))


def each_runs():
    """With sanitizers: the same experiments, with too few packets to judge what they find."""
    directory = scratch() / "each"
    names = ("places", "known", "fib", "priority")
    evaluate(directory, "--only", ",".join(names), *ARGS)
    check(all(rows_of(directory, name) for name in names), "all have rows")


if not SANITIZED:
    once()
    named()
    others()
    reported_bytes()
elif long_run("experiments of FlowPulse beyond one point"):
    once()
    each_runs()
    reported_bytes()
points()
refused()
