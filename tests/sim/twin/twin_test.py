#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The twin: costs of a verdict by runs of a scenario that is inferred from records.bin and nothing else."""
import json
import re
import shutil

from harness import ROCELAB, SCENARIOS, check, command, rocelab, scenario_file, scratch, reported, sets

FABRIC = """topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
telemetry = { epoch = "100us"; late_looks = true; };
switch = { profile = "ns3"; };
host = { profile = "ns3"; };
collectives = ( { name = "ring"; step_bytes = "4MB"; ranks = [ "h0", "h4", "h1", "h5" ]; sport = 10000; } );
"""
STORM = 'faults = ( { kind = "pfc-storm"; port = "l0:1"; start = "300us"; duration = "400us"; } );\n'
SHORT = 'faults = ( { kind = "pfc-storm"; port = "h0:1"; start = "310us"; duration = "40us"; } );\n'
FLOW = 'flows = ( { src = "h2"; dst = "h4"; sport = 20000; bytes = "8MB"; start = "200us"; } );\n'
DELAY = ('faults = ( { kind = "delay"; port = "l0:1"; extra = "12us"; } );\n'
         'flows = ( { src = "h2"; dst = "h0"; sport = 20000; bytes = "30MB"; start = "300us"; },\n'
         '          { src = "h3"; dst = "h0"; sport = 20001; bytes = "30MB"; start = "300us"; } );\n')
TWO_DELAYS = """seed = 8600000004L;
topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
telemetry = { epoch = "100us"; late_looks = true; };
collectives = ( { name = "main"; op = "allreduce"; algorithm = "halving-doubling"; bytes = "8748288B"; sport = 10000;
  ranks = [ "h3", "h6", "h8", "h10" ]; } );
flows = ( { src = "h3"; dst = "h7"; sport = 20405; bytes = "4245555B"; start = "781922ns"; } );
faults = ( { kind = "delay"; port = "s0:3"; extra = "84546ns"; }, { kind = "delay"; port = "l2:1"; extra = "35876ns"; } );
"""
RANDOM_WITHOUT = """seed = 8600000010L;
topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
host = { timeout = "1ms"; };
telemetry = { epoch = "100us"; late_looks = true; };
collectives = ( { name = "main"; op = "allgather"; algorithm = "ring"; bytes = "21159744B"; sport = 10000;
  ranks = [ "h1", "h2", "h3", "h4", "h6", "h7", "h9", "h10" ]; } );
flows = (
  { src = "h3"; dst = "h11"; sport = 20903; bytes = "3908650B"; start = "684816ns"; },
  { src = "h13"; dst = "h14"; sport = 21050; bytes = "13665325B"; start = "377852ns"; }
);
faults = (
  { kind = "slow-host"; host = "h4"; collective = 0; delay = "31234ns"; },
  { kind = "pfc-storm"; port = "l2:5"; start = "837416ns"; duration = "623541ns"; }
);
"""
SPRAYED = """topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 2; };
host = { transport = "selective"; };
load_balancing = { kind = "adaptive"; };
telemetry = { late_looks = true; };
collectives = ( { op = "allreduce"; algorithm = "ring"; ranks = [ "h0", "h2", "h4", "h6" ]; bytes = "16MB"; } );
faults = ( { kind = "loss"; port = "l0:4"; rate = 0.03; silent = true; } );
"""
CUT = """topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
routing = { convergence = "0us"; };
collectives = ( { name = "all"; op = "alltoall"; algorithm = "pairwise"; bytes = "4MB"; } );
faults = ( { kind = "link-down"; port = "l0:6"; } );
"""


def twin_of(scenario, name):
    """Runs it, and blames by the twin in a folder that has records.bin alone. (verdict, twin, that folder)"""
    run, alone = rocelab(scenario), scratch() / name
    alone.mkdir()
    shutil.copy(run.dir / "records.bin", alone)
    command(ROCELAB, "diagnose", alone, "--blame", "twin")
    return json.loads((alone / "verdict.json").read_text()), json.loads((alone / "twin.json").read_text()), alone


def truth_of(scenario, name):
    out = scratch() / f"{name}-blame"
    command(ROCELAB, "blame", scenario, "--out", out)
    return {row["name"]: row for row in json.loads((out / "blame.json").read_text())["suspects"]}


