# SPDX-License-Identifier: BSD-3-Clause
"""A run that is disturbed: long enough that something can happen to it, and what must hold afterwards."""
import contextlib
import pathlib
import re
import time

import checks
import processes
import record_layout
from case import Failure
from programs import Started

PRIVATE = re.compile(r'/tmp/rocelab-run-\w{6}')
LOOK_S = 0.004
APPEAR_S = 60     # until a program is there, on a busy machine
END_S = 180       # within which whatever was disturbed has ended
MEMBERS = ('rocelab', 'dpswitch', 'analyzer')
OF_GUESTS = ('supervisor', 'guest')

VIRTUAL = """topology = {{ kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; }};
collectives = ( {{ op = "allreduce"; algorithm = "ring"; bytes = "{size}MB"; }} );
flows = ( {{ src = "h0"; dst = "h5"; sport = 20000; bytes = "1MB"; mode = "repeat"; until = "1s"; }} );
faults = ( {{ kind = "pfc-storm"; port = "l0:5"; start = "100us"; duration = "100us"; period = "1ms"; }} );
detection = {{ policy = "{policy}"; }};
telemetry = {{ epoch = "{epoch}"; }};
"""
REAL = """topology = {{ kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "40Mbps"; delay = "50us"; }};
timing = {{ clock = "real"; }};
collectives = ( {{ op = "allreduce"; algorithm = "ring"; bytes = "{size}MB"; }} );
flows = ( {{ src = "h0"; dst = "h3"; sport = 20000; bytes = "100KB"; mode = "repeat"; until = "2s"; }} );
host = {{ timeout = "20s"; }};
detection = {{ policy = "{policy}"; }};
telemetry = {{ epoch = "{epoch}"; }};
limits = {{ virtual_time = "40s"; }};
"""
GUESTS = """topology = {{ kind = "leaf-spine"; leaves = 1; spines = 1; hosts_per_leaf = 3; rate = "40Mbps"; delay = "50us"; }};
hosts = ( {{ kind = "guest"; }} );
host = {{ mtu = 4096; }};
collectives = ( {{ op = "allreduce"; algorithm = "ring"; bytes = "{size}00KB"; payload = "real"; iterations = 8; }} );
faults = ( {{ kind = "loss"; port = "l0:1"; rate = 0.001; }} );
detection = {{ policy = "{policy}"; }};
telemetry = {{ epoch = "{epoch}"; }};
limits = {{ virtual_time = "60s"; stall = "15s"; connect = "60s"; }};
"""
TEXTS = {'virtual': (VIRTUAL, (10, 20, 40), '50us'), 'real': (REAL, (2, 4), '1ms'), 'guests': (GUESTS, (1, 4), '1ms')}
AFTERWARDS = """topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 1; };
collectives = ( { op = "allgather"; algorithm = "ring"; bytes = "64KB"; } );
"""


