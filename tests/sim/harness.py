# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs as a person would and looks at what they leave behind.

Environment, set by meson: ROCELAB_BUILD (build directory), ROCELAB_SOURCE (repository), ROCELAB_SANITIZED=1 for a build
with sanitizers, whose runs tests cut down, ROCELAB_REPEATS=1 for a test that such a build leaves to a long run. A test
prints "ok NAME" per check and exits non-zero at the first that fails.
"""
import concurrent.futures
import csv
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

# Whoever runs tests under nohup still tries what hangups do.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

BUILD = pathlib.Path(os.environ["ROCELAB_BUILD"])
SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
SANITIZED = os.environ.get("ROCELAB_SANITIZED", "") == "1"
LONG = os.environ.get("ROCELAB_LONG", "") == "1"  # scripts/test --long
SCENARIOS = SOURCE / "topo" / "scenarios"
ROCELAB = BUILD / "cli" / "rocelab"
DPSWITCH = BUILD / "dpswitch" / "dpswitch"
ANALYZER = BUILD / "diag" / "analyzer"
# For what must happen at some time: long enough that only what hangs exceeds it, however busy the machine is.
STALL_LIMIT_S = 600
# common/program.h
NOT_BEGUN, FINDING, UNFINISHED, SLOWER, SKIP, INTERRUPTED = 3, 4, 5, 6, 77, 130
# What a program says of itself when it broke rather than ended.
BROKEN = ("Sanitizer", "runtime error:", "Assertion", "Traceback", "core dumped", "Segmentation", "stack smashing")


def fail(message):
    print(f"FAIL: {message}", flush=True)
    sys.exit(1)


def check(condition, name, detail=""):
    if not condition:
        fail(f"{name}: {detail}")
    print(f"ok {name}", flush=True)


def skip(reason):
    print(f"SKIPPED: {reason}", flush=True)
    sys.exit(SKIP)


def long_run(what):
    """Whether this is a long run; a short one reports what it leaves out (scripts/sum_tests.py)."""
    if not LONG:
        print(f"LEFT OUT: {what}", flush=True)
    return LONG


def for_long_run(what):
    """Ends the test here in a short run."""
    if not long_run(what):
        skip("scripts/test --long runs it")


if SANITIZED and os.environ.get("ROCELAB_REPEATS", "") == "1":
    for_long_run("under sanitizers")


def cpus():
    return len(os.sched_getaffinity(0))


def side_by_side(function, items):
    """function(item) of each, as many at a time as there are processors. @return the results, in order; the first that fails, fails"""
    with concurrent.futures.ThreadPoolExecutor(cpus()) as pool:
        try:
            return list(pool.map(function, items))
        except SystemExit:
            pool.shutdown(cancel_futures=True)
            raise


def until(what, condition, process=None, timeout=STALL_LIMIT_S):
    """Waits for a condition; fails when the process that is to bring it about has ended without it."""
    end = time.monotonic() + timeout
    while not condition():
        ended = process is not None and process.poll() is not None
        if ended and condition():
            return
        if ended or time.monotonic() > end:
            fail(f"waiting until {what}: {f'exit code {process.returncode}' if ended else f'not after {timeout} s'}")
        time.sleep(0.02)


LOOPS_A_SECOND = 40_000_000  # of SPIN, by a processor of 2020 that does nothing else
SPIN = """import time
end, loops = time.monotonic() + 0.4, 0
while time.monotonic() < end:
    for _ in range(1000): pass
    loops += 1000
print(loops)"""


def slowness():
    """How many times less the machine carries, now or in the last minute, than one at rest: 1 or more. All processors are measured."""
    spins = [subprocess.Popen([sys.executable, "-S", "-c", SPIN], stdout=subprocess.PIPE, text=True) for _ in range(cpus())]
    loops = sum(int(spin.communicate()[0]) for spin in spins)
    return max(1, 0.4 * LOOPS_A_SECOND * cpus() / loops, os.getloadavg()[0] / os.cpu_count())


def within(start_s, limit_s):
    """Whether less than this has passed since time.monotonic() was start_s, or would have on a machine at rest."""
    took_s = time.monotonic() - start_s
    return took_s < limit_s or took_s < limit_s * slowness() * (8 if SANITIZED else 1)


def file_limit(size_bytes):
    """For preexec_fn: no file of the program grows beyond this, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))


