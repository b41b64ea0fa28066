#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab sweep: a row a run, resumed where it was interrupted; shards merge to the same bytes; sizes in nccl-tests' form."""
import csv
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import time
import xml.etree.ElementTree as xml

from cases import ring, small
from harness import INTERRUPTED, ROCELAB, SOURCE, STALL_LIMIT_S, check, command, rocelab, scratch, sets

VARY = ("--vary", "switch.pfc.alpha=0.125,2", "--vary", "collectives.[0].step_bytes=20KB,40KB", "--seeds", "1-2")


def tiny():
    return small(collective=ring(20_000), extra='flows = ( { src = "a1"; dst = "b2"; sport = 10007; bytes = "50KB"; } );\n')


def sweep(scenario, out, *args, expect=0):
    return command(ROCELAB, "sweep", scenario, *args, "--out", out, expect=expect)


def rows(out, sql):
    with sqlite3.connect(out / "sweep.sqlite") as connection:
        return connection.execute(sql).fetchall()


def table(out):
    with open(out / "sweep.csv", newline="") as file:
        return list(csv.DictReader(file))


def whole():
    """Every combination is there, and its row is what a run of it has."""
    scenario, out = tiny(), scratch()
    done = sweep(scenario, out, *VARY)
    lines = table(out)
    there = [(r["switch.pfc.alpha"], r["collectives.[0].step_bytes"], r["seed"]) for r in lines]
    check(there == [(a, b, s) for a in ("0.125", "2") for b in ("20KB", "40KB") for s in "12"], "every combination, in order", there)
    check([r["run"] for r in lines] == [str(i) for i in range(8)] and [r["point"] for r in lines] == [str(i // 2) for i in range(8)],
          "numbers of runs and points", lines)
    run = rocelab(scenario, "--seed", "2", *sets(switch__pfc__alpha=2), "--set", "collectives.[0].step_bytes=40KB")
    job, row = run.run["jobs"][0], lines[7]
    check(float(row["job_ms"]) == (job["end_ns"] - job["start_ns"]) / 1e6, "a row is what its run has", (row, job))
    check(int(row["findings"]) == len(run.verdict["findings"]) and row["end_reason"] == run.run["end_reason"], "its findings", row)
    check((out / "runs/00007/records.bin").read_bytes() == (run.dir / "records.bin").read_bytes(), "and its folder has its files")
    text = done.stdout.splitlines()
    check(text[0].split()[:5] == ["switch.pfc.alpha", "collectives.[0].step_bytes", "seeds", "job_ms", "min"] and len(text) == 5,
          "a row a point for people", done.stdout)
    points = json.loads(sweep(scenario, out, *VARY, "--json").stdout)
    mean = sum(float(r["job_ms"]) for r in lines[6:]) / 2
    check(len(points) == 4 and abs(points[3]["job_ms"] - mean) < 1e-9 and points[3]["seeds"] == 2, "means over the seeds", points[3])
    check(len(sweep(scenario, out, *VARY, "--csv").stdout.splitlines()) == 5, "points as CSV")
    check(sweep(scenario, out, *VARY[:-1], "2").stdout == done.stdout, "--seeds 2: the seeds 1 and 2")
    return out, done.stdout


def plot(out):
    tree = xml.parse(out / "sweep.svg")
    name = "{http://www.w3.org/2000/svg}"
    texts = [t.text for t in tree.iter(f"{name}text")]
    check(len(list(tree.iter(f"{name}polyline"))) == 2 and len(list(tree.iter(f"{name}circle"))) == 4, "the plot: lines and points")
    check({"0.125", "2", "switch.pfc.alpha", "job_ms, ms", "collectives.[0].step_bytes = 40KB"} <= set(texts), "the plot: its texts", texts)
    heights = [float(c.get("cy")) for c in tree.iter(f"{name}circle")]
    check(heights[0] > heights[2], "the plot: more bytes take longer, which is farther up", heights)


def same(one, other, what):
    for file in ("sweep.csv", "sweep.svg"):
        check((one / file).read_bytes() == (other / file).read_bytes(), f"{what}: the same {file}")
    for of in ("runs", "points", "collectives", "paths", "sweep"):
        check(rows(one, f"SELECT * FROM {of}") == rows(other, f"SELECT * FROM {of}"), f"{what}: the same table {of}")


def interrupted(base):
    """Ctrl-C after some runs: the same command makes the others, and those alone."""
    scenario, out = tiny(), scratch() / "again"
    words = [str(w) for w in (ROCELAB, "sweep", scenario, *VARY, "--jobs", 1, "--out", out)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        deadline = time.monotonic() + STALL_LIMIT_S
        while started.poll() is None and time.monotonic() < deadline and not (out / "runs/00002").exists():
            time.sleep(0.002)
        started.send_signal(signal.SIGINT)
        _, stderr = started.communicate(timeout=STALL_LIMIT_S)
    check(started.returncode == INTERRUPTED and "resumes it" in stderr, "interrupted", (started.returncode, stderr))
    kept = rows(out, "SELECT run FROM runs")
    check(0 < len(kept) < 8, "interrupted: some runs are stored", kept)
    stamps = {run: (out / f"runs/{run:05}/run.json").stat().st_mtime_ns for run, in kept}
    sweep(scenario, out, *VARY)
    check(all((out / f"runs/{run:05}/run.json").stat().st_mtime_ns == stamp for run, stamp in stamps.items()), "stored runs are not made again")
    same(base, out, "resumed")


def sharded(base, printed):
    """The commands of docs/sweep.md, as GNU parallel and Slurm would run them."""
    page = (SOURCE / "docs/sweep.md").read_text()
    top, scenario = scratch(), tiny()
    env = {**os.environ, "PATH": f"{ROCELAB.parent}:{os.environ['PATH']}"}
    line = re.search(r"^    parallel -j 4 (.*) ::: 1 2 3 4$", page, re.M)[1].replace("S.cfg", str(scenario))
    line = re.sub(r"--vary .* --seeds \S+", " ".join(shlex.quote(w) for w in VARY), line)
    parts = [subprocess.Popen(shlex.split(line.replace("{}", str(i))), cwd=top, env=env, stdout=subprocess.PIPE) for i in range(1, 5)]
    check([p.wait() for p in parts] == [0] * 4, "parallel: all shards end well")
    for part in parts:
        part.stdout.close()
    check([len(rows(top / f"part-{i}", "SELECT * FROM runs")) for i in range(1, 5)] == [2] * 4, "parallel: each makes its share")
    merge = re.findall(r"rocelab sweep --merge .*? --out whole", page)
    check(len(merge) == 2 and merge[0] == merge[1], "docs: one way to merge", merge)
    few = command(*shlex.split(merge[0].replace("part-2 ", "")), cwd=top, env=env, expect=2)
    check("6 of 8 runs" in few.stderr, "merge: a shard is missing", few.stderr)
    check(command(*shlex.split(merge[0]), cwd=top, env=env).stdout == printed, "merge: the same table")
    same(base, top / "whole", "merged")
    slurm = re.search(r"--wrap '(rocelab sweep S.cfg .*?)'$", page, re.M)[1].replace("S.cfg", str(scenario))
    slurm = re.sub(r"--vary .* --seeds \S+", " ".join(shlex.quote(w) for w in VARY), slurm).replace("part-", "job-")
    for i in range(1, 5):
        command("/bin/sh", "-c", slurm + " --discard", cwd=top, env={**env, "SLURM_ARRAY_TASK_ID": str(i), "SLURM_ARRAY_TASK_COUNT": "4"})
    check(not list((top / "job-1/runs").glob("*")), "--discard: no folders of runs", list((top / "job-1").iterdir()))
    command(*shlex.split(merge[0].replace("part-", "job-").replace("whole", "slurm")), cwd=top, env=env)
    same(base, top / "slurm", "merged from an array")
    other = scratch()
    sweep(scenario, other, *VARY[:2], "--seeds", "1-2")
    mixed = command(ROCELAB, "sweep", "--merge", top / "part-1", other, "--out", scratch(), expect=2)
    check("holds results of" in mixed.stderr, "merge: of different sweeps", mixed.stderr)


COLUMNS = "size count type redop root time algbw busbw #wrong time algbw busbw #wrong".split()


def sizes():
    out = scratch()
    done = sweep(tiny(), out, "-b", "8", "-e", "64K", "-f", "8")
    lines = done.stdout.splitlines()
    header = [line[1:].split() for line in lines if line.startswith("#") and "algbw" in line]
    check(header == [COLUMNS], "sizes: the columns of nccl-tests", header)
    body = [line.split() for line in lines if not line.startswith("#")]
    check([row[0] for row in body] == ["64", "512", "4096", "32768"] and all(len(row) == 13 for row in body), "sizes: a row each", body)
    check("sizes below 64 B are left out" in done.stderr and "at least one" in done.stderr, "sizes: less than an element a rank", done.stderr)
    check(all(row[2:5] == ["int32", "none", "-1"] and int(row[1]) * 4 * 4 == int(row[0]) and row[8] == "0" for row in body),
          "sizes: count, type, redop, root and #wrong", body)
    for bytes_, time_us, algbw, busbw in (tuple(float(row[i]) for i in (0, 5, 6, 7)) for row in body):
        check(abs(algbw - bytes_ / time_us / 1e3) < 0.0051 and abs(busbw - algbw * 3 / 4) < 0.0101, f"sizes: bandwidths of {bytes_:.0f} B",
              (time_us, algbw, busbw))
    mean = sum(row["bus_bw"] for row in (r["out_of_place"] for r in json.loads(
        sweep(tiny(), out, "-b", "8", "-e", "64K", "-f", "8", "--json").stdout)["results"])) / 4
    footer = [line for line in lines if "Avg bus bandwidth" in line]
    check(len(footer) == 1 and abs(float(footer[0].split(":")[1]) - mean) < 1e-5, "sizes: the footer", (footer, mean))
    steps = json.loads(sweep(tiny(), scratch(), "-b", "1K", "-e", "3K", "-i", "1K", "--json").stdout)
    check([r["size"] for r in steps["results"]] == [1024, 2048, 3072], "sizes: by steps", steps)
    check(set(steps) == {"version", "args", "env", "config", "results", "out_of_bounds", "average_bus_bandwidth", "errors"} and
          steps["version"] == 3 and steps["out_of_bounds"] == {"count": 0, "okay": "true"}, "sizes: the keys of nccl-tests' JSON", steps)
    check(set(steps["results"][0]) == {"size", "count", "type", "redop", "root", "out_of_place", "in_place", "actual_iterations",
                                       "experiment_name"}, "sizes: those of a result", steps["results"][0])
    check(set(steps["results"][0]["in_place"]) == {"time", "alg_bw", "bus_bw", "nwrong"}, "sizes: those of a place", steps["results"][0])


def refused():
    scenario, out = tiny(), scratch()
    for args, text in ((("--vary", "switch.pfc.alfa=1,2"), "alfa"), (("--vary", "switch.pfc.alpha=1,x"), "x"), (("--vary", "seed=1"), "give --seeds 1-1\n"), (("--vary", "seed="), "give --seeds 1-3\n"),
                       (("--vary", "a=1,1"), "given twice"), (("--vary", "a"), "give a key"), (("--shard", "3/2"), "3"),
                       (("--plot", "speed"), "no such measure"), (("-b", "8"), "-b and -e"), (("-f", "2"), "-b and -e"),
                       (("--set", "counters.enabled=false"), "stores of its runs")):
        done = sweep(scenario, out / "none", *args, expect=2)
        check(text in done.stderr, f"refused: {' '.join(args)}", done.stderr)
    sweep(scenario, out, "--seeds", "1")
    done = sweep(scenario, out, "--seeds", "2", expect=2)
    check("ask for the same, or give another --out" in done.stderr, "refused: another sweep's folder", done.stderr)


def failed():
    """A run that cannot be made is named, the others are there; the same command makes up for it."""
    scenario, out = tiny(), scratch()
    (out / "runs/00001/verdict.json").mkdir(parents=True)
    done = sweep(scenario, out, "--seeds", "1-3", expect=1)
    check("runs/00001 failed" in done.stderr and "log.txt" in done.stderr, "failed: it is named", done.stderr)
    check([r["run"] for r in table(out)] == ["0", "2"] and "2 of 3 runs" in done.stdout, "failed: the others are there", done.stdout)
    (out / "runs/00001/verdict.json").rmdir()
    sweep(scenario, out, "--seeds", "1-3")
    check(len(table(out)) == 3, "failed: made again")


def documented(out):
    page = (SOURCE / "docs/sweep.md").read_text().split("## Tables\n")[1]
    names = {name for line in page.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    there = {row[1] for of in ("runs", "points") for row in rows(out, f"PRAGMA table_info({of})")}
    check(names == {name for name in there if "." not in name}, "docs/sweep.md has the columns", (names ^ there))
    below = page.split("\n`collectives` has")[1]
    check({row[1] for row in rows(out, "PRAGMA table_info(collectives)")} <= set(re.findall(r"`(\w+)`", below)), "and those of collectives")
    measures = re.findall(r"^  (\w+) ", command(ROCELAB, "sweep", "--help").stdout.split("Measures:\n")[1].split("\nDIR/")[0], re.M)
    check(len(measures) > 10 and all(f"| `{name}`" in page or f", `{name}`" in page for name in measures), "docs/sweep.md has the measures", measures)


if __name__ == "__main__":
    base, printed = whole()
    plot(base)
    documented(base)
    interrupted(base)
    sharded(base, printed)
    sizes()
    failed()
    refused()
