#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--shard and --merge of all that runs cases: the merge's tables are those of one program, byte for byte but for processor
times; it makes no run, and refuses shards that lack runs or are of something else. The commands of docs/scale.md do it."""
import json
import os
import re
import shlex
import shutil
import stat

from cases import fault, small
from harness import ROCELAB, SANITIZED, SCENARIOS, SOURCE, check, command, long_run, reported, scenario_file, scratch

FABRIC = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "500ns"; };
flows = ( { src = "h0"; dst = "h1"; sport = 20001; bytes = "1MB"; } );
"""
HOME = scratch()
MEASURED = re.compile(r'"(wall|cpu)_s": [0-9.e-]+')


def blamed():
    return small(fault("loss", port="A:3", rate=0.001), fault("delay", port="B:3", extra="20us"))


# Name, arguments, files beside the table that are the same, and what of text is measured anew by any run.
SERIES = [
    ("families", ("eval", "pfc-storm", "contention", "--cases", 2, "--scale", "0.02", "--policy", "vedrfolnir", "--json"), (), MEASURED),
    ("odd", ("eval", "odd", "--groups", "storms,mice", "--cases", 1, "--scale", "0.05", "--seeds", "4-5"), ("odd.json",), None),
    ("blame", ("blame", blamed(), "--json"), ("blame.json",), None),
    ("ai-fabric", ("bench", "ai-fabric", scenario_file(FABRIC), "incast"), ("ai-fabric.json",), None),
]
LONG = [
    ("pingmesh", ("eval", "pingmesh", "--seeds", 8, "--cases", 2), ("pingmesh.json",), None),
    ("counterfactual", ("eval", "counterfactual", "--cases", 2, "--seeds", 1, "--draws", 1), (), None),
    ("flowpulse", ("eval", "flowpulse", "--only", "prediction,size", "--trials", 2, "--scale", "0.01"), ("flowpulse.json",), None),
    ("flowtracer", ("eval", "flowtracer", SCENARIOS / "flowtracer.cfg", "--seeds", 10, "--runs", 2), ("flowtracer.json",), None),
    ("hardware", ("eval", "hardware", "victim", "--seeds", 1, "--duration", 1), ("hardware.json",), None),
    ("budgets", ("bench", "telemetry", "pfc-storm", "counterfactual", "--policy", "vedrfolnir", "--budget", "1MB,10MB", "--seeds", 2, "--scale",
                 "0.05", "--no-times"), ("tradeoff.json", "runs.csv", "points.csv", "accuracy.svg"), None),
]


def text_of(text, top, name, measured):
    text = text.replace(str(top / name), "DIR")
    return measured.sub("", text) if measured else text


def runs(folder):
    return {path.relative_to(folder) for path in folder.glob("**/run.json")}


def shared(name, args, files, measured):
    top = HOME / name
    whole = command(ROCELAB, *args, "--out", top / "whole", timeout=900)
    for i in (1, 2):
        done = command(ROCELAB, *args, "--shard", f"{i}/2", "--out", top / f"part-{i}", timeout=900)
        check(f"share {i} of 2 is done" in reported(done) and done.stdout == "", f"{name}: a shard has no table", (done.stdout, reported(done)))
    check(not runs(top / "part-1") & runs(top / "part-2"), f"{name}: no run is made twice", runs(top / "part-1"))
    few = command(ROCELAB, *args, "--merge", top / "part-1", "--out", top / "few", expect=1)
    check("runs are missing" in reported(few), f"{name}: a shard that is missing is reported", reported(few))
    merged = command(ROCELAB, *args, "--merge", f"{top}/part-*", "--out", top / "merged")
    check(text_of(merged.stdout, top, "merged", measured) == text_of(whole.stdout, top, "whole", measured), f"{name}: the same table",
          merged.stdout)
    for file in files:
        check(text_of((top / "merged" / file).read_text(), top, "merged", measured) ==
              text_of((top / "whole" / file).read_text(), top, "whole", measured), f"{name}: the same {file}")
    check(runs(top / "merged") == runs(top / "whole"), f"{name}: it has the files of all runs", runs(top / "merged"))
    again = command(ROCELAB, *args, "--merge", top / "part-2", "--merge", top / "part-1", "--out", top / "merged")
    check(again.stdout == merged.stdout, f"{name}: merged again, in another order, it is the same")


