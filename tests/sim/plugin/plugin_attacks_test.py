#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs from outside that break every rule there is: the run continues without them, says so, and nothing is left of them."""
import json
import os
import pathlib
import time

from harness import (ANALYZER, STALL_LIMIT_S, ROCELAB, SCENARIOS, Run, check, command, rocelab, scenario_file, scratch, reported,
                     within)

CASE = SCENARIOS / "case-study.cfg"
SHORT = ("--set", "collectives.[0].step_bytes=2MB")

# Each answers turns until the second, where it does what its name says; it hears no more than it must.
ATTACK = r"""#!/usr/bin/env python3
import json, os, signal, socket, sys, time
records, control = socket.socket(fileno=3), socket.socket(fileno=4)
said = control.makefile("rb")
def say(data):
    control.sendall(data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n")
FOUND = {"type": "x", "where": {"ports": ["6:2"]}, "time": {"start_ns": 0, "end_ns": 1}, "confidence": 1, "evidence": "e"}
def finding(**more):
    say({"finding": {**FOUND, **more}})
def fork():
    for _ in range(3):
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
            os._exit(0)
    os._exit(0)
ATTACKS = {
    "exits": lambda: sys.exit(3),
    "is-killed": lambda: os.kill(os.getpid(), signal.SIGABRT),
    "closes-control": lambda: (said.close(), control.shutdown(socket.SHUT_RDWR), time.sleep(600)),
    "closes-records": lambda: (records.shutdown(socket.SHUT_RDWR), time.sleep(600)),
    "reads-no-more": lambda: (records.shutdown(socket.SHUT_RDWR), say({"done": 2})),
    "half-a-line": lambda: (say(b'{"done": '), os._exit(0)),
    "no-newline": lambda: [say(b"x" * (1 << 20)) for _ in range(1024)],
    "no-json": lambda: say(b"hello\n"),
    "no-utf8": lambda: say(b'{"poll": {"port": "\xff\xfe"}}\n'),
    "deep-nesting": lambda: say(b"[" * 60000 + b"\n"),
    "an-array": lambda: say(b"[1]\n"),
    "two-members": lambda: say({"done": 2, "poll": {"port": "6:2"}}),
    "unknown-port": lambda: say({"poll": {"port": "6:99"}}),
    "unknown-flow": lambda: say({"poll": {"flow": "a->b/1>2"}}),
    "unknown-host": lambda: say({"probe": {"from": "17", "to": "nobody"}}),
    "million-polls": lambda: say(b'{"poll": {"port": "6:2"}}\n' * 1000000),
    "wrong-turn": lambda: say({"done": 99}),
    "empty-where": lambda: finding(where={}),
    "foreign-port": lambda: finding(where={"ports": ["nowhere:1"]}),
    "foreign-flow": lambda: finding(flows=["17->18/1>1"]),
    "foreign-step": lambda: (finding(steps=[{"collective": 9, "rank": 0, "step": 1}]), say({"done": 2})),
    "foreign-job": lambda: (finding(job=7), say({"done": 2})),
    "unknown-field": lambda: finding(cost=3),
    "negative-time": lambda: finding(time={"start_ns": -1, "end_ns": 1}),
    "ends-before": lambda: finding(time={"start_ns": 2, "end_ns": 1}),
    "huge-time": lambda: finding(time={"start_ns": 0, "end_ns": 1 << 62}),
    "sure-of-it": lambda: finding(confidence=1.5),
    "long-evidence": lambda: finding(evidence="e" * 1000),
    "escape-codes": lambda: finding(evidence="\x1b[31mred"),
    "braces": lambda: (finding(evidence="{port} {nothing} {", type="braces"), say({"done": 2})),
    "like-one-of-ours": lambda: (finding(type="path-imbalance"), finding(type="pfc-storm"), say({"done": 2})),
    "floods": lambda: ([finding() for _ in range(5000)], say({"done": 2})),
    "forks": fork,
    "freezes": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}
name = os.environ["ATTACK"]
if name == "at-once":
    sys.exit(5)
for line in said:
    line = json.loads(line)
    if line["is"] not in ("turn", "end"):
        continue
    if line["turn"] == 2:
        try:
            ATTACKS[name]()
        except OSError:
            sys.exit(0)
    if line["turn"] != 2:
        say({"done": line["turn"]})
"""

