# SPDX-License-Identifier: BSD-3-Clause
"""Many cases: shares them out to processes, keeps what fails, adds up."""
import multiprocessing
import os
import pathlib
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback

import processes
from case import Case, Failure, Refused
from kinds import KINDS, round_of

SEEDS = 1_000_000   # between the first cases of one --seed and the next
PROGRESS_S = 30         # between two lines of progress where nobody watches
GRACE_S = 20        # until no process of a case is left
OUTCOMES = ('clean', 'refused', 'failed')


def sockets(folder, names):
    """For copytree(): what a run that was killed leaves, and no copy can have."""
    return [name for name in names if stat.S_ISSOCK(os.lstat(os.path.join(folder, name)).st_mode)]


class Swarm:
    """@param keep  where failures go; seed  of the first case; names  kinds to try"""

    def __init__(self, programs, keep, seed, names):
        self.programs = programs
        self.keep = keep
        self.first = seed * SEEDS
        self.names = names
        self.order = round_of(names)

    def nth(self, index):
        """(round, kind, seed) of a case: a kind's seeds count from the first."""
        number, place = divmod(index, len(self.order))
        kind = self.order[place]
        return number, kind, self.first + number * KINDS[kind].a_round + self.order[:place].count(kind)

    def one(self, kind, seed):
        """One case in this process, with full output. @return exit code"""
        processes.adopt_orphans()
        with tempfile.TemporaryDirectory(prefix='soak-') as holder:
            outcome, message, output = self._try(kind, seed, pathlib.Path(holder))
        print('\n'.join(output))
        print(f'{kind}:{seed}: {outcome}' + (f'\n{message}' if message else ''))
        return 1 if outcome == 'failed' else 0

    def many(self, jobs, limit_s, rounds):
        """@param limit_s  no case begins later, None: no limit; rounds  to end after, None: no end. @return exit code"""
        began_s = time.monotonic()
        deadline_s = began_s + limit_s if limit_s else None
        counter = multiprocessing.Value('Q', 0)
        results = multiprocessing.SimpleQueue()
        workers = [multiprocessing.Process(target=self._work, args=(counter, results, deadline_s, rounds)) for _ in range(jobs)]
        totals = Totals(self.names, began_s)
        try:
            for worker in workers:
                worker.start()
            self._collect(workers, results, totals)
        except KeyboardInterrupt:
            totals.interrupted = True
        finally:
            for worker in workers:
                if worker.is_alive():
                    worker.terminate()
                worker.join()
        return totals.conclude(self.keep)

    def _collect(self, workers, results, totals):
        """Until every worker has reported its end, or has ended."""
        done = 0
        while done < len(workers):
            if results.empty():
                lost = [w for w in workers if w.exitcode not in (None, 0)]
                if lost:
                    totals.lost += len(lost)
                    return
                time.sleep(0.05)
                totals.report()
                continue
            result = results.get()
            if result is None:
                done += 1
            else:
                totals.add(*result)

    def _work(self, counter, results, deadline_s, rounds):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        processes.adopt_orphans()
        try:
            while deadline_s is None or time.monotonic() < deadline_s:
                with counter.get_lock():
                    index = counter.value
                    counter.value += 1
                number, kind, seed = self.nth(index)
                if rounds is not None and number >= rounds:
                    break
                with tempfile.TemporaryDirectory(prefix='soak-') as holder:
                    outcome, message, _ = self._try(kind, seed, pathlib.Path(holder))
                results.put((kind, seed, outcome, message))
            results.put(None)
        except KeyboardInterrupt:
            pass
        finally:
            processes.end_all()

    def _try(self, kind, seed, folder):
        """@return (outcome, why, the commands)"""
        case = Case(kind, seed, folder, self.programs)
        outcome, message = 'clean', ''
        try:
            KINDS[kind].run(case)
        except Refused as refused:
            outcome, message = 'refused', str(refused)
        except Failure as failure:
            outcome, message = 'failed', str(failure)
        except Exception:  # pylint: disable=broad-except # a verdict of a shape that nobody expected, for one
            outcome, message = 'failed', traceback.format_exc()
        left = processes.remaining(GRACE_S)
        if left:
            processes.end_all()
            outcome, message = 'failed', f'{message}\nprocesses are left: {left}'.strip()
        if outcome == 'failed':
            self._keep(case, message)
        return outcome, message, case.output

    def _keep(self, case, message):
        """The case's files, what went wrong and how to see it again."""
        kept = self.keep / f'{case.kind}-{case.seed}'
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(case.folder, kept, symlinks=True, ignore=sockets)
        again = f'scripts/soak --case {case.name} --build {os.path.relpath(self.programs.build)}'
        output = '\n'.join(case.output)
        (kept / 'failure.txt').write_text(f'{again}\n\n{message}\n\nCommands, in {case.folder}, now {kept}:\n{output}\n',
                                          errors='surrogateescape')


class Totals:
    """How many of each kind ended how."""

    def __init__(self, names, began_s):
        self.counts = {name: dict.fromkeys(OUTCOMES, 0) for name in names}
        self.began_s = began_s
        self.reported_s = began_s
        self.interrupted = False
        self.lost = 0  # workers that broke

    def add(self, kind, seed, outcome, message):
        self.counts[kind][outcome] += 1
        if outcome == 'failed':
            self._clear()
            print(f'FAILED {kind}:{seed}: {message.splitlines()[0][:300] if message else ""}', flush=True)
        self.report()

    def report(self):
        """A line that renews itself for people; for files, one from time to time."""
        now_s, watched = time.monotonic(), sys.stdout.isatty()
        if now_s - self.reported_s < (0.2 if watched else PROGRESS_S):
            return
        self.reported_s = now_s
        line = ', '.join(f'{name} {sum(count.values())}' for name, count in self.counts.items())
        line = f'{(now_s - self.began_s) / 60:.1f} min: {line}; {self._total("failed")} failed'
        print(f'\r\x1b[K{line}' if watched else line, end='' if watched else '\n', flush=True)

    def conclude(self, keep):
        self._clear()
        print(f'{"kind":12} {"tried":>8} {"clean":>8} {"refused":>8} {"failed":>8}')
        rows = list(self.counts.items())
        rows.append(('all', {outcome: self._total(outcome) for outcome in OUTCOMES}))
        for name, count in rows:
            print(f'{name:12} {sum(count.values()):8} ' + ' '.join(f'{count[outcome]:8}' for outcome in OUTCOMES))
        failed = self._total('failed')
        if failed:
            print(f'failures are kept in {keep}: see failure.txt of each')
        if self.interrupted:
            print('interrupted')
        if self.lost:
            print(f'{self.lost} workers broke')
        return 1 if failed or self.lost or self.interrupted else 0

    def _total(self, outcome):
        return sum(count[outcome] for count in self.counts.values())

    @staticmethod
    def _clear():
        if sys.stdout.isatty():
            print('\r\x1b[K', end='')