def refused():
    """Of other options, of a run that two shards made, no folder: nothing is mixed."""
    top, args = HOME / "odd", SERIES[1][1]
    other = command(ROCELAB, *args[:-1], "4,6", "--shard", "2/2", "--out", top / "other", timeout=900)
    few = command(ROCELAB, *args, "--merge", top / "part-1", "--merge", top / "other", "--out", top / "mixed", expect=1)
    check("runs are missing" in reported(few), "shards of other seeds do not fill the gap", (reported(other), reported(few)))
    scale = [*args]
    scale[scale.index("0.05")] = "0.06"
    command(ROCELAB, *scale, "--shard", "2/2", "--out", top / "scaled", timeout=900)
    mixed = reported(command(ROCELAB, *args, "--merge", top / "part-1", "--merge", top / "scaled", "--out", top / "two", expect=2))
    check("holds results of" in mixed or "differ" in mixed, "shards of another scale are refused", mixed)
    shutil.copytree(top / "part-1", top / "copy")
    victim = next(iter((top / "copy").glob("**/verdict.json")))
    victim.write_text(victim.read_text() + " ")
    twice = reported(command(ROCELAB, *args, "--merge", top / "part-1", "--merge", top / "copy", "--out", top / "twice", expect=2))
    check("two shards made the same run" in twice, "a run of two shards that differs is refused", twice)
    for words, reason in ((("--merge", top / "none"), "none"), (("--shard", "0/2"), "1 to 2"), (("--shard", "2"), "as 2/4"),
                          (("--shard", "1/2", "--merge", top / "part-1"), "--shard or --merge")):
        done = reported(command(ROCELAB, *args, *words, "--out", top / "refused", expect=2))
        check(reason in done, f"{words[0]} {words[1]} is refused, with the reason", done)


def documented():
    """The script of docs/scale.md as Slurm runs it, but for Slurm: its body with the variables of each task, as local processes; and
    the line for GNU parallel, by GNU parallel where it is installed, else by a shell."""
    page = (SOURCE / "docs/scale.md").read_text(encoding="utf-8")
    script = re.search(r"^    (#!/bin/sh\n(?:    .*\n|\n)+)", page, re.M)[1].replace("\n    ", "\n")
    args = shlex.join(str(word) for word in SERIES[0][1])
    top, env = HOME / "documented", {**os.environ, "PATH": f"{ROCELAB.parent}:{os.environ['PATH']}"}
    top.mkdir()
    of = re.search(r'^series="(.*)"$', script, re.M)[1]
    job = top / "job.sh"
    job.write_text(script.replace(of, args).replace("--jobs 2", "--jobs 1"))
    job.chmod(job.stat().st_mode | stat.S_IXUSR)
    tasks = re.search(r"^#SBATCH --array=1-(\d+)$", script, re.M)[1]
    for task in range(1, int(tasks) + 1):
        command(job, cwd=top, env={**env, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": tasks}, timeout=900)
    merge = re.search(r"--wrap '(rocelab .*--merge.*)'$", page, re.M)[1].replace(of, args)
    by_slurm = command("/bin/sh", "-c", merge, cwd=top, env=env)
    whole = command(ROCELAB, *SERIES[0][1], "--out", top / "one", timeout=900)
    check(MEASURED.sub("", by_slurm.stdout) == MEASURED.sub("", whole.stdout), "the array's merge is one program's", by_slurm.stdout)
    line = re.search(r"^    (parallel .*) ::: 1 2 3 4$", page, re.M)[1].replace(of, args)
    if shutil.which("parallel"):
        command("/bin/sh", "-c", line + " ::: 1 2 3 4", cwd=top, env=env, timeout=900)
    else:
        for i in range(1, 5):
            command("/bin/sh", "-c", re.sub(r"^parallel (-\S+ \S+ )*", "", line).replace("{}", str(i)), cwd=top, env=env, timeout=900)
    merge = re.search(r"^    (rocelab eval .* --merge 'part-\*' --out whole)$", page, re.M)[1].replace(of, args)
    check(MEASURED.sub("", command("/bin/sh", "-c", merge, cwd=top, env=env).stdout) == MEASURED.sub("", whole.stdout),
          "so is that of GNU parallel's parts")


for one in SERIES[1:2] if SANITIZED else SERIES:
    shared(*one)
refused()
if not SANITIZED:
    documented()
    check(json.loads((HOME / "families/merged/runs.json").read_text()), "rows of all runs")
if long_run("shards of the evaluations that take longer"):
    for one in LONG:
        shared(*one)