# What is said of each; None: nothing is wrong with it. Those of ENDS have said what they found before.
REPLIES = {
    "at-once": "it ended with status 5 before the run did",
    "exits": "it ended with status 3 before the run did",
    "is-killed": "it was killed (signal 6",
    "closes-control": "it closed its control socket",
    "closes-records": "it did not answer turn 2",
    "reads-no-more": "it closed its record socket",
    "half-a-line": "it ended with status 0 before the run did",
    "no-newline": "a line of more than 65536 bytes",
    "no-json": "is no JSON",
    "no-utf8": "unable to decode byte 0xff",
    "deep-nesting": "is no JSON",
    "an-array": 'no object with one of "done"',
    "two-members": 'no object with one of "done"',
    "unknown-port": 'there is no such port',
    "unknown-flow": 'there is no such flow',
    "unknown-host": 'there is no such host',
    "million-polls": "more than 10000 lines in one turn",
    "wrong-turn": "done with turn 99, and this is turn 2",
    "empty-where": "names no port, link or host",
    "foreign-port": "there is no such port",
    "foreign-flow": "there is no such flow",
    "foreign-step": "step 1 of rank 0 in iteration 0 of collective 9, and there is none",
    "foreign-job": "names job 7, and there is none",
    "unknown-field": 'has "cost", which no finding has',
    "negative-time": '"start_ns" is -1',
    "ends-before": "ends before it starts",
    "huge-time": '"end_ns" is 4611686018427387904',
    "sure-of-it": '"confidence" is 1.5; right would be 0 to 1',
    "long-evidence": '"evidence" has 1000 bytes',
    "escape-codes": "a control character, 27",
    "braces": None,
    "like-one-of-ours": None,
    "floods": None,
    "forks": "it ended with status 0 before the run did",
    "freezes": "it did not answer turn 2 within 10 s",
}
SLOW = ("closes-records", "freezes")  # these are waited for


def attacker(name="attacker"):
    path = scratch() / name
    path.write_text(ATTACK)
    path.chmod(0o755)
    return path


def of_program(path):
    """Processes whose command line names it."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(path).encode() in (entry / "cmdline").read_bytes() and b"rocelab" not in (entry / "cmdline").read_bytes()[:200].split(b"\0")[0]:
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def run_with(name, *programs, scenario=CASE, args=SHORT):
    os.environ["ATTACK"] = name
    out = scratch()
    diagnosers = [word for program in programs for word in ("--diagnoser", program)]
    began = time.monotonic()
    done = command(ROCELAB, "run", scenario, "--out", out, *diagnosers, *args, expect=None, timeout=STALL_LIMIT_S)
    run = Run(out, done)
    check(run.code == any(section["left_out"] for section in run.verdict["plugins"]), f"{name}: exit code 1 where a program was left out",
          (run.code, run.stderr))
    return run, began


def attacks():
    for name, refusal in REPLIES.items():
        program = attacker()
        run, began = run_with(name, program)
        section = run.verdict["plugins"][0]
        why = section["why"]
        check(refusal is None and not section["left_out"] or refusal is not None and section["left_out"] and refusal in why, name, section)
        check(refusal is None or (why in run.stderr and "left out" in " ".join(run.report.split())), "  the user is informed",
              run.stderr)
        check(run.verdict["collectives"][0]["complete"], "  the run went on")
        check(of_program(program) == [], "  nothing is left of it", of_program(program))
        check(within(began, 40 if name in SLOW else 30), "  nobody waited for it", time.monotonic() - began)
        if name == "floods":
            check(len(section["findings"]) == 1000 and section["refused"] == 4000, "  a thousand findings are enough", section["refused"])
        if name == "braces":
            check("(port) (nothing) (" in run.report + str(run.findings("braces")), "  is reported as it is", run.findings("braces"))


def not_begun():
    folder = scratch()
    (folder / "no-program").write_text("#!/bin/sh\n")
    (folder / "no-interpreter").write_text("#!/nowhere/at-all\n")
    (folder / "no-format").write_text("hello\n")
    for name in ("no-interpreter", "no-format"):
        (folder / name).chmod(0o755)
    for path, refusal in ((folder / "nobody", "No such file"), (folder, "no regular file"), (folder / "no-program", "chmod +x"),
                       (folder / "no-interpreter", "cannot be run"), (folder / "no-format", "cannot be run"),
                       ("vedrfolnir.py", "with a slash")):
        out = scratch()
        done = command(ROCELAB, "run", CASE, "--out", out, "--diagnoser", path, *SHORT, expect=2)
        check(refusal in done.stderr and not (out / "records.bin").exists(), f"refused before the run: {refusal}", done.stderr)
    five = [word for _ in range(5) for word in ("--diagnoser", attacker())]
    done = command(ROCELAB, "run", CASE, "--out", scratch(), *five, *SHORT, expect=2)
    check("4 at most" in done.stderr, "five are too many", done.stderr)


def beside_a_good_one():
    good = scratch() / "good"
    good.write_text("""#!/usr/bin/env python3
