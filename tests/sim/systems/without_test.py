#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Without one of its flows, generators, faults or jobs, the rest of a scenario runs as if that had never been there."""
import shutil

from harness import SCENARIOS, check, rocelab, scenario_file

FABRIC = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
"""
RING = """collectives = ( { step_bytes = "1MB"; ranks = [ "h0", "h4", "h1", "h5" ]; } );
"""
LOSS = """{ kind = "loss"; port = "l0:1"; rate = 0.001; }"""
STORM = """{ kind = "pfc-storm"; port = "l0:2"; start = "50us"; duration = "200us"; }"""
GENERATORS = """generators = (
  { kind = "poisson"; name = "mice"; bytes = "20KB"; load = 0.2; until = "300us"; connections = 3; },
  { kind = "poisson"; name = "others"; bytes = "30KB"; load = 0.2; until = "300us"; connections = 2; } );
"""


def rows(run, job):
    return sorted(tuple(row.values()) for row in run.steps() if row["job"] == job)


def generated(run, name):
    lines = (run.dir / "flows.csv").read_text().splitlines()
    return [line for line in lines if line.startswith(name + ",")]


def flow():
    """The same without a flow as where the list does not have it; nothing reports it."""
    off = rocelab(SCENARIOS / "case-study.cfg", "--set", "flows.[0].enabled=false")
    text = (SCENARIOS / "case-study.cfg").read_text().replace(
        '{ src = "15"; dst = "18"; sport = 10001; bytes = "5MB"; start = "280us"; },', "")
    text = "".join(line for line in text.splitlines(True) if not line.startswith('  { src = "15"; dst = "18"; data'))
    path = scenario_file(text)
    shutil.copytree(SCENARIOS / "include", path.parent / "include")
    gone = rocelab(path)
    check(rows(off, "0") == rows(gone, "0"), "flow: steps are those of the scenario without it")
    check(off.verdict["findings"] == gone.verdict["findings"], "flow: and so are findings")
    check("15->18" not in str(off.truth), "flow: truth.json does not know it")
    check(not any(row["src"] == "15" and row["dst"] == "18" for row in off.steps()), "flow: nor steps.csv")


def fault():
    both = FABRIC + RING + f"faults = ( {LOSS}, {STORM} );"
    off = rocelab(scenario_file(both), "--set", "faults.[0].enabled=false")
    gone = rocelab(scenario_file(FABRIC + RING + f"faults = ( {STORM} );"))
    check(rows(off, "0") == rows(gone, "0"), "fault: steps are those of the scenario without it")
    check(off.run["idle_faults"] == [] and len(off.truth["faults"]) == 1, "fault: nobody reports it", off.truth["faults"])
    slow = FABRIC + RING + 'faults = ( { kind = "slow-host"; host = "h4"; delay = "100us"; enabled = false; } );'
    check(rows(rocelab(scenario_file(slow)), "0") == rows(rocelab(scenario_file(FABRIC + RING)), "0"), "fault: of a host too")


def job():
    """Ports, hosts and numbers of the second job stay what they were."""
    off = rocelab(SCENARIOS / "two-jobs.cfg", "--set", "jobs.[0].enabled=false")
    late = rocelab(SCENARIOS / "two-jobs.cfg", "--set", "jobs.[0].start=1s")
    check(rows(off, "0") == [] and rows(off, "1") == rows(late, "1") != [], "job: the other runs as before the first begins")
    check([j["name"] for j in off.run["jobs"]] == ["shuffle"], "job: run.json has the other alone", off.run["jobs"])
    check([j["name"] for j in off.verdict["jobs"]] == ["shuffle"], "job: and so has the verdict")
    check(off.run["end_reason"] == "complete", "job: the run is complete")
    times = off.run["jobs"][0]
    check(times["start_ns"] == 600000 < times["end_ns"], "job: run.json says when it began and ended", times)


def generator():
    off = rocelab(scenario_file(FABRIC + GENERATORS), "--set", "generators.[0].enabled=false")
    both = rocelab(scenario_file(FABRIC + GENERATORS))
    check(generated(off, "mice") == [] and generated(both, "mice") != [], "generator: it sends nothing")
    cut = [[line.split(",")[:7] for line in generated(run, "others")] for run in (off, both)]
    check(cut[0] == cut[1] != [], "generator: the other's flows have the same ports, sizes and starts")
    pinned = """generators = ( { kind = "poisson"; src = [ "h0" ]; dst = [ "h4" ]; bytes = "20KB"; load = 0.1; until = "100us"; } );
paths = ( { src = "h0"; dst = "h4"; data = [ "l0:6", "s1:2", "l1:1" ]; } );"""
    off = rocelab(scenario_file(FABRIC + RING + pinned), "--set", "generators.[0].enabled=false")
    check(rows(off, "0") == rows(rocelab(scenario_file(FABRIC + RING)), "0") != [], "generator: its paths may stay in the scenario")


def inert():
    """A flow that is over before the others begin takes nothing of their chance: which of their packets are lost, damaged,
    delayed or marked. The file has it, or not at all."""
    later = RING.replace("step_bytes", 'start = "500us"; sport = 700; step_bytes')
    # h2 joins in everywhere, so that queues are marked.
    late = '{ src = "h2"; dst = "h4"; sport = 9; bytes = "4MB"; start = "520us"; }'
    faults = """faults = ( { kind = "loss"; port = "l0:5"; rate = 0.002; }, { kind = "corruption"; port = "l0:5"; rate = 0.002; },
  { kind = "delay"; port = "l0:6"; extra = "2us"; jitter = "3us"; }, { kind = "loss"; port = "l0:6"; rate = 0.002; } );
switch = { profile = "ns3"; ecn = { kmin = "20KB"; kmax = "200KB"; }; };
host = { profile = "ns3"; };
"""
    early = ", ".join(f'{{ src = "h3"; dst = "h7"; sport = {port}; bytes = "500KB"; }}' for port in range(1, 5))
    runs = [rocelab(scenario_file(FABRIC + later + faults + f"flows = ( {flows} );"))
            for flows in (f"{early}, {late}", late)]
    check(rows(runs[0], "0") == rows(runs[1], "0"), "inert: steps are those of the scenario without it")
    other = [[row for row in run.steps() if row["src"] == "h2" and row["job"] == "-"] for run in runs]
    check(other[0] == other[1] != [], "inert: and so is the other flow")
    lost = [run.run["drops"]["injected"] for run in runs]
    check(lost[1] > 0 and lost[0] > lost[1] and runs[1].run["drops"]["corrupt"] > 0, "inert: there was chance", lost)
    # Costs are estimates: they divide time by the packets of whole epochs, in which the early flow has some.
    verdicts = [sorted((f["type"], f["root"], f["flows"], [i["steps"] for i in f["iterations"]]) for f in run.verdict["findings"]) for run in runs]
    check(verdicts[0] == verdicts[1], "inert: findings are the same", verdicts)


flow()
fault()
job()
generator()
inert()
