# SPDX-License-Identifier: BSD-3-Clause
"""Guests under way: guest_rig, what it says, commands in its guests, and whether anything of them is left."""
import pathlib
import select
import subprocess
import tempfile
import time

from harness import BUILD, STALL_LIMIT_S, ROCELAB, SOURCE, check, fail, skip

RIG = BUILD / "tests" / "sim" / "guest_rig"
INIT = BUILD / "rxe-hosts" / "guest" / "rxe-guest-init"
PATTERN = 256 * 1024  # what guest_rig sends to each program's management channel


def find_kernel():
    done = subprocess.run([SOURCE / "scripts" / "rxe-kernel", "--cached"], capture_output=True, text=True)
    if done.returncode != 0:
        skip("no kernel for guests is cached: scripts/rxe-kernel builds it")
    return done.stdout.strip()


class Rig:
    """guest_rig under way, and what it said."""

    def __init__(self, kernel, names, program=(), kind="uml", memory=64):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="rocelab-guest-"))
        (self.dir / "guests").mkdir()
        args = [RIG, self.dir / "guests", kind, INIT, kernel, str(memory), *names]
        if program:
            args += ["--", *program]
        self.names = names
        self.process = subprocess.Popen(list(map(str, args)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def event(self, name, state, timeout=STALL_LIMIT_S):
        """The words behind NAME STATE in the line that says so, what other guests say meanwhile left aside."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                line = self.process.stdout.readline()
                if not line:
                    fail(f"guest_rig ended, exit code {self.process.wait()}")
                words = line.split(maxsplit=7)
                if words[:2] == [name, state]:
                    return words[2:]
                if words[1:2] == ["ended"] and state != "ended":
                    fail(f"waiting for {name} {state}: {line}")
        fail(f"{name} is not {state} after {timeout} s: {self.log(name)}")

    def up(self):
        ups = set()
        end = time.monotonic() + STALL_LIMIT_S
        while len(ups) < len(self.names):
            line = self.process.stdout.readline()
            words = line.split()
            if time.monotonic() > end or words[1:2] != ["up"]:
                fail(f"not all guests are up: {line}")
            ups.add(words[0])

    def log(self, name):
        return (self.dir / "guests" / f"{name}.log").read_text()

    def shell(self, name, *words, **kwargs):
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        if "input" in kwargs:
            del kwargs["stdin"]
        return subprocess.run([ROCELAB, "shell", name, "--run", self.dir, "--", *words], capture_output=True, timeout=STALL_LIMIT_S,
                              **kwargs)

    def pids(self):
        """Everything that runs for this rig's guests: supervisors, kernels, and the processes of their programs."""
        mark = f"ROCELAB_CPUINFO={self.dir}".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if mark in words or str(self.dir).encode() in words:
                found.append(int(entry.name))
        return found

    def memory_kib(self, name):
        """Proportional set size of all processes of one guest."""
        total = 0
        for pid in self.pids():
            try:
                if f"umid={name}".encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                    total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
            except OSError:
                continue  # it ended meanwhile
        return total

    def kernel_pid(self, name):
        return int((self.dir / "guests" / name / name / "pid").read_text())

    def gone(self, what, logs):
        """No process and no file but the logs is left, soon."""
        end = time.monotonic() + STALL_LIMIT_S
        while time.monotonic() < end and self.pids():
            time.sleep(0.05)
        check(not self.pids(), f"{what}: no process is left", self.pids())
        left = sorted(p.name for p in (self.dir / "guests").iterdir())
        check(left == sorted(logs), f"{what}: no file is left but the logs", left)
        for path in (self.dir / "guests").iterdir():
            path.unlink()
        (self.dir / "guests").rmdir()
        self.dir.rmdir()

    def stop(self, what):
        """Ends all guests. What the rig says last: a line a guest of what its management channel received."""
        self.process.stdin.close()
        observed = self.process.stdout.read().splitlines()[-len(self.names):]
        check(self.process.wait(STALL_LIMIT_S) == 0, f"{what}: stops")
        self.gone(what, [f"{name}.log" for name in self.names])
        return observed


def management(kernel, kind="uml", memory=64):
    """The program reads the pattern, checks it and sends 4 MiB of every byte value."""
    program = ("import os,sys\n"
               "got=b''\n"
               f"while len(got)<{PATTERN}: got+=os.read(3,65536)\n"
               f"print('right' if got==bytes((i*7>>3)&255 for i in range({PATTERN})) else 'wrong',flush=True)\n"
               "data=bytes(range(256))*16384\n"
               "while data: data=data[os.write(3,data):]\n"
               "sys.exit(5)\n")
    rig = Rig(kernel, ["h1"], ["python3", "-c", program], kind, memory)
    words = rig.event("h1", "exited")
    check(words[4] == "5", "a program's exit status", words)
    check("right\n" in rig.log("h1"), "bytes reach the program as they were", rig.log("h1"))
    check(rig.shell("h1", "true").returncode == 0, "a guest outlives its program")
    observed = rig.stop("a guest whose program ended")
    size = 256 * 16384
    total = sum((i + 1) * (i & 255) for i in range(size))
    check(observed == [f"h1 received {size} {total}"], "4 MiB leave the guest as they were", observed)

    rig = Rig(kernel, ["h1"], ["sh", "-c", "cat <&3 >/dev/null; exit 9"], kind, memory)
    rig.up()
    rig.process.stdin.write("close")
    rig.process.stdin.flush()
    words = rig.event("h1", "exited")
    check(words[4] == "9", "a program sees that its management channel was closed", words)
    rig.stop("a guest without its management channel")
