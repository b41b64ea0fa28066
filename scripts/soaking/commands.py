# SPDX-License-Identifier: BSD-3-Clause
"""Kind "command": other commands with a random scenario: its paths, several systems side by side, captures, blame."""
import json
import re
import struct

import checks
import scenarios
from case import Refused
from programs import UNFINISHED

SYSTEMS = ('vedrfolnir', 'flowpulse', 'flowtracer', 'pingmesh', 'hawkeye-minr', 'hawkeye-maxr', 'full-polling')
OWN_PACKETS = ('pingmesh', 'hawkeye-minr', 'hawkeye-maxr', 'full-polling')
STALL_LIMIT_S = 300


class Asked:
    """One scenario of which something is asked."""

    def __init__(self, case):
        self.case = case
        self.rng = case.rng
        self.scenario = scenarios.any_scenario(case.rng)
        self.path = self.scenario.write(case)

    def rocelab(self, *args, codes=(0, 1, UNFINISHED)):
        """Runs rocelab. Raises Refused if it reports an error of the scenario. @return Ended"""
        ended = self.case.programs.run(self.case, self.case.programs.rocelab, *args, within_s=STALL_LIMIT_S, codes=(*codes, 2))
        if ended.code == 2:
            self.case.check(re.search(r'(case|effective)\.cfg|--set|--\w+', ended.stderr) and len(ended.stderr) < 4000,
                            'a refusal that names nothing', ended.output)
            raise Refused(ended.stderr.strip())
        return ended

    def json(self, *args, codes=(0,)):
        ended = self.rocelab(*args, codes=codes)
        try:
            return json.loads(ended.stdout, parse_constant=checks.no_constant, object_pairs_hook=checks.no_doubles)
        except ValueError as error:
            raise checks.Failure(f'no JSON: {error}: {ended.output}') from error


def trace(asked):
    """Traced whole and in two partitions: the same flows, paths and counts."""
    rng, case = asked.rng, asked.case
    options = [f'--threads={rng.choice((1, 3, 8))}', f'--batch={rng.choice((1, 16))}',
               f'--connections={rng.choice(("ad-hoc", "persistent", "parallel"))}']
    if rng.random() < 0.3:
        options.append(f'--at={rng.choice(("0s", "10us", "1s"))}')
    whole = asked.json('trace', asked.path, '--json', *options, codes=(0, 1, UNFINISHED))
    files = []
    for part in range(2):
        files.append(case.folder / f'part{part}.json')
        asked.rocelab('trace', asked.path, f'--partition={part + 1}/2', '--out', files[-1], *options)
        checks.parsed(files[-1])
    merged = asked.json('trace', '--merge', asked.path, *files, '--json', codes=(0, 1, UNFINISHED))
    for key in ('flows', 'links', 'layers', 'all', 'silent'):
        output = [sorted(map(str, reported[key])) if isinstance(reported[key], list) else reported[key] for reported in (whole, merged)]
        case.check(output[0] == output[1], f'{key}: merged partitions differ', output)


def several(asked):
    """Systems side by side; passive ones do not change the run."""
    case, out, alone = asked.case, asked.case.folder / 'several', asked.case.folder / 'alone'
    names = asked.rng.sample(SYSTEMS, asked.rng.randint(2, 3))
    compared = asked.json('run', asked.path, '--out', out, '--json', '--diagnosers', ','.join(names), codes=(0, 1, UNFINISHED))
    checks.whole_files(out)
    reported = {system['name'] for system in compared['systems']}
    case.check(set(names) <= reported, 'a system is missing', (names, reported))
    if not set(names) & set(OWN_PACKETS) and 'flowtracer' not in names:
        asked.rocelab('run', asked.path, '--out', alone)
        digests = [checks.parsed(folder / 'run.json')['digest'] for folder in (out, alone)]
        case.check(asked.scenario.policy not in ('off', 'vedrfolnir') or digests[0] == digests[1],
                   'systems that only watch changed the run', digests)