def one_cause(name, text, suspect, fabric=FABRIC):
    scenario = scenario_file(fabric + text, f"{name}.cfg")
    verdict, twin, folder = twin_of(scenario, name)
    job = twin["jobs"][0]
    check(job["usable"] and job["error"] < 0.05 and job["steps_error"] < 0.1, f"{name}: the base run is near", job["error"])
    rows = {row["name"]: row for row in job["suspects"]}
    real = truth_of(scenario, name)[suspect]["shapley_ns"]
    check(abs(rows[suspect]["cost_ns"] - real) < 0.15 * real, f"{name}: the cost is the real one",
          f"{rows[suspect]['cost_ns']} of {real}")
    check(rows[suspect]["word"] == "cost", f"{name}: it is a cause", rows[suspect]["word"])
    costly = [f for f in verdict["findings"] if f["cost_from"] == "twin" and not f["without_effect"]]
    claimed = sum(f["explained_ns"] for f in costly)
    check(abs(claimed - rows[suspect]["cost_ns"]) < 10, f"{name}: findings share it out", claimed)
    check("by the twin" in (folder / "report.txt").read_text(), f"{name}: the report says whose figures they are")
    return folder


def a_link_that_is_down(name, uplinks, start):
    """With one uplink left the paths of all flows are known; with more, ports counted the flows that took them after the
    cut. It costs what a rerun says, and its queues the rest."""
    text = CUT.replace("spines = 2", f"spines = {uplinks}").replace('"l0:6"', f'"l0:6"; start = "{start}"')
    scenario = scenario_file(text, f"{name}.cfg")
    verdict, twin, _ = twin_of(scenario, name)
    job, link = twin["jobs"][0], next(f for f in verdict["findings"] if f["type"] == "link-down")
    check(job["usable"] and job["error"] < 0.05 and job["steps_error"] < 0.05, f"{name}: the base run is near",
          (job["error"], job["steps_error"]))
    check(link["cost_from"] == "twin" and link["root"] == "l0:6", f"{name}: its cost is the twin's", link)
    real = truth_of(scenario, name)["link-down@l0:6"]["regained_ns"]
    check(abs(link["explained_ns"] - real) < 0.25 * real, f"{name}: that is near the real one",
          f"{link['explained_ns']} of {real}")
    parts = sum(f["explained_ns"] for f in verdict["findings"]) + verdict["network"]["unexplained_ns"]
    check(abs(parts - verdict["network"]["lost_ns"]) < 100, f"{name}: queues that follow from it cost the rest", parts)


def flows_are_counted(folder):
    """Switches count a foreign flow from its first packet to its last, whenever they were asked."""
    text = (folder / "twin.cfg").read_text()
    found = re.search(r"sport = 20000; dport = 4791; bytes = (\d+)L; start = \"([0-9.]+)ns\"", text)
    check(found and 0 <= int(found[1]) - 8000000 < 1024, "the twin's flow has the real one's bytes", found and found[1])
    check(0 <= float(found[2]) - 200000 < 100, "and its start, to the packet", found[2])


def a_delay_is_what_every_round_trip_has():
    """Queues make round trips of some steps longer still."""
    alone = scratch() / "delay"
    alone.mkdir()
    shutil.copy(rocelab(scenario_file(FABRIC + DELAY, "delay.cfg")).dir / "records.bin", alone)
    command(ROCELAB, "diagnose", alone, "--blame", "twin")
    found = re.search(r'kind = "delay"; port = "([^"]+)"; extra = "(\d+)ns"', (alone / "twin.cfg").read_text())
    check(found and found[1] == "l0:1" and abs(int(found[2]) - 12000) < 600, "a delay beside queues has its strength and place",
          found and found.groups())


def a_delay_is_where_the_finding_leaves_it():
    """Of two delays one is at either end of a host's cable: the twin has it at one, whose flows alone it makes late."""
    alone = scratch() / "two-delays"
    alone.mkdir()
    shutil.copy(rocelab(scenario_file(TWO_DELAYS, "two-delays.cfg")).dir / "records.bin", alone)
    command(ROCELAB, "diagnose", alone, "--blame", "twin")
    places = set(re.findall(r'kind = "delay"; port = "([^"]+)"', (alone / "twin.cfg").read_text()))
    findings = [f for f in json.loads((alone / "verdict.json").read_text())["findings"] if f["type"] == "path-delay"]
    check(sorted(sorted(f["ports"]) for f in findings) == [["h8:1", "l2:1"], ["s0:3"]],
          "two delays are found, one by polling packets at its port", [f["ports"] for f in findings])
    check(len(places) == 2 and all(places & set(f["ports"]) for f in findings), "each is on a link that its finding leaves",
          places)


def a_flow_begins_before_its_delay():
    """Switches see it later by as much as its NIC's link delays it."""
    alone = scratch() / "begins"
    alone.mkdir()
    text = FLOW.replace("h2", "h0") + 'faults = ( { kind = "delay"; port = "h0:1"; extra = "12us"; } );\n'
    shutil.copy(rocelab(scenario_file(FABRIC + text, "begins.cfg")).dir / "records.bin", alone)
    command(ROCELAB, "diagnose", alone, "--blame", "twin")
    found = re.search(r"sport = 20000; .* start = \"([0-9.]+)ns\"", (alone / "twin.cfg").read_text())
    check(found and abs(float(found[1]) - 200000) < 600, "a flow whose link delays it began before that", found and found[1])


