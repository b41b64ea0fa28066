#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two flows in one epoch of a port are not two flows in its queue: what the verdict says that a step waited for, the fabric
saw in one queue with it. Hosts 12 and 14 exchange data over switches 0, 4 and 1; everything else passes by."""
from harness import SCENARIOS, check, rocelab, scenario_file

FABRIC = (SCENARIOS / "include" / "two-pods.inc").read_text()


def run(step_bytes, start, flows, faults=()):
    # Three detections: a pause whose time no report has holds nothing up as far as the analyzer knows.
    return rocelab(scenario_file(FABRIC + f"""
switch = {{ profile = "ns3"; }};
host = {{ profile = "ns3"; }};
detection = {{ detections = 3; }};
collectives = ( {{ op = "allgather"; algorithm = "ring"; ranks = [ "12", "14" ]; step_bytes = "{step_bytes}";
                  sport = 10000; start = "{start}"; }} );
paths = (
  {{ src = "12"; dst = "14"; data = [ "0:3", "4:2", "1:1" ]; ack = [ "1:3", "4:1", "0:1" ]; }},
  {", ".join(f'{{ src = "{src}"; dst = "{dst}"; data = {list_of(path[0])}; ack = {list_of(path[1])}; }}'
             for src, dst, _, *path in flows if path)}
);
flows = ( {", ".join(f'{{ src = "{src}"; dst = "{dst}"; sport = {20000 + i}; {rest} }}'
                     for i, (src, dst, rest, *_) in enumerate(flows))} );
faults = ( {", ".join(f'{{ kind = "pfc-storm"; port = "{port}"; start = "{at}"; duration = "{length}"; }}'
                      for port, at, length in faults)} );
"""))


def list_of(ports):
    return "[ " + ", ".join(f'"{port}"' for port in ports) + " ]"


def check_contended(done, name, culprits):
    contended = {(m["port"], flow) for m in done.truth["contentions"] for flow in m["flows"]
           if any(f.startswith("12->14/") for f in m["flows"])}
    waits = [f for f in done.findings() if f["type"] in ("flow-contention", "incast")]
    check(all((f["root"], flow) in contended for f in waits for flow in f["flows"]), f"{name}: who is named met the step there",
          [(f["type"], f["root"], f["flows"]) for f in waits])
    named = {flow.split("/")[0] for f in waits for flow in f["flows"]}
    check(named == culprits, f"{name}: {', '.join(sorted(culprits)) or 'nobody'} is named", named)


LONG_PATH = [["0:4", "5:2", "1:1"], ["1:4", "5:1", "0:2"]]
done = run("20MB", "3550us", [("13", "14", 'bytes = "20MB"; start = "0us";', *LONG_PATH),
                              ("16", "14", 'bytes = "40MB"; start = "50us";')])
check_contended(done, "a flow that ended 0.15 ms before the step began", {"16->14"})

done = run("40MB", "0us", [("13", "14", 'bytes = "70MB"; start = "10us";', *LONG_PATH),
                           ("16", "14", 'bytes = "12MB"; start = "1600us";')], [("4:1", "1500us", "3000us")])
check_contended(done, "a flow that came and went during a storm", {"13->14"})
check([f["root"] for f in done.findings("pfc-storm")] == ["4:1"], "the storm is found", done.findings("pfc-storm"))

done = run("20MB", "400us", [("13", "15", 'bytes = "2MB"; start = "1us";', ["0:3", "4:2", "1:2"], ["1:3", "4:1", "0:2"])],
           [("1:3", "100us", "50us"), ("1:3", "500us", "300us")])
check_contended(done, "two flows through a port that was halted for each of them", set())
check([f["root"] for f in done.findings()] == ["1:3"], "the storm is found, and nothing else", done.findings())

done = run("20MB", "400us", [("13", "15", 'bytes = "2MB"; start = "450us";', ["0:3", "4:2", "1:2"], ["1:3", "4:1", "0:2"])],
           [("1:3", "500us", "300us")])
check_contended(done, "two flows through a port that was halted for both", {"13->15"})

# 14->15 has left 1:2 when 13->15 and 16->15 fill it and halt 4:2, which 12->14 goes through.
done = run("20MB", "0us", [("13", "15", 'bytes = "30MB"; start = "400us";', ["0:4", "5:2", "1:2"], ["1:4", "5:1", "0:2"]),
                           ("16", "15", 'bytes = "30MB"; start = "400us";',
                            ["2:3", "6:3", "8:1", "4:2", "1:2"], ["1:3", "4:3", "8:2", "6:1", "2:1"]),
                           ("14", "15", 'bytes = "1500KB"; start = "0us";')])
named = {flow.split("/")[0] for f in done.findings("pfc-backpressure") if f["root"] == "1:2" for flow in f["flows"]}
check(named == {"13->15", "16->15"}, "a flow that left the root before its queue grew has no part in it", named)