def whole_capture(path):
    """Blocks of a pcapng file, each as long as both its length fields (draft-ietf-opsawg-pcapng, 3.1). @return their number"""
    data, at, count = path.read_bytes(), 0, 0
    while at < len(data):
        checks.require(len(data) - at >= 12, 'a capture that ends within a block', at)
        size, = struct.unpack_from('<I', data, at + 4)
        checks.require(size >= 12 and size % 4 == 0 and at + size <= len(data), 'a block of a wrong length', (at, size))
        checks.require(struct.unpack_from('<I', data, at + size - 4)[0] == size, 'a block that contradicts itself', at)
        at, count = at + size, count + 1
    return count


def capture(asked):
    """What crosses a port is written, whole up to a limit, and changes nothing."""
    case, out, alone = asked.case, asked.case.folder / 'captured', asked.case.folder / 'alone'
    ports = ','.join({asked.scenario.network.any_port(asked.rng) for _ in range(asked.rng.choice((1, 3)))})
    asked.rocelab('run', asked.path, '--out', out, '--capture', ports, f'--capture-limit={asked.rng.choice(("1KB", "1MB", "1GB"))}',
                  f'--capture-bytes={asked.rng.choice(("64", "128", "10KB"))}')
    case.check(whole_capture(out / 'capture.pcapng') > 0, 'an empty capture')
    asked.rocelab('run', asked.path, '--out', alone)
    digests = [checks.parsed(folder / 'run.json')['digest'] for folder in (out, alone)]
    case.check(digests[0] == digests[1], 'a capture changed the run', digests)


def explain(asked):
    """A packet of any two hosts."""
    src, dst = asked.rng.sample(asked.scenario.network.hosts, 2)
    ended = asked.rocelab('explain', asked.path, '--flow', f'{src},{dst},{asked.rng.randint(1, 65535)},4791')
    asked.case.check(ended.stdout.strip(), 'nothing is explained', ended.output)


def blame(asked):
    """Runs without each suspect."""
    folder = asked.case.folder / 'blame'
    ended = asked.rocelab('blame', asked.path, '--out', folder)
    if ended.code == 1 and re.search(r'effective\.cfg:\d+: ', ended.stderr):
        raise Refused(ended.stderr.strip())  # what shows in a run alone
    blamed = asked.json('blame', asked.path, '--json', '--out', folder, codes=(0, 1, UNFINISHED))
    asked.case.check(isinstance(blamed, dict) and blamed, 'no result', blamed)


def rows(path):
    """Lines of a table, but for those of ranks that only wait, which last as long as the run."""
    return [line for line in path.read_text().splitlines() if not line.endswith(',0,0,-,-,-')] if path.exists() else []


def partitions(asked):
    """The fabric divided among programs, in real time, against one program in virtual time."""
    case, asked_for = asked.case, ['topology.delay=50us', 'topology.rate=1Gbps', 'limits.virtual_time=500ms', 'limits.stall=400ms']
    if '\npingmesh = ' in asked.scenario.text:
        asked_for.append('pingmesh.enabled=false')  # at the rates of a fabric a hundred times as fast
    sets = [word for one in asked_for for word in ('--set', one)]
    whole, divided = case.folder / 'whole', case.folder / 'divided'
    asked.rocelab('run', asked.path, '--out', whole, *sets)
    asked.rocelab('run', asked.path, '--out', divided, *sets, '--set', 'timing.clock=real', '--partitions', asked.rng.choice((2, 2, 3)))
    checks.whole_run(divided, checks.Names(asked.scenario.network.ports))
    ends = [checks.parsed(folder / 'run.json')['end_reason'] for folder in (whole, divided)]
    case.check(ends[0] == ends[1], 'partitions end otherwise', ends)
    for name in ('steps.csv', 'flows.csv', 'truth.json'):
        case.check(rows(whole / name) == rows(divided / name), f'{name} of partitions is another')


QUESTIONS = (trace, trace, several, several, capture, explain, blame, partitions, partitions)


def run(case):
    question = case.rng.choice(QUESTIONS)
    case.note(f'# {question.__name__}')
    question(Asked(case))
