#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs from outside as diagnosers (docs/bring-your-own.md): what they read, ask and say, and where it stands."""
import json
import os
import shutil

from harness import (ROCELAB, SCENARIOS, SOURCE, Run, check, command, page_data, rocelab, scenario_file,
                     scratch)
import records

FOLDER = SOURCE / "scripts/records"
DEEP = FOLDER / "deep_ports.py"
CASE = SCENARIOS / "case-study.cfg"
SHORT = ("--set", "collectives.[0].step_bytes=4MB")
NAMES = ("records.bin", "verdict.json", "plugins.json", "steps.csv", "truth.json", "report.html")

# Follows a run, and writes what it received: ASKS in its environment is sent at each turn, in its file's place "TURN" the number.
FOLLOWER = """#!/usr/bin/env python3
import json, os, sys
sys.path.insert(0, {folder!r})
import rocelab_records
session = rocelab_records.Session()
bytes_seen, kinds = 0, {{}}
for turn in session:
    for record in turn.records:
        kinds[record.type] = kinds.get(record.type, 0) + 1
    for line in os.environ.get("ASKS", "").splitlines():
        session.control.sendall(line.encode() + b"\\n")
    if turn.last:
        with open(os.environ["RECEIVED"], "w") as file:
            json.dump({{"turns": turn.number, "time_ps": turn.time_ps, "kinds": kinds, "bytes": session.reader.bytes,
                       "refused": session.refused, "begin": session.begin}}, file)
"""


def follower(name="follower.py"):
    path = scratch() / name
    path.write_text(FOLLOWER.format(folder=str(FOLDER)))
    path.chmod(0o755)
    return path


def reported(scenario, *args, asks=(), program=None):
    """A run that a follower follows, and what the follower received."""
    os.environ["RECEIVED"], os.environ["ASKS"] = str(scratch() / "received.json"), "\n".join(map(json.dumps, asks))
    run = rocelab(scenario, "--diagnoser", program or follower(), *args)
    with open(os.environ["RECEIVED"]) as file:
        return run, json.load(file)


def contents(directory):
    return {name: (directory / name).read_bytes() for name in NAMES}


def same_bytes():
    runs = [rocelab(CASE, "--diagnoser", DEEP, *SHORT, "--lcores", lcores) for lcores in (1, 2, 1)]
    first = contents(runs[0].dir)
    for run, name in zip(runs[1:], ("two lcores", "once more")):
        other = contents(run.dir)
        check(other == first, f"the same bytes: {name}", [n for n in NAMES if other[n] != first[n]])
    return runs[0]


def where_it_stands(run):
    section = run.verdict["plugins"]
    check([s["name"] for s in section] == ["./deep_ports"] and not section[0]["left_out"], "verdict.json has a section", section)
    found = section[0]["findings"]
    listed = run.findings("deep-queue")
    check([run.verdict["findings"][f["finding"]] for f in found] == listed, "and says where in the list they stand")
    check(len(found) == len(listed) > 0 and [f["root"] for f in listed] == [f["where"]["ports"][0] for f in found],
          "its findings stand in the list", (found, listed))
    check(all(f["reported_ns"] % 1_000_000 == 0 and f["reported_ns"] >= f["time"]["start_ns"] for f in found),
          "each with the moment at which it was reported", found)
    check("Findings of ./deep_ports" in run.report and found[0]["evidence"].split(",")[0] in " ".join(run.report.split()),
          "report.txt says them", run.report)
    data = page_data(run)
    check(data["plugins"] == section and any(f["type"] == "deep-queue" for f in data["findings"]), "the page has them")
    rows = [row for _, row in records.port_rows(records.read(run.dir / "records.bin")) if not row.state_only]
    deepest = max(int(f["evidence"].split()[0]) for f in found)
    check(deepest <= max(row.depth_max for row in rows) and deepest >= 100, "their numbers are those of records", deepest)


def polls_are_records():
    ports, flow = ["6:2", "2:3"], "17->18/10000>4791"
    asks = [{"poll": {"port": port}} for port in ports] + [{"poll": {"flow": flow}}]
    run, observed = reported(CASE, *SHORT, asks=asks)
    alone = rocelab(CASE, *SHORT)
    polled = [r for r in records.read(run.dir / "records.bin") if r.type == records.PORT_ROW]
    names = records.node_names(records.read(run.dir / "records.bin"))
    events = {(names[r.node], r.event >> 16) for r in polled if names[r.node] == "6" and r.event >> 16 == r.node}
    check(len(events) == 1, "a polled port replies with an event of its switch", events)
    check(observed["refused"] == [], "nothing was refused", observed["refused"])
    section = run.verdict["plugins"][0]
    check(section["polls"] == 3 * section["turns"], "all polls are counted", section)
    more = [run.verdict["overhead"][key] - alone.verdict["overhead"][key] for key in ("polling_packets", "reports")]
    check(all(n > 0 for n in more), "and cost what others' cost", more)
    check(observed["bytes"] == (run.dir / "records.bin").stat().st_size, "it reads the recording's bytes", observed)


