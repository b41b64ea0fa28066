# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a build: starts them so that a sanitizer's word, a hang and too much memory are noticed."""
import os
import pathlib
import resource
import select
import shlex
import signal
import subprocess
import time

import processes
from case import Failure

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# A sanitizer ends a program by a signal, which is no exit code of its own.
SANITIZERS = {
    'ASAN_OPTIONS': 'detect_leaks=1:abort_on_error=1:allocator_may_return_null=1:hard_rss_limit_mb=4096',
    'LSAN_OPTIONS': f'suppressions={ROOT}/tests/fuzz/lsan.supp:print_suppressions=0',
    'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1:abort_on_error=1',
}
BROKEN = ('Sanitizer', 'runtime error:', 'Assertion', 'core dumped', 'Segmentation', 'stack smashing', 'hard rss limit')
# common/program.h
NOT_BEGUN, UNFINISHED, INTERRUPTED = 3, 5, 130
DOCUMENTED = (0, 1, 2, NOT_BEGUN, 4, UNFINISHED, INTERRUPTED)
STALL_LIMIT_S = 120   # of a run that does little, on a machine that does much
SANITIZED_STALL_LIMIT_S = 4 * STALL_LIMIT_S  # sanitizers take several times as long for the same work
MEMORY_BYTES = 3 << 30
DATA_BYTES = 8 << 30     # what a program without sanitizers may ask for; these have a limit of their own
OUTPUT_BYTES = 64 << 20  # what a program may print


class Ended:
    """A program that has ended. code: its exit code, or minus a signal's number."""

    def __init__(self, line, code, stdout, stderr, wall_s, peak_bytes):
        self.line = line
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.wall_s = wall_s
        self.peak_bytes = peak_bytes

    @property
    def output(self):
        return f'{self.line}\nexit code {self.code} after {self.wall_s:.1f} s\n{self.stdout[-2000:]}\n{self.stderr[-6000:]}'


class Started:
    """A running program, in a separate session, its output in files of the case's folder."""

    def __init__(self, case, args, preexec=None, leaks=True):
        self.line = shlex.join(map(str, args))
        case.note(self.line)
        number = len(case.output)
        self.paths = [case.folder / f'{number}.{stream}' for stream in ('stdout', 'stderr')]
        with open(self.paths[0], 'wb') as stdout, open(self.paths[1], 'wb') as stderr:
            self.began_s = time.monotonic()
            environment = {**os.environ, **SANITIZERS}
            if not leaks:
                environment['ASAN_OPTIONS'] = environment['ASAN_OPTIONS'].replace('detect_leaks=1', 'detect_leaks=0')
            self.process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.DEVNULL, stdout=stdout,
                                            stderr=stderr, start_new_session=True, env=environment,
                                            preexec_fn=self.prepare(preexec))
        self.pid = self.process.pid
        self.fd = os.pidfd_open(self.pid)

    @staticmethod
    def prepare(preexec):
        """What the program does before it begins: a swarm under nohup still tries what hangups do."""
        def run():
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            if preexec:
                preexec()
        return run

    def over(self, within_s=0):
        """Has it ended? Waits so long for it."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(within_s * 1000))

    def _ends(self, within_s):
        """Does it within this time, and that in which one of its threads waits for a CPU?"""
        waited_s, until_s = 0, time.monotonic() + within_s
        while not self.over(1):
            waited_s = max(waited_s, processes.waited_s([self.pid, *processes.descendants(self.pid)]))
            if time.monotonic() > until_s + waited_s:
                return False
        return True

    def end(self, within_s=STALL_LIMIT_S):
        """Waits for its end, so long at most; longer on a busy machine. @return Ended. Raises Failure if it continues, or broke."""
        if not self._ends(within_s):
            still = [(pid, processes.status(pid)[0], ' '.join(processes.words(pid)))
                     for pid in [self.pid, *processes.descendants(self.pid)]]
            processes.end_all()
            raise Failure(f'{self.line}: still running after {within_s} s: {still}\n{self.read(1)[-4000:]}')
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        os.close(self.fd)
        ended = Ended(self.line, self.process.returncode, self.read(0), self.read(1),
                      time.monotonic() - self.began_s, usage.ru_maxrss << 10)
        if any(word in ended.stdout + ended.stderr for word in BROKEN):
            raise Failure(f'it broke: {ended.output}')
        if ended.peak_bytes > MEMORY_BYTES:
            raise Failure(f'it took {ended.peak_bytes} B of memory: {ended.output}')
        return ended

    def read(self, stream):
        with open(self.paths[stream], 'rb') as file:
            return file.read(OUTPUT_BYTES).decode(errors='replace')

    def signal_group(self, what):
        processes.send_group(self.pid, what)


class Programs:
    """@param build  build directory; sanitized  whether it is one with sanitizers"""

    def __init__(self, build, sanitized):
        self.build = pathlib.Path(build)
        self.sanitized = sanitized
        self.rocelab = self.build / 'cli' / 'rocelab'
        self.dpswitch = self.build / 'dpswitch' / 'dpswitch'
        self.analyzer = self.build / 'diag' / 'analyzer'
        self.lcores = len(os.sched_getaffinity(0))
        self.guests, self.no_guests = None, ''  # programs that guests can run, or why there are none

    def before(self, also):
        """What a process does before it becomes a program."""
        def prepare():
            if not self.sanitized:
                resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
            if also:
                also()
        return prepare

    def run(self, case, *args, codes=DOCUMENTED, within_s=None, preexec=None, leaks=True):
        """
        Runs a program to its end. @param codes  that it may end with; within_s  None: as long as a run of this build may take;
        leaks  a sanitizer looks for them
        """
        within_s = within_s or (SANITIZED_STALL_LIMIT_S if self.sanitized else STALL_LIMIT_S)
        ended = Started(case, args, preexec, leaks).end(within_s)
        if ended.code not in codes:
            raise Failure(f'exit code {ended.code}, not one of {codes}: {ended.output}')
        return ended


def limit_files(size_bytes):
    """For preexec: no file grows beyond, as on a full disk; writing returns an error and no signal."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))
    return limit
