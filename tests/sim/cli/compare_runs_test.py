#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab compare and list: what differs between runs is named, nothing else; --fail-on is a gate."""
import json
import shutil
import sqlite3

from cases import fault, small
from harness import ROCELAB, SCENARIOS, SLOWER, check, command, rocelab, scratch, sets


def compare(*args, expect=0):
    done = command(ROCELAB, "compare", *args, "--json", expect=expect)
    return json.loads(done.stdout), done.stderr


def same():
    base, again = rocelab(small()), rocelab(small())
    (pair,), _ = compare(base.dir, again.dir, "--fail-on", "0%")
    check(pair["first"] == str(base.dir) and pair["other"] == str(again.dir), "the same: the two runs", pair)
    for section in ("configuration", "findings", "counters", "ports"):
        check(pair[section] == [], f"the same: {section}", pair[section])
    check(all(row["first"] == row["other"] for row in pair["times"]), "the same: times", pair["times"])
    check({row["what"] for row in pair["times"]} == {"run", "job allgather-0", "collective allgather-0, mean of 1"},
          "the same: what is timed", pair["times"])


def slower():
    """A storm: the job is slower, its finding is new, ports are paused."""
    base = rocelab(small())
    storm = rocelab(small(fault("pfc-storm", port="S:1", start="100us", duration="200us")), *sets(seed=2))
    pairs, stderr = compare(base.dir, storm.dir, base.dir, "--fail-on", "5%", expect=SLOWER)
    check(len(pairs) == 2, "slower: a comparison for each further run", len(pairs))
    there, itself = pairs
    keys = {row["path"]: (row["first"], row["other"]) for row in there["configuration"]}
    check(keys["seed"] == ("1", "2") and any(path.startswith("faults.") for path in keys), "slower: keys that differ", keys)
    times = {row["what"]: row for row in there["times"]}["job allgather-0"]
    job = storm.run["jobs"][0]
    check(times["other"] == round((job["end_ns"] - job["start_ns"]) / 1e6, 3) > 1.05 * times["first"], "slower: the job's time", times)
    new = {(row["type"], row["root"]) for row in there["findings"] if row["status"] == "new"}
    check(new == {(f["type"], f["root"]) for f in storm.verdict["findings"]}, "slower: new findings", new)
    check({row["counter"] for row in there["counters"]} >= {"PAUSE frames", "paused, ns"}, "slower: counters", there["counters"])
    check(there["ports"] and there["ports"][0]["other_paused_ns"] > 0, "slower: ports", there["ports"])
    check("job allgather-0 takes" in stderr and "% longer" in stderr, "slower: named", stderr)
    check(itself["findings"] == [] and itself["configuration"] == [], "slower: the first run beside itself", itself)
    (back,), _ = compare(storm.dir, base.dir, "--fail-on", "5%")
    check({row["status"] for row in back["findings"]} == {"gone"}, "faster: findings are gone", back["findings"])
    text = command(ROCELAB, "compare", base.dir, storm.dir).stdout
    check("Findings that are gone or new" in text and "Configuration" in text, "slower: as text", text)


def ports():
    """Ports with several classes: their pauses count once, and what did not move is not listed."""
    base, other = rocelab(SCENARIOS / "incast.cfg"), rocelab(SCENARIOS / "incast.cfg", *sets(switch__pfc__alpha=0.0625))
    (pair,), _ = compare(base.dir, other.dir)
    with sqlite3.connect(other.dir / "run.sqlite") as store:
        paused = dict(store.execute("SELECT name, sum(rx_pause_duration_ns) FROM pfc_counters JOIN ports USING (port) GROUP BY port"))
    check(pair["ports"][0]["other_paused_ns"] > 0, "ports: some were paused", pair["ports"])
    check(all(row["other_paused_ns"] == paused.get(row["port"], 0) for row in pair["ports"]), "ports: by their own counters", (pair["ports"], paused))
    check(all((row["first_paused_ns"], row["first_queue_bytes"]) != (row["other_paused_ns"], row["other_queue_bytes"])
              for row in pair["ports"]), "ports: those that moved alone", pair["ports"])


def unfinished():
    base, cut = rocelab(small()), rocelab(small(), *sets(limits__virtual_time="300us"), "--allow-unfinished")
    _, stderr = compare(base.dir, cut.dir, "--fail-on", "1000%", expect=SLOWER)
    check("job allgather-0 has no end" in stderr, "unfinished: no end", stderr)
    flows = [f'{{ src = "a1"; dst = "b{i}"; sport = {70 + i}; bytes = {i * i}000000; start = "0s"; }}' for i in (1, 2)]
    text = small(collective="", extra=f"flows = ( {', '.join(flows)} );\n")
    base, cut = rocelab(text), rocelab(text, *sets(limits__virtual_time="250us"), "--allow-unfinished")
    _, stderr = compare(base.dir, cut.dir, "--fail-on", "1000%", expect=SLOWER)
    check("flows written out, mean has no end" in stderr, "unfinished: flows, of which one has no end", stderr)