def a_storm_begins_as_its_pauses_are_sent(folder, start_ns):
    """The paused switch reports since when it is paused: a cable and a pipeline later."""
    found = re.search(r'kind = "pfc-storm"; port = "[^"]+"; start = "([0-9.]+)ns"', (folder / "twin.cfg").read_text())
    check(found and abs(float(found[1]) - start_ns) < 100, "a storm begins when its first PAUSE was sent", found and found[1])


def runs_by_itself(folder):
    run = rocelab(folder / "twin.cfg")
    check(run.run["end_reason"] == "complete", "the twin's scenario runs by itself", run.run["end_reason"])


def estimates_are_named():
    scenario = scenario_file(FABRIC + STORM, "estimate.cfg")
    run = rocelab(scenario)
    check({f["cost_from"] for f in run.findings()} == {"estimate"}, "without a twin every cost is an estimate")
    done = command(ROCELAB, "diagnose", run.dir, "--blame", "guess", expect=2)
    check("estimate, twin or auto" in reported(done), "another word is refused", reported(done))


def jobs_of_a_run():
    ns3 = sets(switch__profile='"ns3"', host__profile='"ns3"')
    run = rocelab(SCENARIOS / "two-jobs.cfg", "--blame", "auto", *ns3)
    jobs = {job["name"]: job for job in run.json("twin.json")["jobs"]}
    check(all(job["error"] < 0.03 for job in jobs.values()) and len(jobs) == 2, "two jobs, both near",
          {name: job["error"] for name, job in jobs.items()})
    check(jobs["train"]["suspects"][0]["name"] == "job@shuffle", "each is the other's suspect")


def chance_may_decide_without_a_cause():
    """All draws of the run are alike; without the storm marks decide."""
    alone = scratch() / "random-without"
    alone.mkdir()
    shutil.copy(rocelab(scenario_file(RANDOM_WITHOUT, "random-without.cfg")).dir / "records.bin", alone)
    command(ROCELAB, "diagnose", alone, "--blame", "twin")
    twin = json.loads((alone / "twin.json").read_text())
    job = twin["jobs"][0]
    check(twin["draws"] == 1 and job["chance"] == 0, "draws of the run are alike", (twin["draws"], job["chance"]))
    check(job["draws"] >= 8 and job["runs"] == 8 * job["draws"], "those without a cause are not", (job["draws"], job["runs"]))
    check(all(row["standard_error_ns"] > 0 for row in job["suspects"]), "costs have its standard errors", job["suspects"])
    return alone


def chance_is_averaged():
    """Marks by chance decide how jobs that share a queue fare: a run is one draw of many."""
    run = rocelab(SCENARIOS / "two-jobs.cfg", "--blame", "twin")
    page = (run.dir / "report.html").read_text()
    for element in ("scenario", "series"):
        check(page.count(f'<script type="application/json" id="{element}">') == 1, f"twin: its page has its {element}, too")
    twin = run.json("twin.json")
    check(twin["draws"] == 8 and all(job["chance"] > 0.02 for job in twin["jobs"]), "draws of chance differ", twin["jobs"])
    check(all(job["usable"] for job in twin["jobs"]), "and the run is one of them",
          [(job["error"], job["chance"]) for job in twin["jobs"]])
    suspect = twin["jobs"][0]["suspects"][0]
    check(0 < suspect["standard_error_ns"] < suspect["cost_ns"] / 2, "costs have standard errors", suspect)


storm = one_cause("storm", STORM, "pfc-storm@l0:1")
one_cause("short", SHORT, "pfc-storm@h0:1")  # within an epoch: no count of it has its begin
one_cause("sprayed", SPRAYED, "loss@l0:4", "")  # one of four uplinks, behind the MAC: selective repeat shows how many
flows_are_counted(one_cause("flow", FLOW, "h2->h4/20000>4791"))
a_delay_is_what_every_round_trip_has()
a_delay_is_where_the_finding_leaves_it()
a_flow_begins_before_its_delay()
a_link_that_is_down("cut", 2, "0us")
a_link_that_is_down("cut-of-three", 3, "0us")
a_link_that_is_down("cut-within", 3, "100us")
runs_by_itself(storm)
estimates_are_named()
jobs_of_a_run()
a_storm_begins_as_its_pauses_are_sent(chance_may_decide_without_a_cause(), 837416)
chance_is_averaged()
