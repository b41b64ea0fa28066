#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What each suspect really cost: reruns without it, from a scenario and from a run's folder; what is interrupted continues."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

from harness import STALL_LIMIT_S, ROCELAB, SCENARIOS, check, command, descendants, rocelab, scenario_file, scratch, reported

CASE = SCENARIOS / "case-study.cfg"
FABRIC = """topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
"""
RING = """collectives = ( { step_bytes = "2MB"; ranks = [ "h0", "h4", "h1", "h5" ]; } );
"""


def blame(target, *args, expect=0, out=None):
    out = out or scratch() / "blame"
    done = command(ROCELAB, "blame", target, "--out", out, *args, expect=expect)
    file = out / "blame.json"
    return done, json.loads(file.read_text()) if file.exists() else None


def suspects(result):
    return {row["name"]: row for row in result["suspects"]}


def refused(name, target, *args, words, **kwargs):
    done, _ = blame(target, *args, expect=2, **kwargs)
    check(all(word.lower() in reported(done) for word in words), name, reported(done))


def case_study():
    out = scratch() / "blame"
    done, result = blame(CASE, out=out)
    rows = suspects(result)
    check(set(rows) == {"15->18/10001>4791", "13->19/10001>4791"}, "case study: both flows are suspects", rows)
    both = [rows["15->18/10001>4791"], rows["13->19/10001>4791"]]
    alone = [rocelab(CASE, "--set", f"flows.[{i}].enabled=false").verdict["collectives"][0]["end_ns"] for i in range(2)]
    check([row["without_ns"] for row in both] == alone, "case study: times are those of runs without each", (both, alone))
    whole = rocelab(CASE)
    took = whole.verdict["collectives"][0]["end_ns"]
    check(result["took_ns"] == took, "case study: and of the run with both")
    check([row["regained_ns"] for row in both] == [took - end for end in alone], "case study: regained is the difference")
    cost = result["took_ns"] - result["without_any_ns"]
    check(abs(sum(row["shapley_ns"] for row in both) - cost) < 1, "case study: Shapley's shares sum to what both cost")
    check(both[1]["shapley_share"] > 0.8 and both[1]["claimed_share"] > 0.8 and all(row["has_effect"] for row in both),
          "case study: 13->19 cost most of it, and is said to", both)
    check("13->19/10001>4791" in done.stdout and "SHAPLEY" in done.stdout, "case study: a table says so", done.stdout)
    check(sorted(p.name for p in out.iterdir() if p.is_dir()) == ["run-0"], "case study: runs without are not kept")
    again, _ = blame(CASE, "--json", out=out)
    check(json.loads(again.stdout) == result, "case study: a second time it is known already")
    folder, from_folder = blame(whole.dir)
    check(suspects(from_folder) == rows, "case study: the same of a run's folder", reported(folder))
    (whole.dir / "run.json").write_text((whole.dir / "run.json").read_text().replace('"digest": "', '"digest": "0'))
    refused("case study: a run of another version is refused", whole.dir, words=[str(whole.dir), "another version"])
    (out / "blame.sqlite").unlink()
    with sqlite3.connect(out / "blame.sqlite") as db:
        db.execute("CREATE TABLE reruns (something TEXT)")
    refused("case study: so is a store of another version", CASE, out=out, words=["blame.sqlite", "version", "--out"])


