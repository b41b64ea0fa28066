# SPDX-License-Identifier: BSD-3-Clause
"""Processes below this one: who they are, how long they live, and that none is left."""
import contextlib
import ctypes
import os
import pathlib
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
PR_SET_PDEATHSIG = 1
POLL_S = 0.01


def adopt_orphans():
    """A process that loses its parent below this process becomes its child: none escapes."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def status(pid):
    """(state, parent) as /proc has them; (None, 0): there is no such process."""
    try:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text(errors='replace').rsplit(')', 1)[1].split()
    except OSError:
        return None, 0
    return fields[0], int(fields[1])


def waited_s(pids):
    """How long the thread of these processes that waited longest for a CPU did, of those that have not ended."""
    waited_ns = [0]
    for pid in pids:
        for file in pathlib.Path('/proc').glob(f'{pid}/task/*/schedstat'):
            with contextlib.suppress(OSError):
                waited_ns.append(int(file.read_text().split()[1]))
    return max(waited_ns) / 1e9


def words(pid):
    """The command line, empty for one that has ended."""
    try:
        return [word.decode(errors='replace') for word in
                pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')[:-1]]
    except OSError:
        return []


def name(pid):
    """As the process calls itself."""
    try:
        return pathlib.Path(f'/proc/{pid}/comm').read_text(errors='replace').strip()
    except OSError:
        return ''


def descendants(pid):
    """All below a process that have not ended, parents first."""
    children = {}
    for entry in os.scandir('/proc'):
        if entry.name.isdigit():
            state, parent = status(int(entry.name))
            if state not in (None, 'Z', 'X'):
                children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(0), [])
        found += below
        waiting += below
    return found


def named(pid, program):
    """Those below a process that run this program, by its file's name."""
    return [below for below in descendants(pid)
            if any(pathlib.Path(word).name == program for word in words(below)[:1])]  # read once: it may end meanwhile


def send(pid, what):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, what)


def send_group(group, what):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, what)


def collect_orphans():
    """Ended children whose parents went before them."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass


def remaining(within_s):
    """Who is still there below this process after so long: [(pid, command line)]."""
    deadline = time.monotonic() + within_s
    while True:
        collect_orphans()
        left = descendants(os.getpid())
        if not left or time.monotonic() > deadline:
            return [(pid, ' '.join(words(pid))) for pid in left]
        time.sleep(POLL_S)


def end_all():
    """Kills all descendants. Bounded: a process that survives SIGKILL is the kernel's."""
    for _ in range(100):
        left = descendants(os.getpid())
        if not left:
            break
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(POLL_S)
    collect_orphans()
