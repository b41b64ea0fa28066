#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab trace --advise RUN: from the ways that were traced, of a run with links that are not what its scenario says, of one that goes
on, of one whose flows are known from samples in part; and files that cannot be of it."""
import json
import pathlib
import re
import signal
import subprocess

from devices import traced
from harness import STALL_LIMIT_S, ROCELAB, SCENARIOS, check, command, fail, rocelab, scenario_file, scratch, sets, slowness, until

CLOS = """topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
flowtracer = { enabled = true; rtt = "20us"; processes = 8; };
jobs = ( { name = "train"; ranks = [ "h[0-15]" ]; iterations = 2; compute = "200us";
           collectives = ( { name = "a2a"; op = "alltoall"; algorithm = "linear"; bytes = "8MB"; } ); } );
"""


def advise(*args, expect=0):
    return command(ROCELAB, "trace", "--advise", *args, "--out", scratch(), expect=expect)


def times(reported):
    return [float(n) for n in re.search(r"took (\S+) us, and take (\S+) us", reported).groups()]


def written(reported):
    """What is advised: flow: its ports."""
    text = pathlib.Path(re.search(r"rocelab run (\S+)", reported).group(1)).read_text()
    return {group: ports for group, ports in re.findall(r"\{ (src = .*?); data = \[(.*?)\]", text)}


def whole():
    """All flows are traced: the same as of the scenario."""
    run = rocelab(SCENARIOS / "flowtracer.cfg")
    of_run, of_scenario = advise(run.dir).stdout, advise(SCENARIOS / "flowtracer.cfg").stdout
    check("256 flows as they were traced" in of_run and times(of_run) == times(of_scenario), "a run's are its scenario's", of_run)
    check(written(of_run) == written(of_scenario), "and so is the advice")
    took, takes = times(of_run)
    check(takes < 0.6 * took, "time is regained", (took, takes))


def jobs_that_compute():
    reported = advise(rocelab(scenario_file(CLOS)).dir).stdout
    took, takes = times(reported)
    check(0 < takes < took, "of jobs that compute, too", reported)


def faulty():
    """A link that was down: the ways that were traced avoid it, and so do those that are advised."""
    run = rocelab(scenario_file(CLOS + 'faults = ( { kind = "link-down"; port = "l0:5"; start = "0s"; } );\n'),
                  *sets(switch__profile='"ns3"', host__profile='"ns3"'), expect=None)
    seen = json.loads((run.dir / "verdict.json").read_text())["flowtracer"]
    check(not any({"l0:5", "s0:1"} & set(p["ports"]) for p in seen["paths"]), "traced ways avoid a cut link")
    reported = advise(run.dir).stdout
    routes = written(reported)
    arrive = len([p for p in seen["paths"] if p["result"] == "egress"])
    check(0 < arrive < 240 and f"{240 - arrive} more are unchanged" in reported, "those that do not arrive are left", arrive)
    check(len(routes) == arrive and not any('"l0:5"' in w or '"s0:1"' in w for w in routes.values()),
          "and advised ones, too", reported)


def partly():
    path = scenario_file(CLOS + "switch = { sampling = 100; };\n")
    run = rocelab(path, *sets(**{"flowtracer.first_hop": '"sflow"', "flowtracer.start": '"500us"'}))
    known = len(run.verdict["flowtracer"]["paths"])
    reported = advise(run.dir).stdout
    check(0 < known < 240 and f"{known} flows as they were traced" in reported and len(written(reported)) == known,
          "of samples, what they report", (known, reported))


def live():
    """A run in real time: what was traced of it while it went on."""
    scenario = scenario_file(CLOS.replace("100Gbps", "1Gbps").replace("1us", "50us").replace("enabled = true", "enabled = false") +
                             # what is advised is run for as long, too
                             'timing = { clock = "real"; }; management = { sockets = true; }; limits = { hold = "%us"; };\n'
                             % round(10 * slowness()))
    folder = scratch() / "live"
    run = subprocess.Popen([ROCELAB, "run", scenario, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until("all devices have sockets", lambda: len(list((folder / "management").glob("*.manage"))) == 24, run)
    file = folder.parent / "traced.json"
    found = traced(folder, "--out", file)
    run.send_signal(signal.SIGINT)  # however long that took
    run.communicate(timeout=STALL_LIMIT_S)
    check(run.returncode >= 0 and len(found["flows"]) == 240, "it is traced", len(found["flows"]))
    done = advise(folder, expect=2)
    check("no flow was traced in that run" in done.stderr and "--traced" in done.stderr, "nobody traced it by itself", done.stderr)
    reported = advise(folder, "--traced", file).stdout
    check("240 flows as they were traced" in reported and all(t > 0 for t in times(reported)), "and advised", reported)


def refused():
    run = rocelab(scenario_file(CLOS))
    verdict = json.loads((run.dir / "verdict.json").read_text())
    paths = verdict["flowtracer"]["paths"]
    flow = paths[0]
    source, leaf = flow["ports"][0].split(":")[0], flow["ports"][1].split(":")[0]
    down = {path["flow"].split("->")[1].split("/")[0]: path["ports"][-1] for path in paths if path["ports"][-1].split(":")[0] == leaf}
    back = [flow["ports"][0], down[source]]
    third = [name for name in down if name != source][0]
    bad = scratch() / "bad.json"
    for change, words in (({"ports": []}, "its path is none"), ({"ports": ["h0:1", "s0:1", "l0:1"]}, "none of this topology"),
                          ({"ports": ["l0:1", "l0:2"]}, "none of this topology"), ({"ports": back}, "where it begins"),
                          ({"ports": [back[0], down[third], f"{third}:1", f"{third}:2"]}, "none of this topology"), ({"ports": ["h0:1"] * 65}, "longer than any"),
                          ({"flow": "h0->h1"}, "are not reported"), ({"flow": "h0->h1/1>70000"}, "are not reported"),
                          ({"result": 3}, "are not reported"), ({"result": "dropped"}, "single known path")):
        bad.write_text(json.dumps({"flowtracer": {"paths": [dict(flow, **change)], "links": []}}))
        done = advise(run.dir, "--traced", bad, expect=2)
        if words not in done.stderr or "bad.json" not in done.stderr:
            fail(f"{change}: {done.stderr}")
    for text, words in (("", "bad.json:"), ("{}", "no flow was traced"), ('{"flowtracer": {"paths": [], "links": []}}', "single known path"),
                        ('{"flowtracer": {"paths": [], "links": [{"port": "x:1"}]}}', "links[0]"),
                        ('{"flows": [{"path": ["h0:1"], "state": "arrived", "sport": -1, "dport": 1}]}', "are not reported")):
        bad.write_text(text)
        done = advise(run.dir, "--traced", bad, expect=2)
        if words not in done.stderr:
            fail(f"{text}: {done.stderr}")
    print("ok files that cannot be of it are refused", flush=True)
    case = re.search(r"rocelab run (\S+)", advise(run.dir).stdout).group(1)
    done = advise(case, expect=2)
    check('has a list "paths"' in done.stderr, "a second list is refused", done.stderr)
    (run.dir / "verdict.json").rename(run.dir / "elsewhere.json")
    done = advise(run.dir, expect=2)
    check("verdict.json: No such file" in done.stderr and "--traced" in done.stderr, "a run without a verdict", done.stderr)
    done = advise(run.dir, "--traced", "/nonexistent.json", expect=2)
    check("/nonexistent.json: No such file or directory" in done.stderr and ":-1" not in done.stderr, "a file that is not there", done.stderr)
    done = advise(scratch(), expect=2)
    check("No such file" in done.stderr, "an empty folder is no run", done.stderr)


def by_default():
    """A folder for each scenario. One that has another's results is refused, however often it is asked for."""
    top = scratch()
    small = scenario_file(CLOS.replace("8MB", "1MB"), "small.cfg")
    large = scenario_file(CLOS.replace("8MB", "2MB"), "large.cfg")
    first = [command(ROCELAB, "trace", "--advise", path, cwd=top).stdout for path in (small, large)]
    again = [command(ROCELAB, "trace", "--advise", path, cwd=top).stdout for path in (small, large)]
    command(ROCELAB, "trace", "--advise", small, "--by", "source-ports", cwd=top)
    check(first == again and times(first[0]) != times(first[1]), "by default: each has its own", first)
    check(sorted(path.name for path in (top / "out/advise").iterdir()) == ["large", "small", "small-source-ports"],
          "by default: named after it", list((top / "out/advise").iterdir()))
    for _ in range(3):
        done = command(ROCELAB, "trace", "--advise", large, "--out", "out/advise/small", cwd=top, expect=2)
        check("was another case" in done.stderr, "another's folder is refused", done.stderr)
    check(command(ROCELAB, "trace", "--advise", small, cwd=top).stdout == first[0], "and its results stay")


for part in (by_default, whole, jobs_that_compute, faulty, partly, live, refused):
    part()