def kinds():
    """Every kind, more of them than Shapley takes; one is without effect; a remedy is tried beside them."""
    text = FABRIC + RING.replace('ranks', 'name = "ring"; ranks') + """
jobs = ( { name = "late"; ranks = [ "h2", "h6" ]; start = "5s"; collectives = ( { bytes = "8MB"; } ); } );
flows = ( { src = "h2"; dst = "h4"; sport = 1; bytes = "9MB"; }, { src = "h3"; dst = "h5"; sport = 2; bytes = "4KB"; } );
generators = ( { kind = "incast"; src = [ "h2", "h3" ]; dst = [ "h7" ]; degree = 2; bytes = "200KB"; } );
faults = ( { kind = "loss"; port = "l0:4"; rate = 0.1; }, { kind = "slow-host"; host = "h1"; delay = "300us"; },
           { kind = "pfc-storm"; port = "l1:1"; start = "100us"; duration = "4ms"; } );
"""
    done, result = blame(scenario_file(text), "--with", "host.cc=none")
    rows = suspects(result)
    check([row["kind"] for row in result["suspects"]].count("fault") == 3 and len(rows) == 8, "kinds: all are there", rows)
    check("-" in done.stdout and result["suspects"][0]["shapley_ns"] is None, "kinds: no Shapley of so many", result)
    check(rows["slow-host@h1"]["regained_ns"] > 250_000, "kinds: the slow host cost what it is late", rows["slow-host@h1"])
    check(rows["pfc-storm@l1:1"]["has_effect"], "kinds: the storm cost something", rows["pfc-storm@l1:1"])
    for name in ("job@late", "h3->h5/2>4791", "loss@l0:4"):
        check(not rows[name]["has_effect"], f"kinds: {name} is without effect", rows[name])
    check(rows["job@late"]["regained_ns"] == 0, "kinds: a job that comes later costs nothing at all", rows["job@late"])
    _, few = blame(scenario_file(text), "--without", "slow-host@h1", "--without", "pfc-storm@l1:1")
    check(list(suspects(few)) == ["slow-host@h1", "pfc-storm@l1:1"] and few["runs"] == 4, "kinds: some can be named", few)
    check(suspects(few)["slow-host@h1"]["regained_ns"] == rows["slow-host@h1"]["regained_ns"], "kinds: and cost the same")
    _, other = blame(SCENARIOS / "two-jobs.cfg", "--of", "shuffle")
    check(list(suspects(other)) == ["job@train"] and other["job"] == "shuffle", "kinds: another job's time", other)


def remedies():
    """A remedy is tried beside all suspects, and is none of them: what is without any of them is the same."""
    text = FABRIC + RING + 'flows = ( { src = "h1"; dst = "h4"; sport = 1; bytes = "9MB"; } );'
    _, without = blame(scenario_file(text))
    done, result = blame(scenario_file(text), "--with", "switch.ecn.enabled=false", "--with", "topology.delay=\"20us\"")
    check(result["without_any_ns"] == without["without_any_ns"] and result["runs"] == without["runs"] + 2, "remedies: a run each", result)
    check(suspects(result)["h1->h4/1>4791"] == suspects(without)["h1->h4/1>4791"], "remedies: the suspects cost the same", result)
    tried = suspects(result)["topology.delay=\"20us\""]
    check(tried["kind"] == "remedy" and tried["shapley_ns"] is None and tried["regained_ns"] < 0, "remedies: they have no share", tried)
    _, alone = blame(scenario_file(FABRIC + RING), "--with", "switch.ecn.enabled=false")
    check(alone["runs"] == 2 and alone["without_any_ns"] == alone["took_ns"], "remedies: without suspects too", alone)


def whose():
    """Of a run's folder the job that its headline speaks of, not the first; --of all takes every job."""
    text = FABRIC + """
jobs = ( { name = "quiet"; ranks = [ "h2", "h3" ]; collectives = ( { op = "allgather"; bytes = "1MB"; } ); },
         { name = "hit"; ranks = [ "h0", "h4" ]; collectives = ( { op = "allgather"; bytes = "8MB"; } ); } );
flows = ( { src = "h1"; dst = "h4"; sport = 1; bytes = "9MB"; } );
"""
    run = rocelab(scenario_file(text))
    spoken = run.verdict["headline"]
    check(spoken["of"]["job"] == 1 and spoken["text"] in " ".join(run.report.split()), "whose: the headline is of the second job", spoken)
    done, result = blame(run.dir)
    check(result["job"] == "hit" and "Job hit took" in done.stdout, "whose: and blame speaks of the same", result)
    check(blame(run.dir, "--of", "quiet")[1]["job"] == "quiet", "whose: unless another one is asked for")
    done, _ = blame(run.dir, "--of", "all", "--json")
    check([one["job"] for one in json.loads(done.stdout)] == ["quiet", "hit"], "whose: all are every job", done.stdout)