def descendants(pid):
    """All processes below one, as far as they still live."""
    found, parents = [], {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def reported(done):
    """All that a program printed, in lower case."""
    return (done.stdout + done.stderr).lower()


def command(*args, expect=0, timeout=STALL_LIMIT_S, **kwargs):
    """Runs a program to its end; fails unless it exits with the expected code (None: any that is no crash)."""
    line = " ".join(map(str, args))
    try:
        done = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=timeout, **kwargs)
    except subprocess.TimeoutExpired:
        fail(f"{line}: still running after {timeout} s")
    output = f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    if done.returncode < 0 or (done.returncode >= 126 and done.returncode != INTERRUPTED) or any(word in output for word in BROKEN):
        fail(f"{line}: it broke, exit code {done.returncode}\n{output}")
    if expect is not None and done.returncode != expect:
        fail(f"{line}: exit code {done.returncode}, expected {expect}\n{output}")
    return done


class Run:
    """The output directory of one run, and what the program printed."""

    def __init__(self, directory, done=None):
        self.dir = pathlib.Path(directory)
        self.stdout = done.stdout if done else ""
        self.stderr = done.stderr if done else ""
        self.code = done.returncode if done else None

    def json(self, name):
        return json.loads((self.dir / name).read_text())

    @property
    def verdict(self):
        return self.json("verdict.json")

    @property
    def run(self):
        return self.json("run.json")

    @property
    def truth(self):
        return self.json("truth.json")

    @property
    def report(self):
        return (self.dir / "report.txt").read_text()

    def steps(self):
        with open(self.dir / "steps.csv", newline="") as file:
            return list(csv.DictReader(file))

    def findings(self, kind=None):
        return [f for f in self.verdict["findings"] if kind is None or f["type"] == kind]

    def wrong(self):
        """The table's column #wrong, one entry a collective's iteration; "N/A" without real data."""
        lines = self.stdout.splitlines()
        at = max(i for i, line in enumerate(lines) if "#wrong" in line)
        rows = [line.split() for line in lines[at + 2:]]
        rows = rows[:next(i for i, row in enumerate(rows + [[]]) if not row)]
        if any(len(row) < 9 for row in rows):
            fail(f"a collective without result: {self.stdout}\n{self.stderr}")
        return [row[8] for row in rows]


def page_data(run):
    """What the run's page is drawn from."""
    page = (run.dir / "report.html").read_text()
    return json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def analyzer_page(directory):
    """The page's bytes as the analyzer wrote them: without what `rocelab` put in of the scenario."""
    page = (pathlib.Path(directory) / "report.html").read_bytes()
    mark = page.find(b'<script type="application/json" id="scenario">')
    return page if mark < 0 else page[:mark] + page[page.index(b'<script type="application/json" id="data">'):]


def scratch():
    """A directory that goes with the process."""
    holder = tempfile.TemporaryDirectory(prefix="rocelab-test-")
    scratch.kept.append(holder)
    return pathlib.Path(holder.name)


scratch.kept = []


def finish(run, scenario, expect):
    """Invariants must hold after every run, however it ended; another exit code is the caller's to explain."""
    broken = [i for i in run.run["invariants"] if not i["holds"]]
    if expect == 0 and broken:
        fail(f"{scenario}: invariants: {broken}")
    return run


def rocelab(scenario, *args, expect=0, timeout=900):
    """`rocelab run` into a fresh directory. That a collective did not finish is the caller's to find."""
    out = scratch()
    done = command(ROCELAB, "run", scenario, "--allow-unfinished", "--out", out, *args, expect=expect, timeout=timeout)
    return finish(Run(out, done), scenario, expect)


def dpswitch(scenario, *args, expect=0, timeout=900):
    """The fabric alone, without an analyzer. That work did not finish is the caller's to find."""
    out = scratch()
    done = command(DPSWITCH, scenario, "--out", out, *args, expect=None if expect == 0 else expect, timeout=timeout)
    if expect == 0 and done.returncode not in (0, UNFINISHED):
        fail(f"{scenario}: exit code {done.returncode}\n{done.stderr}")
    return finish(Run(out, done), scenario, expect)


def scenario_file(text, name="test.cfg"):
    path = scratch() / name
    path.write_text(text)
    return path


def sets(**values):
    """Arguments --set a.b=value for sets(a__b=value)."""
    return [arg for key, value in values.items() for arg in ("--set", f"{key.replace('__', '.')}={value}")]