import json, socket
control = socket.socket(fileno=4)
for line in control.makefile("rb"):
    line = json.loads(line)
    if line["is"] in ("turn", "end"):
        control.sendall(json.dumps({"done": line["turn"]}).encode() + b"\\n")
""")
    good.chmod(0o755)
    run, _ = run_with("no-json", attacker(), good)
    left = [(s["name"], s["left_out"]) for s in run.verdict["plugins"]]
    check(left == [("./attacker", True), ("./good", False)], "one is left out, the other stays", left)


def in_real_time():
    scenario = scenario_file("""
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 2; rate = "1Gbps"; delay = "20us"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "2MB"; } );
timing = { clock = "real"; };
""")
    program = attacker()
    run, began = run_with("freezes", program, scenario=scenario, args=())
    section = run.verdict["plugins"][0]
    check(section["left_out"] and within(began, 60), "frozen in real time: waited for at the end alone", (section, time.monotonic() - began))
    check(of_program(program) == [], "  nothing is left of it", of_program(program))


def over_a_recording():
    """What a program may not do has the same end where it reads a recording, and where its verdict is made again."""
    run = rocelab(CASE, *SHORT)
    for name in ("at-once", "is-killed", "no-json", "foreign-step"):
        os.environ["ATTACK"] = name
        out = scratch()
        done = command(ROCELAB, "diagnose", run.dir, "--out", out, "--diagnoser", attacker(), "--json", expect=1)
        section = json.loads(done.stdout)["plugins"][0]
        check(section["left_out"] and REPLIES[name] in section["why"], f"{name} over a recording", section)
        lines = [line for line in done.stderr.splitlines() if "was excluded" in line]
        check(len(lines) == 1 and section["why"] in lines[0], "  the user is informed once", done.stderr)
        args = ("--read", run.dir / "records.bin", "--plugins", out / "plugins.json", "--out", scratch())
        done = command(ANALYZER, *args, expect=1)
        check(section["why"] in done.stderr, "  and by the analyzer", done.stderr)
        command(ANALYZER, *args, "--allow-left-out")
    followed, _ = run_with("exits", attacker())
    done = command(ROCELAB, "diagnose", followed.dir, expect=1)
    check(REPLIES["exits"] in done.stderr, "the verdict made again lacks the same program", done.stderr)


def side_by_side():
    for name in ("exits", "foreign-step"):
        os.environ["ATTACK"] = name
        out = scratch()
        args = (CASE, *SHORT, "--out", out, "--diagnosers", "vedrfolnir", "--diagnoser", attacker())
        done = command(ROCELAB, "run", *args, expect=1)
        row = {s["name"]: s for s in Run(out).json("comparison.json")["systems"]}["./attacker"]
        check(REPLIES[name] in row["why"] and "findings" in row, f"{name} side by side: the row says why", row)
        check(f"./attacker: left out: {row['why'].removeprefix('left out: ')}" in done.stdout, "  so does the table", done.stdout)
        base = next(r for r in Run(out).json("comparison.json")["runs"] if r["run"] == ".")
        check("diagnoser ./attacker was left out" in base["why"], "  and its run", base)
        check("did not end well" not in done.stdout + done.stderr, "  which ended well", reported(done))
        done = command(ROCELAB, "diagnose", out, expect=1)
        check(REPLIES[name] in done.stderr and REPLIES[name] in done.stdout, "  again from the recording", reported(done))


def tampered():
    run, _ = run_with("braces", attacker())
    path = run.dir / "plugins.json"
    text = path.read_text()
    for bad, refusal in ((text.replace("./attacker", "pingmesh"), "begins with ./"), (text[:100], "plugins.json"),
                      (text.replace('"confidence": 1.0', '"confidence": 7'), "confidence"), ("[]", "no array"),
                      (text.replace("6:2", "nowhere:1"), None)):
        path.write_text(bad)
        done = command(ROCELAB, "diagnose", run.dir, expect=1 if refusal is None else 0)
        check(refusal is None or refusal in done.stderr, f"plugins.json that is not right: {refusal}", done.stderr)
    check(run.verdict["plugins"][0]["left_out"], "names that are not there", run.verdict["plugins"])


def main():
    not_begun()
    attacks()
    beside_a_good_one()
    in_real_time()
    over_a_recording()
    side_by_side()
    tampered()


main()