class Underway:
    """One long run, in virtual or in real time. A context manager: nothing of it outlives the block."""

    def __init__(self, case, clock=None, preexec=None):
        rng = case.rng
        self.case = case
        self.clock = clock or rng.choice(('virtual', 'virtual', 'real'))
        text, sizes, epoch = TEXTS[self.clock]
        self.programs = case.programs.guests if self.clock == 'guests' else case.programs
        self.scenario = case.write('long.cfg', text.format(size=rng.choice(sizes), epoch=epoch,
                                                           policy=rng.choice(('vedrfolnir', 'full-polling'))))
        self.out = case.folder / 'run'
        self.private = set()
        self.started = Started(case, [self.programs.rocelab, 'run', self.scenario, '--out', self.out], preexec)
        self.pid = self.started.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.started.process.returncode is None:
            processes.end_all()

    def member(self, name):
        """The process id of one of the run's programs. @return None if the run ends before it is there"""
        if name == 'rocelab':
            return self.pid
        deadline = time.monotonic() + APPEAR_S
        while time.monotonic() < deadline and not self.started.over():
            self.look()
            found = self.members(name)
            if found:
                return self.case.rng.choice(found)
            time.sleep(LOOK_S)
        return None

    def members(self, name):
        """All that are one of the run's programs, its guests' kernels or their supervisors at the moment."""
        if name == 'supervisor':
            return [pid for pid in processes.descendants(self.pid) if processes.name(pid) == 'supervise-guest']
        if name == 'guest':
            return [pid for pid in processes.descendants(self.pid) if any(w.startswith('umid=') for w in processes.words(pid))]
        return processes.named(self.pid, name)

    def look(self):
        """Remembers the folders that the run's programs use."""
        lines = [' '.join(processes.words(pid)) for pid in processes.descendants(self.pid)]
        self.private.update(PRIVATE.findall(' '.join(lines)))
        if not self.private and any('--analyzer' in line for line in lines):
            raise Failure(f'no program uses a folder as {PRIVATE.pattern}: its remains cannot be checked')

    def moment(self):
        """Waits until a random moment of the run, or its end."""
        rng, records = self.case.rng, self.out / 'records.bin'
        how = rng.choice(('at once', 'programs', 'records', 'records', 'later'))
        size, wait_s = rng.choice((1, 4096, 30_000, 200_000)), rng.random() * 1.5
        self.case.note(f'# {self.clock} time; moment: {how}')
        if how == 'at once':
            wait_s /= 10
        elif how == 'programs':
            self.member('dpswitch')
            wait_s /= 10
        elif how == 'records':
            self.member('dpswitch')
            deadline = time.monotonic() + 5
            while not self.started.over() and time.monotonic() < deadline and size_of(records) < size:
                time.sleep(LOOK_S)
            wait_s = 0
        self.started.over(wait_s)
        self.look()

    def end(self, within_s=END_S):
        return self.started.end(within_s)


def size_of(path):
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def diagnosable(path):
    """Is there enough in a recording for a diagnosis: all that is configured, and a report?"""
    if not path.exists():
        return False
    types = {record_layout.type_of(record) for record in record_layout.records(path.read_bytes())}
    return any(kind >= record_layout.FIRST_REPORT for kind in types)


def diagnoses(case, out):
    """The recording that is left gives a verdict, which does not claim to have seen the end if it has not."""
    recording = out / 'records.bin'
    again = case.folder / 'again'
    if not recording.exists():
        return
    ended = case.programs.run(case, case.programs.rocelab, 'diagnose', out, '--out', again)
    if ended.code != 0:
        case.check(not diagnosable(recording), 'a recording that is kept is refused', ended.output)
        case.check(ended.stderr.strip(), 'no word of why', ended.output)
        return
    checks.whole_files(again)
    reported = checks.verdict(again, checks.Names(None))
    has_end = any(record_layout.type_of(r) == record_layout.END for r in record_layout.records(recording.read_bytes()))
    case.check(reported['evidence']['truncated'] == (not has_end), 'cut or not: the verdict has it wrong', reported['evidence'])


def nothing_left(case, run):
    """After the next run into the same folder: its own files alone, and none of the folders that programs had used."""
    path = case.write('next.cfg', AFTERWARDS)
    ended = case.programs.run(case, case.programs.rocelab, 'run', path, '--out', run.out)
    case.check(ended.code == 0, 'the next run into the folder fails', ended.output)
    fresh = case.folder / 'fresh'
    case.programs.run(case, case.programs.rocelab, 'run', path, '--out', fresh, codes=(0,))
    names = [sorted(str(p.relative_to(folder)) for p in folder.rglob('*')) for folder in (run.out, fresh)]
    case.check(names[0] == names[1], 'files of an earlier run lie beside the new one', names)
    checks.whole_run(run.out, checks.Names(None))
    left = [folder for folder in run.private if pathlib.Path(folder).exists()]
    case.check(not left, 'folders are left', left)


def afterwards(case, run, ended):
    """What must hold however a run was disturbed."""
    left = processes.remaining(30)
    if left:
        raise Failure(f'processes are left: {left}\n{ended.output if ended else ""}')
    if run.out.exists():
        checks.whole_files(run.out, killed=True)
        if (run.out / 'verdict.json').exists():
            checks.verdict(run.out, checks.Names(None))
        diagnoses(case, run.out)
    nothing_left(case, run)
