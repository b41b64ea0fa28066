#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""R-Pingmesh's verdict on whole runs: one fault at a time, named at its place, and nothing where nothing is wrong."""
from harness import SCENARIOS, check, rocelab, scenario_file

NET = 'topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };\n' \
    'pingmesh = { enabled = true; time_factor = 0.01; duration = "801ms"; };\n' \
    'limits = { virtual_time = "2s"; };\n'
# What is wrong from 200 ms on, and what is to be said of it: type, node or port
FAULTS = [
    ("nothing", "", None, None),
    ("a flapping RNIC", 'kind = "link-down"; port = "h5:1"; duration = "5ms"; period = "20ms";', "rnic-problem", "h5:1"),
    ("a damaged cable of a host", 'kind = "corruption"; port = "l1:2"; rate = 0.2;', "rnic-problem", "h5:1"),
    ("a slightly damaged cable of a host", 'kind = "corruption"; port = "l1:2"; rate = 0.03;', "rnic-problem", "h5:1"),
    ("a damaged cable to a spine", 'kind = "corruption"; port = "l2:6"; rate = 0.1;', "switch-problem", "l2:6"),
    ("a damaged cable from a spine", 'kind = "corruption"; port = "s1:3"; rate = 0.1;', "switch-problem", "s1:3"),
    ("silent loss at a spine's port", 'kind = "loss"; port = "s3:1"; rate = 0.05; silent = true;', "switch-problem", "s3:1"),
    ("an overloaded CPU", 'kind = "cpu-overload"; host = "h9"; delay = "20ms"; duration = "200ms";', "cpu-overload", "h9"),
    ("an overloaded CPU that answers in time", 'kind = "cpu-overload"; host = "h9"; delay = "0.7ms"; duration = "90ms";',
     "cpu-overload", "h9"),
    ("a host that hangs", 'kind = "host-down"; host = "h9";', "host-down", "h9"),
    ("an agent that starts again", 'kind = "agent-restart"; host = "h9"; duration = "30ms";', None, None),
    ("a damaged cable of restarted agents", "".join(
        f'kind = "agent-restart"; host = "h{host}"; duration = "30ms"; }}, {{ start = "200ms"; ' for host in (8, 9, 10, 11)) +
     'kind = "corruption"; port = "l2:6"; rate = 0.1;', "switch-problem", "l2:6"),
    ("a host that boots", 'kind = "agent-restart"; host = "h9"; duration = "310ms"; }, '
     '{ start = "200ms"; kind = "host-down"; host = "h9"; duration = "300ms";', "host-down", "h9"),
    ("a slow cable", 'kind = "delay"; port = "l0:7"; extra = "20us";', "high-rtt", "l0:7"),
]


def verdict_on(name, fault):
    text = NET + (f'faults = ( {{ start = "200ms"; {fault} }} );\n' if fault else "")
    return rocelab(scenario_file(text, name.replace(" ", "-").replace("'", "") + ".cfg")).verdict


for title, what, kind, place in FAULTS:
    verdict = verdict_on(title, what)
    problems = verdict["pingmesh"]["problems"]
    observed = [(p["type"], p["node"] or p["ports"]) for p in problems]
    resets = verdict["pingmesh"]["cluster"]["rpingmesh.probe_failed_total"]["qpn-reset"]
    check((resets > 100) == ("agent" in what), f"{title}: an agent that started again has other QPs, and is noise", resets)
    if kind is None:
        check(not problems, f"{title}: no problem", observed)
        continue
    check(len(problems) == 1, f"{title}: one problem", observed)
    check(problems[0]["type"] == kind and (problems[0]["node"] == place or problems[0]["ports"] == [place]),
          f"{title}: {kind} at {place}", observed)
    check(problems[0]["priority"] == "P2" and problems[0]["start_ns"] >= 180_000_000, f"{title}: P2, from then on", problems)
    check([f["type"] for f in verdict["findings"]] == [kind] and verdict["network"]["word"] != "guilty",
          f"{title}: a finding, and no word on the network", verdict["network"])

# Nobody is left to witness: all agents are starved from the first moment on, or for a while. And two hosts alone, at a ToR each.
SMALL = NET.replace("leaves = 4; spines = 4; hosts_per_leaf = 4", "leaves = 2; spines = 2; hosts_per_leaf = {hosts}")
for title, when in (("from the beginning", ""), ("for two periods", ' start = "200ms"; duration = "400ms";')):
    faults = ", ".join(f'{{ kind = "cpu-overload"; host = "h{host}"; delay = "20ms";{when} }}' for host in range(4))
    problems = rocelab(scenario_file(SMALL.replace("{hosts}", "2") + f"faults = ( {faults} );\n")).verdict["pingmesh"]["problems"]
    check(sorted((p["type"], p["node"]) for p in problems) == [("cpu-overload", f"h{host}") for host in range(4)],
          f"all hosts starved {title}: each of them, and nothing else", problems)
lonely = rocelab(scenario_file(SMALL.replace("{hosts}", "1"))).verdict["pingmesh"]
check(not lonely["problems"] and lonely["cluster"]["rpingmesh.probe_total"] == lonely["cluster"]["rpingmesh.probe_success_total"] > 1000,
      "two hosts alone probe each other", lonely["cluster"])

# With one host a leaf nothing parts an RNIC from its leaf: one of the two is named, once, and why no more is known.
for title, what in (("without a GID", 'kind = "rnic-no-gid"; port = "h1:1";'), ("on a damaged cable", 'kind = "corruption"; port = "l1:1"; rate = 0.1;')):
    text = NET.replace("spines = 4; hosts_per_leaf = 4", "spines = 2; hosts_per_leaf = 1")
    run = rocelab(scenario_file(text + f'faults = ( {{ start = "200ms"; {what} }} );\n'))
    problems = [(p["type"], p["ports"], p["or_switch"]) for p in run.verdict["pingmesh"]["problems"]]
    check(problems == [("rnic-problem", ["h1:1"], "l1")] and run.verdict["pingmesh"]["problems"][0]["confidence"] <= 0.5,
          f"one host a leaf, an RNIC {title}: it, its link or its leaf", problems)
    limits = {limit["because"]: limit["count"] for limit in run.verdict["pingmesh"]["cannot_tell"]}
    check(limits.get("no-witness") == 4 and "Cannot judge 4 RNICs apart from" in run.report, "which the report says once", limits)

# The ready-made scenario: what is wrong, where, and how much it matters; and the page and report have the same.
run = rocelab(SCENARIOS / "pingmesh.cfg")
observed = [(p["type"], p["node"] or p["ports"], p["priority"]) for p in run.verdict["pingmesh"]["problems"]]
check(observed == [("switch-problem", ["g1r0:7"], "P0"), ("rnic-problem", ["h3:1"], "P2"), ("cpu-overload", "h12", "P2")],
      "pingmesh.cfg: three problems, each with its place and priority", observed)
