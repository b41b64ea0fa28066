#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The default headroom holds what comes while a PAUSE is under way: every size of frames, cables of unlike rates and
lengths, several classes, with data, ACKs and polling packets on the way that the PAUSE takes."""
from harness import SANITIZED, check, dpswitch, rocelab, scenario_file

ALIKE = ["100Gbps 1us"] * 5
UNLIKE = ["25Gbps 5us", "400Gbps 20us", "25Gbps 1us", "10Gbps 10ns", "100Gbps 100ns"]
SHORT = ["400Gbps 10ns", "10Gbps 10ns", "100Gbps 10ns", "400Gbps 10ns"]
# payload, bytes beyond it (0: those of real frames), ACKs, polling packets
SIZES = [(1, 20, 0, 90), (1, 0, 86, 90), (20, 82, 1500, 20), (64, 100, 300, 1500), (256, 0, 0, 90), (1024, 0, 0, 90),
         (4096, 0, 0, 90), (9000, 1000, 86, 1500)]
MODELS = {"dynamic": "", "static": 'model = "static"; xoff = 20000;',
          "restless": 'model = "static"; xoff = 20000; xon_offset = 0; reserve = 0;'}


def incast(cables, size, model, classes):
    """Every host sends to the first one, and that one to every other. Nobody polls: behind so many ACKs a polling packet may
    find no room at its NIC."""
    mtu, overhead, ack, control = size
    names = [f"h{i}" for i in range(len(cables))]
    flows = []
    for i, name in enumerate(names[1:], 1):
        prio = classes[i % len(classes)]
        flows += [f'{{ src = "{a}"; dst = "{b}"; sport = {base + i}; bytes = {min(mtu * 1500, 400_000)}; prio = {prio}; }}'
                  for a, b, base in ((name, "h0", 1000), ("h0", name, 2000))]
    links = ", ".join(f'"{name} {"AB"[i % 2]} {cable}"' for i, (name, cable) in enumerate(zip(names, cables)))
    overheads = f"data_overhead = {overhead}; " if overhead else "data_overhead = 66; " if mtu < 256 else ""
    return scenario_file(f"""topology = {{ kind = "explicit"; hosts = [ {", ".join(f'"{n}"' for n in names)} ];
  switches = [ "A", "B" ]; links = ( {links}, "A B 100Gbps 1us" ); }};
flows = ( {", ".join(flows)} );
host = {{ mtu = {mtu}; {overheads}ack_bytes = {ack}; control_bytes = {control}; window = "none";
  cc = "none"; }};
switch = {{ control_queue = "1GB"; ecn = {{ enabled = false; }};
  pfc = {{ {MODELS[model]} priorities = [ {", ".join(f'"{c}"' for c in classes)} ]; }}; }};
detection = {{ policy = "off"; }};
""")


def lossless(run, name):
    drops = {reason: count for reason, count in run.run["drops"].items() if count}
    check(run.run["end_reason"] == "complete" and not drops, f"{name}: nothing is lost",
          (run.run["end_reason"], run.run.get("error"), drops))
    return run


def every_size():
    for size in SIZES:
        for name, cables in (("alike", ALIKE), ("unlike", UNLIKE), ("short", SHORT)):
            for model in MODELS if not SANITIZED else ["static"]:
                for classes in [3], [3, 4, 5]:
                    lossless(dpswitch(incast(cables, size, model, classes), "--quiet", expect=None),
                             f"payload {size[0]} B, cables {name}, {model}, {len(classes)} classes")


def polled():
    """Polling packets larger than data beside the PAUSE frames."""
    text = """topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 3; delay = "1us"; };
collectives = ( { ranks = [ "h0", "h3", "h1", "h4" ]; step_bytes = 100000; } );
flows = ( { src = "h2"; dst = "h3"; sport = 20001; bytes = 400000; },
  { src = "h5"; dst = "h0"; sport = 20002; bytes = 400000; } );
host = { mtu = 64; data_overhead = 100; ack_bytes = 300; control_bytes = 1500; window = "none";
  cc = "none"; };
switch = { control_queue = "1GB"; ecn = { enabled = false; }; pfc = { model = "static"; xoff = 20000; }; };
detection = { policy = "vedrfolnir"; rtt_percent = 101; detections = 10; };
"""
    run = lossless(rocelab(scenario_file(text), expect=None), "large polling packets")
    check(run.run["overhead"]["polls"] > 0, "large polling packets: there were some", run.run["overhead"])


every_size()
polled()
