#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Evaluations that something breaks: programs that die are named and count for nothing, and the same command makes up for
them."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from harness import STALL_LIMIT_S, ROCELAB, check, command, descendants, scratch, reported

SCALE = "0.02"


def evaluate(directory, *args, expect=0):
    return command(ROCELAB, "eval", *args, "--scale", SCALE, "--out", directory, expect=expect, timeout=900)


def rows(directory):
    with open(directory / "runs.csv", newline="") as file:
        return list(csv.DictReader(file))


def program_of(pid, name, folder):
    """The program of this name that writes into a folder, below a process; None: there is none."""
    for child in descendants(pid):
        try:
            words = pathlib.Path(f"/proc/{child}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if pathlib.Path(words[0]).name == name and str(folder) in words:
            return child
    return None


def killed(directory, victims, *args):
    """Runs an evaluation and ends programs of it. @param victims  [(program, its folder, signal)], in their order"""
    words = [str(word) for word in (ROCELAB, "eval", *args, "--scale", SCALE, "--jobs", 1, "--out", directory)]
    victims = list(victims)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        deadline = time.monotonic() + STALL_LIMIT_S
        while victims and started.poll() is None and time.monotonic() < deadline:
            name, folder, number = victims[0]
            pid = program_of(started.pid, name, directory / folder)
            if pid is not None:
                os.kill(pid, number)
                victims.pop(0)
            time.sleep(0.002)
        out, err = started.communicate(timeout=STALL_LIMIT_S)
    check(not victims, "the programs were there to be killed", (victims, err))
    return subprocess.CompletedProcess(words, started.returncode, out, err)


def broken_runs_count_for_nothing():
    directory, whole = scratch() / "broken", scratch() / "whole"
    args = ("contention", "--cases", 2, "--policy", "vedrfolnir,full-polling")
    unwritable = directory / "contention/000/full-polling/verdict.json"
    unwritable.mkdir(parents=True)
    done = killed(directory, [("dpswitch", "contention/000/vedrfolnir", signal.SIGKILL),
                              ("dpswitch", "contention/001/truth", signal.SIGTERM)], *args)
    check(done.returncode == 1, "runs that broke fail the evaluation", reported(done))
    for folder, program in (("000/vedrfolnir", "fabric"), ("000/full-polling", "analyzer"), ("001/truth", "fabric")):
        check(f"contention/{folder} failed: the {program} " in done.stderr, f"{folder} is named", done.stderr)
    check("false" not in done.stdout and rows(directory) == [], "no verdict is no result", (done.stdout, rows(directory)))
    check("0 of 2 cases" in done.stdout, "a truth that was interrupted excludes nothing", done.stdout)
    unwritable.rmdir()
    evaluate(directory, *args)
    evaluate(whole, *args)
    kept = [[{key: value for key, value in row.items() if not key.endswith("_s")} for row in rows(of)]
            for of in (directory, whole)]
    check(len(kept[0]) == 4 and kept[0] == kept[1], "the same command makes up for them", kept)


def truth_breaks_when_made_again():
    """Full polling comes later: a run for the truth of a case that the store has is killed, or interrupted, half way."""
    args = ("contention", "--cases", 1, "--policy")
    whole = scratch() / "at-once"
    evaluate(whole, *args, "vedrfolnir,full-polling")
    for number in (signal.SIGKILL, signal.SIGTERM):
        directory = scratch() / f"again-{int(number)}"
        evaluate(directory, *args, "vedrfolnir")
        done = killed(directory, [("dpswitch", "contention/000/truth", number)], *args, "vedrfolnir,full-polling")
        check(done.returncode == 1 and len(rows(directory)) == 1, "a part of a run is no result", reported(done))
        evaluate(directory, *args, "vedrfolnir,full-polling")
        kept = [[{key: value for key, value in row.items() if not key.endswith("_s")} for row in rows(of)]
                for of in (directory, whole)]
        check(kept[0] == kept[1], "the same command makes up for it", kept)


def job_dies():
    """What a run's own process was to clean up: its programs end with it, and it keeps nothing outside of --out."""
    directory = scratch() / "job"
    args = ("clean", "--cases", 1, "--policy", "vedrfolnir")
    words = [str(word) for word in (ROCELAB, "eval", *args, "--scale", "0.2", "--jobs", 1, "--out", directory)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        fabric, deadline = None, time.monotonic() + STALL_LIMIT_S
        while fabric is None and started.poll() is None and time.monotonic() < deadline:
            fabric = program_of(started.pid, "dpswitch", directory / "clean/000/vedrfolnir")
            time.sleep(0.002)
        check(fabric is not None, "the fabric was there", directory)
        predicted_of = [word for word in pathlib.Path(f"/proc/{fabric}/cmdline").read_text().split("\0") if word.startswith("/")]
        os.kill(int(pathlib.Path(f"/proc/{fabric}/stat").read_text().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
        err = started.communicate(timeout=STALL_LIMIT_S)[1]
    check(predicted_of and all(pathlib.Path(word).is_relative_to(directory) for word in predicted_of),
          "a run has no files but in its folder", predicted_of)
    check(started.returncode == 1 and "clean/000/vedrfolnir failed: its process broke" in err, "a killed run is named", err)
    while pathlib.Path(f"/proc/{fabric}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    check(not pathlib.Path(f"/proc/{fabric}").exists(), "its fabric ends with it", fabric)


def files_are_made_again():
    """What is left of a case when its disk was full, or somebody tidied up."""
    directory = scratch() / "files"
    case = directory / "pfc-storm/000"
    args = ("pfc-storm", "--cases", 1, "--policy")
    evaluate(directory, *args, "vedrfolnir")
    for number, (name, left) in enumerate([("case.cfg", None), ("case.cfg", 60), ("case.json", 60), ("truth/truth.json", 300)]):
        whole = (case / name).read_text()
        (case / name).unlink()
        if left is not None:
            (case / name).write_text(whole[:left])
        evaluate(directory, *args, f"vedrfolnir,vedrfolnir+detections={number + 1}")
        check((case / name).read_text() == whole and len(rows(directory)) == number + 2, f"{name} is made again", case)


def rows_agree():
    """CSV, JSON and SQLite have the same rows, all that were ever run there, and the table and --json their sums."""
    directory = scratch() / "rows"
    both = json.loads(evaluate(directory, "clean", "pfc-storm", "--cases", 1, "--policy", "vedrfolnir", "--json").stdout)
    check((both["family"], both["cases"]) == ("clean,pfc-storm", 2), "several families are not all of them", both)
    shutil.rmtree(directory)
    quoted = "vedrfolnir+rtt_fixed=\"20us\"" # as a file has it
    evaluate(directory, "loop", "--cases", 2, "--policy", "full-polling")
    done = evaluate(directory, "pfc-storm", "--cases", 1, "--policy", f"vedrfolnir,{quoted}", "--json")
    columns = ("telemetry_bytes", "telemetry_bytes_collected", "bandwidth_bytes", "polls", "hops")
    with sqlite3.connect(directory / "eval.sqlite") as db:
        stored = db.execute("SELECT family, idx, policy, outcome, why, telemetry_bytes, collected_bytes, bandwidth_bytes, polls,"
                            " hops FROM runs ORDER BY family, policy, idx").fetchall()
    reported_csv = [(r["family"], int(r["case"]), r["policy"], r["outcome"], r["why"], *(int(r[c]) for c in columns))
                for r in rows(directory)]
    reported_json = [tuple(r[c] for c in ("family", "case", "policy", "outcome", "why", *columns))
                 for r in json.loads((directory / "runs.json").read_text())]
    check(len(stored) == 4 and stored == reported_csv == reported_json, "CSV, JSON and SQLite agree", (stored, reported_csv, reported_json))
    policies = json.loads(done.stdout)["policies"]
    for row in reported_json[2:]:
        check(policies[row[2]][row[3]] == 1 and policies[row[2]]["telemetry_bytes_median"] == row[5],
              f"{row[2]}: --json agrees with the rows", (policies, row))


def replays():
    """What is printed beside a failed case is a command that a shell takes, to the same findings."""
    root = scratch()
    directory = root / "it's a place"
    done = evaluate(directory, "contention", "--cases", 1, "--policy", "vedrfolnir+exporter.budget=1KB", "--set",
                    'switch.buffer="900KiB"')
    words = re.search(r"^  rocelab (run .*)   truth: (.*)$", done.stdout, re.MULTILINE)
    check(words and pathlib.Path(words[2]).exists(), "a failed case is named, with its truth", done.stdout)
    command("sh", "-c", f"exec '{ROCELAB}' {words[1]} --out '{root}/again'")
    verdicts = [json.loads((of / "verdict.json").read_text()) for of in (pathlib.Path(words[2]).parent, root / "again")]
    check(verdicts[0] == verdicts[1], "the printed command replays it", words[1])
    check("921600" in (root / "again/run.json").read_text(), "with all that was set", words[1])


def refused():
    directory = scratch() / "refused"
    done = evaluate(directory, "clean", "--set", "switch.buffer=" + " " * 5000 + '"900KiB"', expect=2)
    check("longer than" in reported(done), "what does not fit the store is refused", reported(done))
    with sqlite3.connect(directory / "eval.sqlite") as db:
        db.execute("CREATE TABLE runs (family TEXT, idx INTEGER, policy TEXT, outcome TEXT)")
        db.execute("INSERT INTO runs VALUES ('clean', 0, 'vedrfolnir', 'tp')")
    done = evaluate(directory, "clean", "--cases", 1, "--policy", "vedrfolnir", expect=2)
    check("not of this version" in reported(done), "a store of other columns is not read as one of zeros", reported(done))


broken_runs_count_for_nothing()
replays()
refused()
rows_agree()
files_are_made_again()
truth_breaks_when_made_again()
job_dies()
