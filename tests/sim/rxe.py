# SPDX-License-Identifier: BSD-3-Clause
"""Runs with external hosts: four guests with soft-RoCE behind two switches, from outside as a person has them.

Timing is the machine's: tests look at what must hold however busy it is, and wait long before they give up.
"""
import atexit
import csv
import os
import pathlib
import signal
import subprocess
import time

from guests import Rig, find_kernel
from harness import STALL_LIMIT_S, ROCELAB, SANITIZED, Run, check, descendants, fail, scenario_file, scratch, skip

HOSTS = ["h0", "h1", "h2", "h3"]
# Where this machine has them.
TWO_LCORES = ["--lcores", "2"] if len(os.sched_getaffinity(0)) > 1 else []
# What every run of these tests is given besides: "--partitions 2" runs them on a fabric in two partitions.
BESIDES = os.environ.get("ROCELAB_RUN_ARGS", "").split()
SLOW_CLIENT = """limits = { virtual_time = "600s"; connect = "180s"; stall = "60s"; };
"""
# Ports: a:1 h0, a:2 h1, a:3 the trunk to b; b:1 h2, b:2 h3, b:3 the trunk.
TOPOLOGY = """topology = {
  kind = "explicit"; rate = "40Mbps"; delay = "50us";
  switches = [ "a", "b" ]; hosts = [ "h0", "h1", "h2", "h3" ];
  links = ( "h0 a", "h1 a", "h2 b", "h3 b", "a b" );
};
hosts = ( { kind = "guest"; } );
host = { mtu = 4096; };
"""


def need_guests():
    """Ends the test here, as skipped, where no guest can run."""
    if SANITIZED:
        skip("guests do not run programs with sanitizers: address space and memory of user-mode Linux are too small")
    rig = Rig(find_kernel(), ["h1"])
    line = rig.process.stdout.readline()
    if line.split()[1:2] != ["up"]:
        skip(f"user-mode Linux does not boot here: {line}")
    rig.stop("a guest")


def ring(op="allreduce", size="1MB", **more):
    keys = "".join(f' {key} = {value};' for key, value in more.items())
    return f'{{ op = "{op}"; algorithm = "ring"; bytes = "{size}"; payload = "real";{keys} }}'


def scenario(*collectives, jobs=(), flows=(), faults=(), extra="", limits=SLOW_CLIENT, name="rxe.cfg", topology=TOPOLOGY):
    text = topology + limits + extra
    for group, members in (("collectives", collectives), ("jobs", jobs), ("flows", flows), ("faults", faults)):
        if members:
            text += f"{group} = (\n  {(',' + chr(10) + '  ').join(members)}\n);\n"
    return scenario_file(text, name)