def jobs_of_one_run():
    """A job that the other run lacks is missing, and fails; others are compared by name, whatever their numbers are."""
    train, shuffle = (f'{{ name = "{name}"; ranks = [ "{a}", "{b}" ]; collectives = ( {{ op = "allgather"; bytes = "200KB"; }},'
                      f' {{ op = "allgather"; bytes = "{size}"; }} ); }}' for name, a, b, size in
                      (("train", "a1", "b1", "100KB"), ("shuffle", "a2", "b2", "400KB")))
    both, one, other = (rocelab(small(collective="", extra=f"jobs = ( {jobs} );\n"))
                        for jobs in (f"{train}, {shuffle}", shuffle, shuffle.replace('"shuffle"', '"sort"')))
    (pair,), stderr = compare(both.dir, one.dir, "--fail-on", "1000%", expect=SLOWER)
    rows = {row["what"]: row for row in pair["times"]}
    check(rows["job train"]["other"] is None and rows["job train"]["change"] == "missing", "a missing job: its row", pair["times"])
    check(rows["job shuffle"]["first"] and rows["job shuffle"]["other"] and rows["job shuffle"]["change"].endswith("%"),
          "a missing job: the other one is compared", pair["times"])
    check(sorted(row["change"] for row in pair["times"] if "collective" in row["what"])[2:] == ["missing"] * 2,
          "a missing job: its collectives, too", pair["times"])
    check(f"{one.dir}: job train is missing" in stderr and "shuffle is missing" not in stderr and "no end" not in stderr,
          "a missing job: named", stderr)
    (pair,), _ = compare(one.dir, both.dir, "--fail-on", "1000%")
    check([row["what"] for row in pair["times"] if row["change"] == "new"] == ["job train"], "a new job is no failure", pair["times"])
    (pair,), _ = compare(one.dir, other.dir, "--fail-on", "1000%")
    check(all(row["first"] == row["other"] for row in pair["times"]), "a job of another name in its place", pair["times"])
    check("missing" in command(ROCELAB, "compare", both.dir, one.dir).stdout, "a missing job: as text")


def of_one_place():
    """Findings of one type at one place are counted: of two, one may be gone."""
    base, less = rocelab(SCENARIOS / "case-study.cfg"), scratch() / "less"
    shutil.copytree(base.dir, less)
    with sqlite3.connect(less / "run.sqlite") as store:
        store.execute("DELETE FROM findings WHERE finding IN (SELECT max(finding) FROM findings GROUP BY type, root HAVING count(*) = 2)")
    (pair,), _ = compare(base.dir, less)
    check([row["status"] for row in pair["findings"]] == ["gone"], "of two at one place one is gone", pair["findings"])
    check([f["type"] for f in base.verdict["findings"]].count(pair["findings"][0]["type"]) >= 2, "of two at one place: which", pair["findings"])


def without_verdict():
    """A run whose analysis failed has no findings to compare: that is no run whose findings are gone."""
    base, top = rocelab(small(fault("slow-host", host="b1", delay="1ms"))), scratch()
    shutil.copytree(base.dir, top / "cut")
    cut = top / "cut"
    (cut / "verdict.json").unlink()
    for runs in ((base.dir, cut), (cut, base.dir)):
        (pair,), _ = compare(*runs)
        check(pair["findings"] is None, "no verdict: findings are unknown", pair["findings"])
        text = command(ROCELAB, "compare", *runs).stdout
        check(f"unknown: {cut} has no verdict" in text, "no verdict: as text", text)
    (row,) = json.loads(command(ROCELAB, "list", top, "--json").stdout)
    check(row["findings"] is None and row["first_finding"] is None, "no verdict: listed", row)


def refused():
    run, odd = rocelab(small()), scratch() / "a %25 ?run#1"
    shutil.copytree(run.dir, odd)
    (pair,), _ = compare(run.dir, odd)
    check(pair["other"] == str(odd), "a folder of any name", pair["other"])
    for args, text in (((run.dir,), "two runs"), ((run.dir, "/nowhere"), "run.sqlite"), ((run.dir, odd, "--fail-on", "5"), "in percent")):
        done = command(ROCELAB, "compare", *args, expect=2)
        check(text in done.stderr, f"refused: {text}", done.stderr)
    (odd / "run.sqlite").write_bytes(b"SQLite format 3\0" + bytes(2000))
    check("run.sqlite" in command(ROCELAB, "compare", run.dir, odd, expect=2).stderr, "refused: a damaged store")


def listed():
    top = scratch()
    for name, args in (("a", ()), ("b", sets(seed=7))):
        command(ROCELAB, "run", small(), "--out", top / name, *args)
    (top / "c").mkdir()
    rows = json.loads(command(ROCELAB, "list", top, "--json").stdout)
    check([(row["folder"], row["seed"], row["end_reason"]) for row in rows] == [("a", 1, "complete"), ("b", 7, "complete")], "list", rows)
    check("no rows" in command(ROCELAB, "list", top / "c").stdout, "list: none")
    command(ROCELAB, "list", "/nowhere", expect=2)


if __name__ == "__main__":
    same()
    slower()
    ports()
    jobs_of_one_run()
    unfinished()
    of_one_place()
    without_verdict()
    refused()
    listed()
