#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Systems side by side: those that share a run, those with a run of their own, and one table of what they found, when, and at what
cost; where one cannot be had, or a run is ended, the table says so."""
import json
import os
import signal
import subprocess
import time

import records
from harness import (INTERRUPTED, STALL_LIMIT_S, ROCELAB, SANITIZED, SCENARIOS, Run, check, command, descendants, fail, file_limit,
                     scenario_file, scratch, sets)

FIVE = (SCENARIOS / "five-systems.cfg", *sets(**{"collectives__[0]__iterations": 4}))
SHORT = sets(pingmesh__duration="40ms")
LIST = ["vedrfolnir", "flowpulse", "flowtracer", "pingmesh", "hawkeye-minr"]
OWN_TYPES = {"flowpulse": {"silent-fault"}, "pingmesh": {"switch-problem", "rnic-problem", "high-rtt", "cpu-overload", "host-down"}}


def compared(out, *args, expect=0):
    done = command(ROCELAB, "run", *args, "--json", "--out", out, expect=expect)
    comparison = json.loads(done.stdout)
    check(comparison == json.loads((out / "comparison.json").read_text()), "--json prints comparison.json")
    return comparison, {s["name"]: s for s in comparison["systems"]}, done


def without_cpu(comparison):
    for system in comparison["systems"]:
        system.pop("diagnosis_cpu_ns", None)
    return comparison


def who_found_what(out, comparison, systems):
    check(list(systems) == LIST, "a row each, in the list's order", list(systems))
    check([s["run"] for s in comparison["systems"]] == [".", ".", ".", "systems/pingmesh", "systems/hawkeye-minr"],
          "passive ones share the run, others have their own", comparison["systems"])
    for name, types in OWN_TYPES.items():
        found = {f["type"] for f in systems[name]["findings"]}
        check(found and found <= types, f"{name}: its own findings alone", found)
        check(systems[name]["word"] is None, f"{name}: no word on the network", systems[name]["word"])
    check(any(f["root"] == "l2:4" for f in systems["flowpulse"]["findings"]), "FlowPulse names the silent link")
    check(any(f["type"] == "pfc-storm" and f["root"] == "l5:1" for f in systems["vedrfolnir"]["findings"]),
          "VEDRFOLNIR names the storm")
    check(systems["vedrfolnir"]["word"] in ("guilty", "unknown"), "VEDRFOLNIR has a word", systems["vedrfolnir"]["word"])
    for system in comparison["systems"]:
        end_ns = json.loads((out / system["run"] / "run.json").read_text())["virtual_ns"]
        late = [f for f in system["findings"] if not 0 <= f["undetected_ns"] < f["detected_ns"] <= end_ns + 1]
        check(not late, f"{system['name']}: all is said within the run", late)
    storm = next(f for f in systems["vedrfolnir"]["findings"] if f["type"] == "pfc-storm")
    check(storm["detected_ns"] > 6e6, "the storm is not said before it began", storm)


def what_it_costs(out, comparison, systems):
    size = (out / "records.bin").stat().st_size
    verdict = json.loads((out / "systems/vedrfolnir/verdict.json").read_text())
    check(sum(k["bytes"] for k in verdict["overhead"]["kinds"]) + 16 == size, "every byte that crossed is of a kind", size)
    shared = [systems[n] for n in LIST[:3]]
    check(all(s["telemetry_bytes"] > 0 for s in shared) and sum(s["telemetry_bytes"] for s in shared) < size,
          "each of those that share a run has its part of the bytes", [s["telemetry_bytes"] for s in shared])
    check(systems["flowpulse"]["own_packets"] == {} == systems["flowtracer"]["own_packets"], "volumes and traces send nothing")
    check(systems["pingmesh"]["own_packets"]["probes"] > 1000, "probes are counted", systems["pingmesh"]["own_packets"])
    check(systems["hawkeye-minr"]["own_packets"]["packets"] > 10 * systems["vedrfolnir"]["own_packets"]["packets"] > 0,
          "Hawkeye polls far more often", [s["own_packets"] for s in comparison["systems"]])
    quiet = [r for r in comparison["runs"] if r["quiet"]]
    check(len(quiet) == 1 and quiet[0]["systems"] == [] and quiet[0]["run"] == "systems/none", "no system diagnoses in one", quiet)
    for run in comparison["runs"]:
        check(run["end_reason"] == "complete" and run["why"] is None, f"{run['run']}: ended", run)
        check(run["quiet"] or (run["steps"]["steps"] == 96 + 6 and run["jobs"][0]["quiet_ns"] == quiet[0]["jobs"][0]["took_ns"]),
              f"{run['run']}: against the quiet one", run)
    check({f["kind"] for f in comparison["truth"]["faults"]} == {"loss", "pfc-storm"} and
          len(comparison["truth"]["background_flows"]) == 6, "the truth stands beside", comparison["truth"])


def the_page(out):
    page = (out / "report.html").read_text()
    data = page.split('<script type="application/json" id="comparison">')[1].split("</script>")[0]
    check([s["name"] for s in json.loads(data)["systems"]] == LIST, "the page of the base run has the comparison")
    check(page.count('id="data"') == 1 and page.endswith("</html>\n"), "and is whole")


def five():
    out = scratch()
    comparison, systems, _ = compared(out, *FIVE, *SHORT)
    who_found_what(out, comparison, systems)
    what_it_costs(out, comparison, systems)
    the_page(out)
    again = json.loads(command(ROCELAB, "diagnose", out, "--json").stdout)
    check(without_cpu(again) == without_cpu(comparison), "rocelab diagnose gives the same again")
    the_page(out)
    text = command(ROCELAB, "diagnose", out).stdout
    check("R-Pingmesh" in text and "The truth, which no diagnoser sees" in text and "silent-fault" in text, "and as text", text)
    single = scratch()
    command(ROCELAB, "run", out / "systems" / "hawkeye-minr" / "effective.cfg", "--out", single)
    check((single / "records.bin").read_bytes() == (out / "systems/hawkeye-minr/records.bin").read_bytes() and
          not (single / "systems").exists(), "a run of its own runs again as it is, alone")
    command(ROCELAB, "run", SCENARIOS / "clean-ring.cfg", "--out", out)
    check(not (out / "systems").exists() and not (out / "comparison.json").exists(), "the next run into the folder takes it away")


def lists():
    scenario = (SCENARIOS / "incast-flows.cfg").read_text()
    for text, words in (('"hawkey"', "is none of vedrfolnir, flowpulse"), ('"pingmesh", "pingmesh"', "is there twice")):
        path, out = scenario_file(scenario + f"diagnosers = [ {text} ];\n"), scratch()
        line = len(scenario.splitlines()) + 1
        done = command(ROCELAB, "run", path, "--out", out, expect=2)
        check(f"{path}:{line}: diagnosers: " in done.stderr and words in done.stderr, f"[ {text} ] is refused", done.stderr)
    for given, words in (("vedrfolnir,hawkey", "is none of"), ("flowpulse,flowpulse", "twice"), (",", "empty")):
        done = command(ROCELAB, "run", SCENARIOS / "incast-flows.cfg", "--diagnosers", given, expect=2)
        check(words in done.stderr, f"--diagnosers {given} is refused", done.stderr)
    out = scratch()
    command(ROCELAB, "run", scenario_file(scenario + "diagnosers = [ ];\n"), "--out", out)
    check(not (out / "systems").exists(), "an empty list is a run like any other")


def cannot_be_had():
    out = scratch()
    comparison, systems, _ = compared(out, SCENARIOS / "incast-flows.cfg", "--diagnosers", "flowpulse,full-polling")
    check(not systems["flowpulse"]["available"] and "there are none" in systems["flowpulse"]["why"] and
          systems["flowpulse"]["report"] is None, "a system says why it cannot be had", systems["flowpulse"])
    check(comparison["runs"][0]["quiet"] and len(comparison["runs"]) == 2, "none shares the base run: it is the quiet one",
          comparison["runs"])
    check(systems["full-polling"]["findings"], "others are shown all the same")


def interrupted():
    """In the second run: it ends in order, no other is begun, and what there is is shown."""
    out = scratch()
    words = [ROCELAB, "run", SCENARIOS / "ns3-allgather-100g.cfg", "--out", out, "--json", "--diagnosers",
             "vedrfolnir,full-polling,hawkeye-minr", *sets(**{"collectives__[0]__step_bytes": "100MB"})]
    run = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    recording, end = out / "systems/full-polling/records.bin", time.monotonic() + STALL_LIMIT_S
    while not recording.exists() or recording.stat().st_size < 20000:
        if run.poll() is not None or time.monotonic() > end:
            fail(f"it ended or hangs before it could be ended: {run.communicate()}")
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)
    stdout, stderr = run.communicate(timeout=STALL_LIMIT_S)
    systems = {s["name"]: s for s in json.loads(stdout)["systems"]}
    check(run.returncode == INTERRUPTED, "interrupted: exit code", (run.returncode, stderr))
    check(Run(out / "systems/full-polling").run["end_reason"] == "interrupt", "interrupted: the second run says so")
    records.end(records.read(recording))
    check(systems["vedrfolnir"]["findings"] and systems["full-polling"]["report"], "interrupted: what there is is shown")
    check(systems["hawkeye-minr"]["why"] == "interrupted before it", "interrupted: no other is begun", systems["hawkeye-minr"])
    check(not descendants(run.pid) and not (out / "systems/hawkeye-minr").exists(), "interrupted: nothing is left of it")


def full_disk():
    """No room for the recording of a second run: the others are shown, and it says that it is cut."""
    out = scratch()
    done = command(ROCELAB, "run", *FIVE, *SHORT, "--diagnosers", "vedrfolnir,pingmesh", "--json", "--out", out, expect=1,
                   preexec_fn=file_limit(900000))
    comparison = json.loads(done.stdout)
    check("systems/pingmesh/" in done.stderr and "File too large" in done.stderr, "a full disk is reported", done.stderr)
    check(comparison["runs"][1]["why"] == "its run did not end well" and comparison["systems"][0]["findings"],
          "and the rest is shown", comparison["runs"])


lists()
cannot_be_had()
five()
if not SANITIZED:
    interrupted()
    full_disk()