def nothing_asked():
    run, observed = reported(CASE, *SHORT)
    alone = rocelab(CASE, *SHORT)
    check((run.dir / "records.bin").read_bytes() == (alone.dir / "records.bin").read_bytes(),
          "who asks for nothing changes nothing")
    check((run.dir / "truth.json").read_bytes() == (alone.dir / "truth.json").read_bytes(), "nor the run")
    check(observed["begin"]["clock"] == "virtual" and observed["begin"]["live"] and observed["kinds"]["END"] == 1, "it receives what it is in",
          observed)
    check(observed["turns"] == observed["time_ps"] // 1_000_000_000 + 1, "a turn at each epoch's end, and the last words", observed)


def probes():
    asks = [{"probe": {"from": "h0", "to": "h1"}}]
    args = ("--set", "pingmesh.duration=100ms", "--set", "jobs.[0].iterations=1", "--set", "jobs.[0].compute=10ms")
    run, observed = reported(SCENARIOS / "pingmesh.cfg", *args, asks=asks)
    alone = rocelab(SCENARIOS / "pingmesh.cfg", *args)
    count = [len([r for r in records.read(r.dir / "records.bin") if r.type == records.PROBE]) for r in (run, alone)]
    check(count[0] > count[1], "probes that it asks for are records", (count, observed["refused"][:2]))
    run, observed = reported(CASE, *SHORT, asks=[{"probe": {"from": "17", "to": "18"}}])
    check("no agent of R-Pingmesh" in observed["refused"][0]["why"] and not run.verdict["plugins"][0]["left_out"],
          "where nobody probes it is informed, and stays", observed["refused"][:1])
    check("refused" in run.stderr and "refused" in run.report, "so is the user", run.stderr)


def several():
    other = scratch() / "deep_ports.py"
    shutil.copy(DEEP, other)
    shutil.copy(FOLDER / "rocelab_records.py", other.parent)
    run = rocelab(CASE, *SHORT, "--diagnoser", DEEP, "--diagnoser", other)
    section = run.verdict["plugins"]
    check([s["name"] for s in section] == ["./deep_ports", "./deep_ports-2"], "two of one name", [s["name"] for s in section])
    observed = [[{**f, "finding": 0} for f in s["findings"]] for s in section]
    check(observed[0] == observed[1], "hear the same", observed)


def over_a_recording():
    run, observed = reported(CASE, *SHORT)
    live = rocelab(CASE, *SHORT, "--diagnoser", DEEP)
    again = scratch()
    command(ROCELAB, "diagnose", run.dir, "--out", again, "--diagnoser", DEEP)
    found = [[{**f, "finding": 0} for f in Run(d).verdict["plugins"][0]["findings"]] for d in (live.dir, again)]
    check(found[0] == found[1], "over a recording it finds what it did in the run", found)
    command(ROCELAB, "diagnose", run.dir, "--out", again, "--diagnoser", follower())
    with open(os.environ["RECEIVED"]) as file:
        replayed = json.load(file)
    for key in ("turns", "time_ps", "kinds", "bytes"):
        check(replayed[key] == observed[key], f"and receives the same: {key}", (replayed[key], observed[key]))
    check(not replayed["begin"]["live"], "but that nobody can be asked")
    before = live.verdict["plugins"]
    command(ROCELAB, "diagnose", live.dir)
    check(live.verdict["plugins"] == before, "without a program, what those of the run said stays")


def in_the_table():
    """Beside systems that are shown side by side: a row of its own, by the run that passive systems share."""
    listed = ("--set", f'diagnosers=["vedrfolnir","full-polling","{DEEP}"]')
    for args, name in ((listed, "listed"), (("--diagnosers", "vedrfolnir,full-polling", "--diagnoser", DEEP), "by an option")):
        run = rocelab(CASE, *SHORT, *args)
        rows = {s["name"]: s for s in run.json("comparison.json")["systems"]}
        row, found = rows["./deep_ports"], run.verdict["plugins"][0]["findings"]
        check(list(rows) == ["vedrfolnir", "full-polling", "./deep_ports"] and row["shares_run"], f"{name}: a row in the table", row)
        check([f["root"] for f in row["findings"]] == [f["where"]["ports"][0] for f in found] != [], "with its findings alone", row)
        check([f["detected_ns"] for f in row["findings"]] == [f["reported_ns"] for f in found], "when it reported them", row)
        check(row["own_packets"]["asked_polls"] == run.verdict["plugins"][0]["polls"] > 0, "what it asked for", row)
        check(all(f["type"] != "deep-queue" for f in rows["vedrfolnir"]["findings"]), "others' rows are theirs", rows)
        quiet = next(r for r in run.json("comparison.json")["runs"] if r["quiet"])
        check(quiet["systems"] == [] and not (run.dir / quiet["run"] / "plugins.json").exists(), "nobody follows the quiet run")
        before = run.json("comparison.json")["systems"]
        command(ROCELAB, "diagnose", run.dir)
        again = run.json("comparison.json")["systems"]
        for system in before + again:
            system.pop("diagnosis_cpu_ns")
        check(again == before, "again from the recordings", again)
    other = follower()
    command(ROCELAB, "diagnose", run.dir, "--diagnoser", other)
    names = [s["name"] for s in run.json("comparison.json")["systems"]]
    check(names == ["vedrfolnir", "full-polling", f"./{other.stem}"], "another one over the recording takes the place of those before", names)


def real_time():
    scenario = scenario_file("""
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 2; rate = "1Gbps"; delay = "20us"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "2MB"; } );
timing = { clock = "real"; };
""")
    run, observed = reported(scenario)
    check(observed["begin"]["clock"] == "real" and observed["begin"]["wait_ns"] == 0 and observed["kinds"]["END"] == 1, "in real time too", observed)
    check(not run.verdict["plugins"][0]["left_out"], "nobody waits, and it is heard", run.verdict["plugins"])


def main():
    check(len(DEEP.read_text().splitlines()) < 100, "the example has fewer than 100 lines")
    where_it_stands(same_bytes())
    nothing_asked()
    polls_are_records()
    probes()
    several()
    over_a_recording()
    in_the_table()
    real_time()


main()
