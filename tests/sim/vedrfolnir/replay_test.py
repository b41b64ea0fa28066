#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A recorded stream is all that a diagnosis needs: with truth, steps and scenario gone it gives the same verdict, byte for
byte; and it outlives the analyzer that it was meant for."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

from cases import fault, small
from harness import (ANALYZER, FINDING, STALL_LIMIT_S, ROCELAB, SANITIZED, SCENARIOS, Run, analyzer_page, check, command, dpswitch,
                     fail, rocelab, scenario_file, scratch, sets, reported)

REPORTS = ("verdict.json", "report.txt", "report.html", "waiting.dot", "provenance.dot")
# seconds of a run and telemetry throughout, so that there is time to kill the analyzer in it
LONG = sets(**{"collectives__[0]__step_bytes": "5MB" if SANITIZED else "60MB", "flows__[0]__start": "100us",
               "flows__[1]__start": "200us", "flows__[0]__bytes": "2MB", "flows__[1]__bytes": "20MB",
               "detection__lag_percent": 0})


def diagnosed(directory, *args):
    done = command(ROCELAB, "diagnose", directory, *args)
    return Run(directory, done)


def written(directory, report):
    """By the analyzer: what the page has of the scenario comes from files that are gone."""
    return analyzer_page(directory) if report == "report.html" else (directory / report).read_bytes()


def from_the_recording_alone():
    stories = {
        "case study": SCENARIOS / "case-study.cfg",
        "storm": SCENARIOS / "pfc-storm.cfg",
        "an open deadlock": small(*[fault("misroute", dst="b1", port=p, start="50us") for p in ("A:1", "S:1")],
                                  extra='host = { timeout = "0ps"; };\nlimits = { stall = "10ms"; };\n'),
    }
    for name, scenario in stories.items():
        elsewhere = scratch()
        shutil.copytree(scenario.parent, elsewhere / "s")
        scenario = elsewhere / "s" / scenario.name
        run = rocelab(scenario)
        shutil.rmtree(elsewhere / "s")
        first = {report: written(run.dir, report) for report in REPORTS}
        for path in run.dir.iterdir():
            if path.name != "records.bin":
                path.unlink()
        diagnosed(run.dir)
        for report in REPORTS:
            check(written(run.dir, report) == first[report], f"{name}: {report} is the same again", run.dir)
        # into another directory, the recording untouched
        other = scratch() / "new" / "place"
        before = (run.dir / "records.bin").read_bytes()
        command(ROCELAB, "diagnose", run.dir, "--out", other)
        check((other / "verdict.json").read_bytes() == first["verdict.json"], f"{name}: and in another directory")
        check((run.dir / "records.bin").read_bytes() == before, f"{name}: the recording stays as it was")
        check(run.findings(), f"{name}: there was something to find", run.verdict)
        command(ROCELAB, "diagnose", run.dir, "--fail-on-finding", expect=FINDING)
        shown = command(ROCELAB, "diagnose", run.dir, "--json").stdout
        check(shown.encode() == first["verdict.json"], f"{name}: --json prints it", shown[:200])


def live_and_recorded_agree():
    """The analyzer that listened and the one that read the file saw the same."""
    run = rocelab(SCENARIOS / "incast.cfg")
    alone = dpswitch(SCENARIOS / "incast.cfg")
    diagnosed(alone.dir)
    check((alone.dir / "verdict.json").read_bytes() == (run.dir / "verdict.json").read_bytes(),
          "a run without analyzer is diagnosed later with the same verdict")


def analyzer_of(pid):
    """The analyzer that a rocelab started, None before it did."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            if pathlib.Path(os.readlink(f"/proc/{child}/exe")) == ANALYZER.resolve():
                return int(child)
        except OSError:
            continue  # it has not become the analyzer yet, or is gone
    return None


def killed_mid_run():
    out, scenario = scratch(), SCENARIOS / "case-study.cfg"
    args = [ROCELAB, "run", scenario, "--out", out, *LONG]
    run = subprocess.Popen([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + STALL_LIMIT_S
    while not (out / "records.bin").exists() or (out / "records.bin").stat().st_size < 20_000:
        if run.poll() is not None or time.monotonic() > deadline:
            fail(f"the run ended or hangs before its analyzer could be killed: {run.communicate()}")
        time.sleep(0.002)
    os.kill(analyzer_of(run.pid), signal.SIGKILL)
    stdout, stderr = run.communicate(timeout=STALL_LIMIT_S)
    check(run.returncode == 1, "analyzer killed: exit code 1", (run.returncode, stdout, stderr))
    check("analyzer" in stderr and "records.bin" in stderr, "analyzer killed: the run says so", stderr)
    check(f"rocelab diagnose {out}" in stderr, "analyzer killed: and what to do", stderr)
    check(not (out / "verdict.json").exists(), "analyzer killed: there is no verdict", list(out.iterdir()))
    done = Run(out)
    check(done.run["end_reason"] == "complete", "analyzer killed: the run went on to its end", done.run)
    check(done.run["export"]["analyzer_lost"] != 0, "analyzer killed: run.json knows", done.run["export"])
    diagnosed(out)
    whole = rocelab(scenario, *LONG)
    check((out / "verdict.json").read_bytes() == (whole.dir / "verdict.json").read_bytes(),
          "analyzer killed: the recording gives the verdict of an undisturbed run")


def stale_verdicts():
    """A verdict of an earlier run must not pass for this one's."""
    run = rocelab(small())
    command(ROCELAB, "run", small(fault("meteor")), "--out", run.dir, expect=2)
    check((run.dir / "records.bin").stat().st_size > 1000, "a refused run leaves the earlier recording", run.dir)
    records = run.dir / "records.bin"
    records.write_bytes(records.read_bytes()[:16])
    done = command(ROCELAB, "diagnose", run.dir, expect=2)
    check("run record" in reported(done), "an empty stream is no verdict", reported(done))


def imported():
    """A scenario that names a file beside it."""
    path = scenario_file('topology = { kind = "ns3"; file = "net.txt"; };\n'
                         'collectives = ( { op = "allgather"; algorithm = "ring"; bytes = "100KB"; } );\n', "imported.cfg")
    (path.parent / "net.txt").write_text("4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 100Gbps 0.001ms 0\n")
    return path


def from_the_effective_configuration():
    """effective.cfg gives the same recording, byte for byte: the name, which the first file did not say, included."""
    odd = 'a "small" \\ case.cfg'
    for scenario, args in ((small(name=odd), ("--seed", "7")), (SCENARIOS / "incast.cfg", ()), (imported(), ())):
        run = dpswitch(scenario, *args)
        check(run.run["name"] == scenario.stem, "effective.cfg: a run is named after its file", run.run["name"])
        again = dpswitch(run.dir / "effective.cfg")
        check(again.run["name"] == scenario.stem, f"effective.cfg: {scenario.stem} keeps its name", again.run["name"])
        for name in ("records.bin", "steps.csv", "truth.json"):
            check((again.dir / name).read_bytes() == (run.dir / name).read_bytes(), f"effective.cfg: the same {name}", run.dir)


from_the_recording_alone()
from_the_effective_configuration()
live_and_recorded_agree()
killed_mid_run()
stale_verdicts()
