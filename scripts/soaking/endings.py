# SPDX-License-Identifier: BSD-3-Clause
"""Kinds "kill", "freeze", "signal" and "guest": what happens to a run's programs from outside, at any moment."""
import signal
import time

import checks
import processes
import underway
from programs import INTERRUPTED, NOT_BEGUN, UNFINISHED
from underway import MEMBERS, OF_GUESTS, Underway

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PAUSE_S = 4       # longest time that somebody is frozen and then continues
FOR_EVER_S = 150   # within which nobody waits any longer for one who is frozen for ever


def kill(case):
    """One program dies, or all of them."""
    with Underway(case) as run:
        victims = case.rng.choice([[name] for name in MEMBERS] + [list(MEMBERS)])
        run.moment()
        case.note(f'# kill -9: {victims}')
        if len(victims) > 1:
            run.started.signal_group(signal.SIGKILL)
        else:
            pid = run.member(victims[0])
            if pid is not None:
                processes.send(pid, signal.SIGKILL)
        ended = run.end()
        case.check(ended.code in (0, 1, UNFINISHED) or victims[0] == 'rocelab' or never_began(run, ended, victims), 'exit code', ended.output)
        underway.afterwards(case, run, ended)


def never_began(run, ended, victims):
    """An analyzer that dies before the fabric has connected: no run, no file, and a reason."""
    return (ended.code == NOT_BEGUN and victims == ['analyzer'] and not run.out.joinpath('records.bin').exists()
            and 'the analyzer was killed (signal 9: Killed) before the run began' in ended.stderr)


def freeze_for_a_while(case, run, victims):
    """A program that continues after a pause ends as without it."""
    if victims == list(MEMBERS):
        run.started.signal_group(signal.SIGSTOP)
    else:
        pids = [run.member(name) for name in victims]
        for pid in filter(None, pids):
            processes.send(pid, signal.SIGSTOP)
    time.sleep(case.rng.random() * PAUSE_S)
    run.started.signal_group(signal.SIGCONT)
    ended = run.end()
    case.check(ended.code == 0, 'a pause breaks the run', ended.output)
    reason = checks.parsed(run.out / 'run.json')['end_reason']
    case.check(reason == 'complete', f'a pause ends a healthy run: {reason}', ended.output)
    checks.whole_run(run.out, checks.Names(None))
    return ended


def freeze_for_ever(case, run, victim):
    """The others end without it. For dpswitch, or rocelab itself, only on a signal."""
    pid = run.member(victim)
    if pid is None:
        return run.end()
    processes.send(pid, signal.SIGSTOP)
    if victim == 'dpswitch':
        time.sleep(case.rng.random())
        run.started.signal_group(case.rng.choice(SIGNALS))
    elif victim == 'rocelab':
        time.sleep(case.rng.random())
        processes.send(pid, signal.SIGKILL)
    return run.end(FOR_EVER_S)


def freeze(case):
    with Underway(case) as run:
        for_ever = case.rng.random() < 0.5
        victims = case.rng.choice([[name] for name in MEMBERS] + ([] if for_ever else [list(MEMBERS)]))
        run.moment()
        case.note(f'# frozen {"for ever" if for_ever else "for a while"}: {victims}')
        ended = freeze_for_ever(case, run, victims[0]) if for_ever else freeze_for_a_while(case, run, victims)
        underway.afterwards(case, run, ended)


def interrupt(case):
    """A signal that asks to end, to all of a terminal or to rocelab alone, at times twice: a verdict all the same."""
    with Underway(case) as run:
        what, to_all, twice = case.rng.choice(SIGNALS), case.rng.random() < 0.6, case.rng.random() < 0.2
        run.moment()
        recorded = underway.diagnosable(run.out / 'records.bin')
        case.note(f'# {what.name} to {"all" if to_all else "rocelab"}{", twice" if twice else ""}; recorded: {recorded}')
        for _ in range(2 if twice else 1):
            run.started.signal_group(what) if to_all else processes.send(run.pid, what)
        ended = run.end()
        case.check(ended.code in (0, 1, INTERRUPTED) or not recorded, 'exit code', ended.output)
        if recorded:
            reported = checks.verdict(run.out, checks.Names(None))
            reason = checks.parsed(run.out / 'run.json')['end_reason']
            case.check(reason in ('interrupt', 'complete'), f'the run ends by {reason}', ended.output)
            case.check(not reported['evidence']['truncated'], 'the recording has no end', reported['evidence'])
        underway.afterwards(case, run, ended)


def guest(case):
    """A guest, or its supervisor, dies or freezes: the others do not wait for it longer than the limits."""
    with Underway(case, 'guests') as run:
        victim, what = case.rng.choice(OF_GUESTS + MEMBERS), case.rng.choice((signal.SIGKILL, signal.SIGSTOP, signal.SIGSTOP))
        again = what == signal.SIGSTOP and (case.rng.random() < 0.5 or victim not in ('guest', 'analyzer'))
        if case.rng.random() < 0.5:
            run.moment()
        pid = run.member(victim)
        run.started.over(case.rng.random() * 3)
        run.look()
        case.note(f'# {what.name} to {victim}{", and later SIGCONT" if again else ""}')
        if pid is not None:
            processes.send(pid, what)
        if again:
            time.sleep(case.rng.random() * PAUSE_S)
            run.started.signal_group(signal.SIGCONT)
            for stopped in processes.descendants(run.pid):
                processes.send(stopped, signal.SIGCONT)
        ended = run.end()
        case.check(ended.code in (0, 1, NOT_BEGUN, UNFINISHED) or victim == 'rocelab', 'exit code', ended.output)
        underway.afterwards(case, run, ended)