def processes(mark):
    """Everything that runs with this text in its command line: {pid: words}."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(str(mark) in word for word in words):
            found[int(entry.name)] = words
    return found


class Live:
    """`rocelab run` under way."""

    def __init__(self, path, *args):
        self.out = scratch() / "run"
        self.stdout, self.stderr, self.code = "", "", None
        self.sockets = None
        words = [ROCELAB, "run", path, "--allow-unfinished", "--out", self.out, *BESIDES, *args]
        # a session of its own, as a terminal gives it: Ctrl-C goes to all of it
        self.process = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        atexit.register(self.abandon)

    def abandon(self):
        """A test that fails leaves nothing running either."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate(timeout=STALL_LIMIT_S)

    def pid(self, program):
        """Of dpswitch or the analyzer."""
        for pid, words in processes(self.out).items():
            if pathlib.Path(words[0]).name == program:
                return pid
        return None

    def guest_pids(self, name):
        """The processes of a guest's kernel."""
        return [pid for pid, words in processes(self.out).items() if f"umid={name}" in words]

    def supervisors(self):
        """In the order in which they were started, which is that of the hosts."""
        found = []
        for pid in descendants(self.process.pid):
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "supervise-guest":
                    found.append(pid)
            except OSError:
                continue  # it is gone
        return sorted(found)

    def kill_guest(self, name):
        """Its processes end with one another: the next one may be gone before its turn."""
        for pid in self.guest_pids(name):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def until(self, what, condition, timeout=STALL_LIMIT_S):
        end = time.monotonic() + timeout
        while not condition():
            if self.process.poll() is not None:
                fail(f"waiting until {what}: the run ended: {self.process.communicate()}")
            if time.monotonic() > end:
                self.process.kill()
                fail(f"waiting until {what}: not after {timeout} s: {self.process.communicate()}")
            time.sleep(0.1)

    def begun(self):
        """The second phase: hosts are connected, records come."""
        self.until("the run begins", lambda: (self.out / "records.bin").exists()
                   and (self.out / "records.bin").stat().st_size > 0)

    def booting(self):
        self.until("a guest boots", lambda: self.guest_pids("h0"))

    def note_sockets(self):
        """Where dpswitch has its sockets, to look for them afterwards."""
        words = processes(self.out).get(self.pid("dpswitch"), [])
        if "--hosts" in words:
            self.sockets = pathlib.Path(words[words.index("--hosts") + 1])

    def shell(self, host, *words, timeout=STALL_LIMIT_S):
        return subprocess.run([str(w) for w in (ROCELAB, "shell", host, "--run", self.out, "--", *words)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)

    def start(self, host, *words):
        return subprocess.Popen([str(w) for w in (ROCELAB, "shell", host, "--run", self.out, "--", *words)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def interrupt(self, number=signal.SIGINT):
        """Ctrl-C, or another signal to all of the process group."""
        os.killpg(self.process.pid, number)

    def end(self, expect=0, timeout=STALL_LIMIT_S):
        """Waits for the end, whatever brings it; nothing may be left behind."""
        self.note_sockets()
        start = time.monotonic()
        try:
            self.stdout, self.stderr = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            left = processes(self.out)
            self.process.kill()
            fail(f"the run has not ended {timeout} s later: {left} {self.process.communicate()}")
        self.took = time.monotonic() - start
        self.code = self.process.returncode
        if expect is not None and self.code != expect:
            fail(f"exit code {self.code}, expected {expect}\n{self.stdout[-4000:]}\n{self.stderr[-4000:]}")
        self.gone()
        run = Run(self.out)
        run.stdout, run.stderr, run.code = self.stdout, self.stderr, self.code
        return run

    def gone(self):
        end = time.monotonic() + STALL_LIMIT_S
        while time.monotonic() < end and processes(self.out):
            time.sleep(0.1)
        check(not processes(self.out), "no process is left", processes(self.out))
        check(self.sockets is None or not self.sockets.exists(), "no socket is left",
              self.sockets and list(self.sockets.iterdir()) if self.sockets and self.sockets.exists() else "")
        left = [p.name for p in (self.out / "guests").iterdir() if p.suffix != ".log"] if self.out.exists() and \
            (self.out / "guests").exists() else []
        check(not left, "of the guests only logs are left", left)


COUNT = "for f in /sys/class/infiniband/rxe0/ports/1/hw_counters/* /sys/class/net/eth0/statistics/*; " \
        "do echo ${f##*/} $(cat $f); done; grep Udp: /proc/net/snmp"


def counters(live, host):
    """Of a guest's soft-RoCE device, its network device and its UDP."""
    done = live.shell(host, "sh", "-c", COUNT)
    if done.returncode != 0:
        fail(f"counters of {host}: {done}")
    lines = done.stdout.splitlines()
    found = {words[0]: int(words[1]) for words in map(str.split, lines) if len(words) == 2}
    names, values = (line.split()[1:] for line in lines if line.startswith("Udp:"))
    udp = dict(zip(names, map(int, values)))
    return found | {"udp_in": udp["InDatagrams"] + udp["NoPorts"]}


def settled(live, timeout):
    """Counters of all guests once they are at rest: for longer than soft-RoCE takes to send again what was not answered."""
    before = None

    def at_rest():
        nonlocal before
        last, before = before, {host: counters(live, host) for host in HOSTS}
        if last is not None and all(last[h][key] == before[h][key] for h in HOSTS for key in ("sent_pkts", "rcvd_pkts")):
            return True
        time.sleep(3)
        return False

    live.until("the hosts are at rest", at_rest, timeout)
    return before


def of_host(run, name):
    return next(host for host in run.run["hosts"] if host["host"] == name)


def whole(run, name, iterations=1):
    """Every element of every iteration was verified, on every rank."""
    check(run.run["end_reason"] in ("complete", "interrupt"), f"{name}: the run ends as it should",
          (run.run["end_reason"], run.stderr[-2000:]))
    wrong = run.wrong()
    check(len(wrong) == iterations and set(wrong) == {"0"}, f"{name}: 0 wrong elements", wrong)
    check(all(c["complete"] for c in run.verdict["collectives"]), f"{name}: complete", run.verdict["collectives"])


def invariants(run, name):
    broken = [i for i in run.run["invariants"] if not i["holds"]]
    check(not broken, f"{name}: invariants hold", broken)


def no_drop(run, name):
    check(not any(run.run["drops"].values()), f"{name}: no drop", run.run["drops"])
    for host in run.run["hosts"]:
        check(host["nic"]["undeliverable"] == 0, f"{name}: {host['host']} got all that was for it", host)


def storm_delays_a_step(run, name):
    """@return whether h2, which rxe-ring's storm pauses from 500 to 800 ms, had a step under way for 100 ms of that"""
    longest = 0
    with open(run.dir / "steps.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["src"] == "h2":
                start = int(row["start_ns"])
                end = start + int(row["duration_ns"])
                longest = max(longest, min(end, 800_000_000) - max(start, 500_000_000))
    if longest < 100_000_000:
        print(f"{name}: h2 sent next to nothing while the storm lasted", flush=True)
    return longest >= 100_000_000
