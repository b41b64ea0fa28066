#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab bench scale: a row a run and what the run has; kept runs; refused sizes; a model that finds the costs of made-up runs, and
its forecast; shards and their merge."""
import csv
import json
import math
import shutil

from harness import ROCELAB, check, command, reported, scratch

HOME = scratch()
ARGS = ("--hosts", "16,54", "--pattern", "ring,permutation", "--rate", "100", "--lcores", "1,2", "--processes", "1", "--mhops", "1")
COSTS = {"hop": 20.0, "spread": 3.0, "node": 150.0, "build": 40_000.0, "flow": 9_000.0}


def scale(out, *args, expect=0):
    return command(ROCELAB, "bench", "scale", *args, "--out", out, expect=expect, timeout=900)


def results(out):
    return json.loads((out / "scale.json").read_text())


def folder(out, row, part=""):
    return out / row["pattern"] / f"{row['hosts']}-{row['gbps']}G-{row['cable_ns']}ns-{row['lcores']}l-{row['processes']}p{part}"


def measured():
    out = HOME / "one"
    text = scale(out, *ARGS).stdout
    rows = results(out)["rows"]
    table = [row for row in rows if row["part"] == "alone"]
    check([(r["pattern"], r["hosts"], r["lcores"]) for r in table] ==
          [(p, h, lcores) for h in (16, 54) for p in ("ring", "permutation") for lcores in (1, 2)], "a row a combination", table)
    check(len(rows) == 8 + 4 * 2 + 4 * 5 and all(row["state"] == "done" for row in rows), "two side by side, and slower cables", rows)
    for row in table:
        run = json.loads((folder(out, row) / "run.json").read_text())
        check((row["hops"], row["packets"], row["windows"], row["cpu_s"]) ==
              (run["packet_hops"], run["made"]["packets"], run["windows"], run["cpu_s"]), "a row is what its run has", row)
        pair = [json.loads((folder(out, {**row, "lcores": 1}, part) / "run.json").read_text()) for part in ("-first", "-second")]
        speed = sum(run["packet_hops"] / run["wall_s"] for run in pair)
        check(math.isclose(row["of_two"], row["hops"] / row["wall_s"] / speed, rel_tol=1e-6), "its part of two side by side", row)
    for one, two in zip(table[::2], table[1::2]):
        check(one["hops"] == two["hops"] and one["windows"] == two["windows"], "lcores change nothing but time", (one, two))
    check(list(csv.reader((out / "scale.csv").open()))[0] == list(rows[0]) and
          len(list(csv.DictReader((out / "scale.csv").open()))) == len(rows), "CSV has the same rows")
    check("FORECAST, not measured" in text and "Model of the processor time" in text, "a forecast is marked", text)
    made = {path: path.stat().st_mtime_ns for path in out.glob("*/*/run.json")}
    check(scale(out, *ARGS).stdout == text and all(path.stat().st_mtime_ns == at for path, at in made.items()), "kept runs are not made again")
    interrupted = next(iter(made))
    run = json.loads(interrupted.read_text())
    interrupted.write_text(json.dumps({**run, "end_reason": "interrupt"}))
    scale(out, *ARGS)
    check(json.loads(interrupted.read_text())["packet_hops"] == run["packet_hops"] and
          interrupted.stat().st_mtime_ns != made[interrupted], "one that was interrupted is")
    return out


def modelled(base):
    """Made-up times that a model explains: the fit finds its costs, and forecasts are what these costs are."""
    out = HOME / "made-up"
    shutil.copytree(base, out)
    for row in results(base)["rows"]:
        flows = row["hosts"]
        terms = (row["hops"], row["hops"] * math.log2(row["nodes"]), row["windows"] * row["nodes"], row["nodes"], flows)
        cpu_s = sum(ns * count for ns, count in zip(COSTS.values(), terms)) / 1e9
        for part in ("", "-first", "-second"):
            path = folder(out, row, part) / "run.json"
            if path.exists():
                path.write_text(json.dumps({**json.loads(path.read_text()), "cpu_s": cpu_s, "wall_s": cpu_s}))
    scale(out, *ARGS, "--sync", 7000, "--message", 40)
    model = results(out)["model"]
    check(model["fitted"]["most"] < 1e-6 and model["checked"]["most"] < 1e-6, "the model explains what is made of it", model)
    check(model["fitted"]["runs"] == 4 + 4 * 3 and model["checked"]["runs"] == 4 * 2, "slower cables are not part of the fit", model)
    check(all(math.isclose(model[f"{name}_ns"], ns, rel_tol=1e-3) for name, ns in COSTS.items() if name in ("hop", "spread", "node")),
          "it finds the costs", model)
    one, eight = ([f for f in model["forecast"] if (f["hosts"], f["machines"]) == (16384, m)][0] for m in (1, 8))
    check(one["sync_s"] == one["message_s"] == 0, "one machine has nobody to wait for", one)
    base_row = [r for r in results(out)["rows"] if (r["pattern"], r["hosts"], r["lcores"], r["part"]) == ("permutation", 54, 1, "alone")][0]
    case = (folder(out, base_row) / "case.cfg").read_text()
    size = 1e6 / int(case.split('bytes = "')[1].split('"')[0])
    check(math.isclose(eight["sync_s"], base_row["windows"] * size * 7000 / 1e9, rel_tol=1e-6), "a window's end costs what was given", eight)
    check(eight["work_s"] < one["work_s"] / 8 * 1.0001, "eight machines have an eighth of the work each", (one, eight))


def sharded(base):
    top = HOME / "shards"
    for i in (1, 2):
        scale(top / f"part-{i}", *ARGS, "--shard", f"{i}/2")
    few = scale(top / "few", *ARGS, "--merge", top / "part-1", expect=1)
    check("runs are missing" in reported(few), "a merge that lacks runs", reported(few))
    scale(top / "merged", *ARGS, "--merge", f"{top}/part-*")
    counts = [[(r["pattern"], r["hosts"], r["lcores"], r["part"], r["cable_ns"], r["state"], r["hops"], r["windows"]) for r in
               results(out)["rows"]] for out in (base, top / "merged")]
    check(counts[0] == counts[1], "a merge has the rows of one program", counts)


def refused():
    out = HOME / "refused"
    args = ("--hosts", "1000000", "--pattern", "ring", "--rate", "100", "--lcores", "1", "--mhops", "1")
    text = scale(out, *args).stdout
    row = results(out)["rows"][0]
    check(row["state"] == "refused" and row["why"] and "case.cfg" not in row["why"] and row["why"] in text, "a size beyond limits, with the reason", row)
    states = {r["processes"]: r["state"] for r in results(out)["rows"]}
    there = "--processes" in command(ROCELAB, "run", "--help").stdout
    check((states[2] == "not there") != there and ("not there" in text) != there, "processes, where the build has them", states)
    for words, reason in ((("--pattern", "star"), "ring, alltoall"), (("--hosts", "1"), "--hosts"), (("--rate", "0"), "--rate"), (("x",), "takes no")):
        done = reported(scale(out, *words, expect=2))
        check(reason in done, f"{' '.join(words)} is refused, with the reason", done)


whole = measured()
modelled(whole)
sharded(whole)
refused()
