# SPDX-License-Identifier: BSD-3-Clause
"""Kind "scenario": a random run from its scenario to its verdict, and again from what it left."""
import filecmp

import checks
import scenarios
from case import Failure, Refused

SAME = ('records.bin', 'steps.csv', 'truth.json')
# Of the cases: each window costs two processes a message, and on a busy machine a nap.
OVER_PROCESSES = 0.2
PROCESSES_LIMIT_S = 480


def again(case, run):
    """effective.cfg gives the same recording, on two lcores as on one."""
    programs = case.programs
    lcores = [1] if programs.lcores < 2 else [2] if case.rng.random() < 0.8 else [1, 2]
    for number in lcores:
        out = case.folder / f'lcores{number}'
        out.mkdir()
        programs.run(case, programs.dpswitch, case.folder / 'run' / 'effective.cfg', '--out', out, '--quiet',
                     '--lcores', number)
        other = checks.parsed(out / 'run.json')
        case.check(other['digest'] == run['digest'], f'another digest on {number} lcores from effective.cfg',
                   (run['digest'], other['digest']))
        for name in SAME:
            case.check(filecmp.cmp(out / name, case.folder / 'run' / name, shallow=False),
                       f'another {name} on {number} lcores from effective.cfg')


def over_processes(case, run):
    """effective.cfg gives the same recording over two processes, unless these are refused."""
    programs, out = case.programs, case.folder / 'processes'
    # Open MPI keeps allocations to the end.
    ended = programs.run(case, programs.rocelab, 'run', case.folder / 'run' / 'effective.cfg', '--processes', 2, '--out', out,
                         within_s=PROCESSES_LIMIT_S, leaks=False)
    if ended.code in (2, 3):  # a system that needs one process, one switch, a build without Open MPI
        case.check(ended.stderr.strip(), 'two processes are refused without a word', ended.output)
        return
    other = checks.parsed(out / 'run.json')
    case.check((other['end_reason'], other['digest']) == (run['end_reason'], run['digest']), 'another digest over two processes',
               (run['end_reason'], run['digest'], other['end_reason'], other['digest'], ended.output))
    for name in SAME:
        case.check(filecmp.cmp(out / name, case.folder / 'run' / name, shallow=False), f'another {name} over two processes')


def diagnosed_again(case, out):
    other = case.folder / 'again'
    case.programs.run(case, case.programs.rocelab, 'diagnose', out, '--out', other, codes=(0,))
    checks.whole_files(other)
    for name in ('verdict.json', 'report.html'):
        case.check(filecmp.cmp(out / name, other / name, shallow=False), f'diagnose gives another {name}')


def run(case):
    scenario = scenarios.any_scenario(case.rng)
    path = scenario.write(case)
    out = case.folder / 'run'
    ended = case.programs.run(case, case.programs.rocelab, 'run', path, '--out', out)
    if ended.code == 2:
        checks.refusal(out, ended, path)
        raise Refused(ended.stderr.strip())
    run_json, _ = checks.whole_run(out, checks.Names(scenario.network.ports))
    if (ended.code == 0) != (run_json['end_reason'] == 'complete'):
        raise Failure(f'exit code {ended.code} of a run that ended by {run_json["end_reason"]}: {ended.output}')
    again(case, run_json)
    if case.rng.random() < OVER_PROCESSES:
        over_processes(case, run_json)
    diagnosed_again(case, out)
