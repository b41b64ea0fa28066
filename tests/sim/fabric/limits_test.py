#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All pairs of what keeps a run going and what ends it: the tightest limit ends the run and is named."""
import itertools

from cases import fault, ring, small
from harness import ROCELAB, Run, check, command, scratch

END_MS = 4
FLOW = 'src = "a1"; dst = "b1"; sport = 77;'
# What keeps a run going to 4 ms or beyond: extra groups, collective, arguments; whether work of hosts is left at 2 ms.
GOES_ON = {
    "pingmesh.duration": ({"pingmesh": '{ enabled = true; time_factor = 0.001; duration = "4ms"; }'}, None, ()),
    "limits.hold": ({}, {}, ("--set", "limits.hold=4ms")),
    "--hold": ({}, {}, ("--hold", "4ms")),
    "a job": ({}, {"iterations": 3, "gap": "2ms"}, ()),
    "a collective's start": ({}, {"start": "4ms"}, ()),
    "a flow": ({"flows": f"( {{ {FLOW} bytes = 50000000; }} )"}, None, ()),
    "a flow's start": ({"flows": f'( {{ {FLOW} bytes = 5000; start = "4ms"; }} )'}, None, ()),
    "a generator": ({"generators": '( { kind = "incast"; src = [ "a1", "a2" ]; dst = [ "b1" ]; degree = 2; bytes = 20000; '
                                   'period = "500us"; until = "4500us"; } )'}, None, ()),
    "FlowTracer": ({"flowtracer": '{ enabled = true; rtt = "1ms"; start = "3ms"; }'}, {}, ()),
    "FlowPulse": ({"flowpulse": '{ enabled = true; prediction = "learned"; }'}, {"iterations": 3, "gap": "2ms"},
                  ("--set", "collectives.[0].measured=true")),
}


def text_of(*names):
    """Extra groups, collective and arguments of a scenario that several of GOES_ON keep going."""
    groups, steps, args = {}, None, []
    for name in names:
        of_name = GOES_ON[name]
        groups |= of_name[0]
        steps = steps if of_name[1] is None else {**(steps or {}), **of_name[1]}
        args += of_name[2]
    extra = "".join(f"{key} = {value};\n" for key, value in groups.items())
    return extra, "" if steps is None else ring(step_bytes=20_000, **steps), args


def run_to(words, text, expect):
    extra, collective, args = text
    out = scratch()
    done = command(ROCELAB, "run", small(extra=extra, collective=collective), "--out", out, *args, *words, expect=expect)
    return Run(out, done)


def virtual_time_ends_all():
    for name in GOES_ON:
        text = text_of(name)
        run = run_to(("--set", "limits.virtual_time=2ms"), text, 5)
        check(run.run["end_reason"] == "virtual_time" and run.run["end_limit"] == "limits.virtual_time", f"limit, {name}", run.run)
        check(run.run["virtual_ns"] == 2_000_000, f"limit, {name}: at the very time", run.run["virtual_ns"])
        check("limits.virtual_time ended the run at 2ms" in run.stderr, f"limit, {name}: reported", run.stderr)
        run = run_to(("--set", "limits.virtual_time=50ms"), text, 0)
        check(run.run["end_reason"] == "complete" and "end_limit" not in run.run, f"a wide limit, {name}", run.run)
        check(run.run["virtual_ns"] >= END_MS * 1_000_000, f"a wide limit, {name}: to its end", run.run["virtual_ns"])
        check(run.run["virtual_ns"] < 50_000_000, f"a wide limit, {name}: and not to the limit", run.run["virtual_ns"])


def virtual_time_ends_two():
    """Two at once that keep a run going; of two of a kind the second stands."""
    for names in itertools.combinations(GOES_ON, 2):
        run, name = run_to(("--set", "limits.virtual_time=2ms"), text_of(*names), 5), " and ".join(names)
        check((run.run["end_reason"], run.run["end_limit"], run.run["virtual_ns"]) == ("virtual_time", "limits.virtual_time", 2_000_000),
              f"limit, {name}", run.run)


def without_a_limit():
    """What is asked for is longer than the default limit."""
    run = run_to(("--hold", "70s", "--set", "telemetry.epoch=1s"), ("", ring(step_bytes=20_000), ()), 0)
    check(run.run["end_reason"] == "complete" and run.run["virtual_ns"] >= 70e9, "a hold beyond the default limit", run.run)


def a_stall_ends_all():
    """Bytes that do not move end the run after limits.stall, however long it was to continue."""
    storm = fault("pfc-storm", port="b1:1", start="1us")
    stuck = '{ src = "a2"; dst = "b1"; sport = 78; bytes = 5000000; start = "0s"; }'
    for name in GOES_ON:
        extra, collective, args = text_of(name)
        extra = extra.replace("flows = (", f"flows = ( {stuck},") if "flows" in extra else f"flows = ( {stuck} );\n" + extra
        out = scratch()
        path = small(storm, extra=extra, collective=collective)
        done = command(ROCELAB, "run", path, "--out", out, *args, "--set", "host.timeout=0ps", "--set", "limits.stall=2ms", expect=5)
        run = Run(out, done).run
        check(run["end_reason"] == "stall" and run["end_limit"] == "limits.stall", f"stall, {name}", run)
        check(2_000_000 <= run["virtual_ns"] < 4_000_000, f"stall, {name}: within what it waits for", run["virtual_ns"])
        done = command(ROCELAB, "run", path, "--out", out, *args, "--set", "host.timeout=0ps", "--set", "limits.stall=2ms",
                       "--set", "limits.virtual_time=1ms", expect=5)
        run = Run(out, done).run
        check(run["end_reason"] == "virtual_time" and run["virtual_ns"] == 1_000_000, f"stall, {name}: a tighter limit", run)


def the_tightest_of_two():
    """Both limits would end the run. run.json, the verdict, the store and stderr name the one that did."""
    path = small(fault("pfc-storm", port="b1:1", start="1us"),
                 extra=f'flows = ( {{ {FLOW} bytes = 5000000; start = "0s"; }} );\n', collective="")
    for limits, reason in (({"stall": "2ms", "virtual_time": "5ms"}, "stall"), ({"stall": "5ms", "virtual_time": "2ms"}, "virtual_time")):
        name, out = " ".join(f"{key} {value}" for key, value in limits.items()), scratch()
        sets = [word for key, value in limits.items() for word in ("--set", f"limits.{key}={value}")]
        done = command(ROCELAB, "run", path, "--out", out, "--set", "host.timeout=0ps", *sets, expect=5)
        run = Run(out, done)
        check(run.run["end_reason"] == reason and run.run["end_limit"] == f"limits.{reason}", f"{name}: run.json", run.run)
        check(2_000_000 <= run.run["virtual_ns"] < 5_000_000, f"{name}: at the tighter", run.run["virtual_ns"])
        check(run.verdict["evidence"]["ending"] == reason, f"{name}: verdict.json", run.verdict["evidence"]["ending"])
        check(f"limits.{reason} ended the run" in done.stderr, f"{name}: stderr", done.stderr)
        listed = command(ROCELAB, "query", out, "SELECT value FROM run WHERE key = 'end_reason'", "--csv").stdout
        check(listed.split() == ["value", reason], f"{name}: the store", listed)


virtual_time_ends_all()
virtual_time_ends_two()
the_tightest_of_two()
without_a_limit()
a_stall_ends_all()