def unfinished():
    """A job that is never done counts to the run's end, which is reported."""
    text = FABRIC + RING + """
faults = ( { kind = "blackhole"; switch = "l1"; dst = "h4"; }, { kind = "slow-host"; host = "h1"; delay = "10us"; } );
"""
    done, result = blame(scenario_file(text))
    rows = suspects(result)
    check(not result["complete"] and result["without_any_complete"], "unfinished: it was not done", result)
    check("when the run ended" in done.stdout, "unfinished: that is reported", done.stdout)
    check(rows["blackhole@l1"]["complete"] and not rows["slow-host@h1"]["complete"], "unfinished: what ends it is seen", rows)
    check(rows["blackhole@l1"]["has_effect"], "unfinished: and cost most", rows)
    cells = {line.split()[0]: line.split() for line in done.stdout.splitlines() if "@" in line}
    check(cells["blackhole@l1"][2].startswith(">") and cells["blackhole@l1"][-1] == "yes", "unfinished: at least", cells)
    check(cells["slow-host@h1"][2:4] == ["-", "-"] and cells["slow-host@h1"][-1] == "unknown", "unfinished: or unknown", cells)
    check(not rows["slow-host@h1"]["has_effect"] and not rows["slow-host@h1"]["has_none"], "unfinished: neither is said", rows)


def bad_input():
    plain = scenario_file(FABRIC + RING)
    refused("bad input: nothing is suspect", plain, words=["no suspects", "--with"])
    refused("bad input: a suspect that does not exist", CASE, "--without", "15->16", words=["15->16", "no suspect"])
    refused("bad input: one nearly right", CASE, "--without", "13->19/10001>4792", words=["did you mean", "13->19/10001>4791"])
    refused("bad input: named twice", CASE, "--without", "13->19", "--without", "13->19", words=["twice"])
    refused("bad input: a remedy that is none", CASE, "--with", "switch.pfc.alfa=1", words=["alfa", "alpha"])
    refused("bad input: a job that does not exist", CASE, "--of", "training", words=["--of", "training"])
    refused("bad input: no job", SCENARIOS / "incast-flows.cfg", words=["no job"])
    refused("bad input: real time", SCENARIOS / "rxe-ring.cfg", words=["real time", "embedded"])
    slow = scenario_file(FABRIC + RING + 'faults = ( { kind = "slow-host"; host = "h1"; delay = "1us"; } );\n')
    refused("bad input: real time of embedded hosts", slow, "--set", "timing.clock=real", "--set", "topology.delay=20us",
            words=["real time", "--set timing.clock=virtual"])
    refused("bad input: no run's folder", scratch(), words=["no folder of a run", "effective.cfg"])


def interrupted():
    """Ctrl-C ends all runs; the same command continues."""
    out = scratch() / "blame"
    big = [ROCELAB, "blame", CASE, "--out", out, "--jobs", "1", "--set", "collectives.[0].step_bytes=200MB"]
    with subprocess.Popen(list(map(str, big)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as started:
        deadline = time.monotonic() + STALL_LIMIT_S
        while not descendants(started.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        reported_then = started.communicate(timeout=STALL_LIMIT_S)[1]
    check(started.returncode == 130 and "resumes it" in reported_then, "interrupted: it ends, and says how to go on",
          (started.returncode, reported_then))
    command(*big[:-1], "collectives.[0].step_bytes=20MB", expect=2)
    shutil.rmtree(out)
    blame(CASE, out=out)
    before = os.stat(out / "run-0" / "verdict.json").st_mtime_ns
    with sqlite3.connect(out / "blame.sqlite") as db:
        db.execute("DELETE FROM reruns WHERE without = 3")
    _, result = blame(CASE, out=out)
    check(result["runs"] == 4 and os.stat(out / "run-0" / "verdict.json").st_mtime_ns == before,
          "interrupted: what is done is not done again")


case_study()
kinds()
remedies()
whose()
unfinished()
bad_input()
interrupted()
