# SPDX-License-Identifier: BSD-3-Clause
"""Kinds "disk" and "folder": no room for what a run leaves, or something of another run in its place."""
import signal

import checks
import scenarios
import underway
from programs import Started, limit_files
from underway import Underway

SIZES = (0, 1, 100, 1000, 5000, 10_000, 30_000, 100_000)


def disk(case):
    """Files end at a size, as on a full disk: reported, exit code 1, and all files are complete."""
    scenario = scenarios.any_scenario(case.rng)
    size_bytes = case.rng.choice(SIZES) + case.rng.randrange(3000)
    path, out = scenario.write(case), case.folder / 'run'
    roomy = case.programs.run(case, case.programs.rocelab, 'run', path, '--out', case.folder / 'roomy')
    if roomy.code == 2:
        return
    largest = max(p.stat().st_size for p in (case.folder / 'roomy').iterdir())
    case.note(f'# files of {size_bytes} B at most; the largest would have {largest} B')
    ended = case.programs.run(case, case.programs.rocelab, 'run', path, '--out', out, preexec=limit_files(size_bytes))
    checks_of_full(case, out, ended, largest > size_bytes)
    if case.rng.random() < 0.5:
        again = case.folder / 'again'
        ended = case.programs.run(case, case.programs.rocelab, 'diagnose', case.folder / 'roomy', '--out', again,
                                  preexec=limit_files(size_bytes))
        checks_of_full(case, again, ended, False)


def checks_of_full(case, out, ended, full):
    if full:
        case.check(ended.code in (1, 2), 'a full disk is no error', ended.output)
        case.check(ended.stderr.strip(), 'no word of a full disk', ended.output)
    if out.exists():
        whole_but_recording(case, out)


def whole_but_recording(case, out):
    """The run must not report a truncated recording as complete."""
    checks.whole_files(out)
    if (out / 'verdict.json').exists():
        checks.verdict(out, checks.Names(None))
    underway.diagnoses(case, out)


def while_another_runs(case):
    """The second is refused and harms nothing."""
    with Underway(case) as run:
        run.moment()
        if run.started.over() or run.member('dpswitch') is None:
            return
        path = case.write('next.cfg', underway.AFTERWARDS)
        second = Started(case, [case.programs.rocelab, 'run', path, '--out', run.out]).end()
        first = run.end()
        case.check(first.code == 0, 'a second run breaks the first', first.output)
        case.check(second.code == 2 or 'next' in (run.out / 'effective.cfg').read_text(), 'two runs write to one folder',
                   second.output)
        checks.whole_run(run.out, checks.Names(None))


def after_another(case):
    """A run leaves what it would have left in an empty folder."""
    first, second = (scenarios.any_scenario(case.rng) for _ in range(2))
    out = case.folder / 'run'
    case.programs.run(case, case.programs.rocelab, 'run', first.write(case, 'first.cfg'), '--out', out)
    before = contents(out)
    path = second.write(case, 'second.cfg')
    ended = case.programs.run(case, case.programs.rocelab, 'run', path, '--out', out)
    if ended.code == 2:
        case.check(contents(out) == before, 'a refused run changes what an earlier one left', ended.output)
        return
    fresh = case.folder / 'fresh'
    case.programs.run(case, case.programs.rocelab, 'run', path, '--out', fresh, codes=(ended.code,))
    case.check(sorted(contents(out)) == sorted(contents(fresh)), 'files of an earlier run lie beside the new one',
               (sorted(contents(out)), sorted(contents(fresh))))
    checks.whole_run(out, checks.Names(second.network.ports))


def refused_after_another(case):
    """A scenario that is refused changes nothing."""
    out = case.folder / 'run'
    case.programs.run(case, case.programs.rocelab, 'run', scenarios.any_scenario(case.rng).write(case), '--out', out)
    before = contents(out)
    bad = case.write('bad.cfg', underway.AFTERWARDS + case.rng.choice(
        ('nonsense = 1;\n', 'host = { mtu = 7; };\n', 'host = {', 'limits = { stall = "never"; };\n',
         'exporter = { burst = "1B"; budget = "1MB"; };\n', 'switch = { buffer = "1KiB"; };\n')))
    ended = case.programs.run(case, case.programs.rocelab, 'run', bad, '--out', out, codes=(2,))
    case.check(contents(out) == before, 'a refused run changes what an earlier one left', ended.output)


def killed_after_another(case):
    """The next run dies: nothing of the earlier one lies beside its recording, as if it were its own."""
    out, path = case.folder / 'run', case.write('first.cfg', underway.AFTERWARDS)
    case.programs.run(case, case.programs.rocelab, 'run', path, '--out', out, codes=(0,))
    earlier = contents(out)
    with Underway(case) as run:
        run.member('dpswitch')
        run.moment()
        if not run.started.over():
            run.started.signal_group(signal.SIGKILL)
        run.end()
        now = contents(out)
        if now.get('records.bin') != earlier['records.bin']:
            stale = [name for name in now if now[name] == earlier.get(name)]
            case.check(not stale, 'files of an earlier run lie beside the new recording', stale)
        underway.afterwards(case, run, None)


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob('*') if p.is_file()} if folder.exists() else {}


def folder(case):
    case.rng.choice((while_another_runs, after_another, killed_after_another, refused_after_another))(case)
