#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A name at which a program listens is its own: a second program is refused, a dead owner's name is taken over."""
import os
import pathlib
import signal
import subprocess
import time

from harness import ANALYZER, BUILD, DPSWITCH, INTERRUPTED, ROCELAB, SCENARIOS, check, scenario_file, scratch

CONTROLLER = BUILD / "rxe-hosts" / "pingmesh-controller"
RING = """topology = { kind = "explicit"; hosts = [ "h0", "h1", "h2", "h3" ]; switches = [ "a", "b" ]; rate = "200Mbps";
  delay = "50us"; links = ( "h0 a", "h1 a", "h2 b", "h3 b", "a b" ); };
timing = { clock = "real"; };
host = { mtu = 1024; };
partitions = ( { names = [ "a" ]; }, { names = [ "b" ]; } );
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "400KB"; } );
"""

def controller(folder):
    return [CONTROLLER, SCENARIOS / "pingmesh.cfg", "--listen", folder / "at", "--store", scratch() / "store"], folder / "at"


def trace(folder):
    return [ROCELAB, "trace", SCENARIOS / "case-study.cfg", "--serve", folder], None


def analyzer(folder):
    return [ANALYZER, "--listen", folder / "at", "--out", scratch()], folder / "at"


def partition(folder):
    return [DPSWITCH, scenario_file(RING), "--partition", "0/2", "--partitions-at", f"{folder}/at,{folder}/other", "--out", scratch()], folder / "at"


def start(words):
    return subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def listening(folder, at, name):
    """The first name that is listened at, once it is."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = [at] if at is not None and at.exists() else sorted(folder.glob("*.manage")) if at is None else []
        if found:
            return found[0]
        time.sleep(0.02)
    check(False, f"{name}: nobody listens")


def owner(socket):
    """The process in the name's lock."""
    text = pathlib.Path(f"{socket}.lock").read_text()
    return int(text) if text.strip() else None


def owned(name, of):
    folder = scratch()
    words, at = of(folder)
    first = start(words)
    socket = listening(folder, at, name)
    inode = socket.stat().st_ino
    second = start(of(folder)[0])
    stdout, stderr = second.communicate(timeout=60)
    check(second.returncode == 2, f"{name}: a second one is refused", (second.returncode, stdout, stderr))
    check(f"process {first.pid} listens there" in stderr, f"{name}: and the owner is named", stderr)
    check(first.poll() is None and socket.exists() and socket.stat().st_ino == inode, f"{name}: the first keeps its name", stderr)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    check(socket.exists(), f"{name}: killed, it leaves its socket")
    third = start(of(folder)[0])
    end = time.monotonic() + 60
    while owner(socket) != third.pid and third.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    check(third.poll() is None and owner(socket) == third.pid, f"{name}: the name of a dead owner is taken over")
    time.sleep(0.3) # all names of a folder
    third.send_signal(signal.SIGTERM)
    _, stderr = third.communicate(timeout=60)
    check(third.returncode in (0, 3, INTERRUPTED), f"{name}: it ends in order", (third.returncode, stderr))
    check(not list(folder.iterdir()), f"{name}: nothing is left", list(folder.iterdir()))


owned("controller", controller)
owned("trace --serve", trace)
owned("analyzer", analyzer)
owned("partition of a fabric", partition)
