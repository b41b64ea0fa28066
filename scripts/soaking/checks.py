# SPDX-License-Identifier: BSD-3-Clause
"""What must hold of what a run or a diagnosis leaves: whole files, invariants, a verdict that does not contradict itself."""
import csv
import json
import re

from case import Failure

PAGES = ('report.html', 'report.txt', 'verdict.json')
FLOW = re.compile(r'^(?P<src>[^>/]+)->(?P<dst>[^>/]+)(/(\d+)>(\d+))?$')
UNFINISHED = re.compile(r'did not finish|never started|finished, but only')
CONTROL = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f]')
EPSILON = 1e-9
OF_HOSTS = ('slow-host', 'host-limited', 'receiver-not-ready', 'timer-too-short')  # of which the network is innocent
ROUNDING_NS = 1


def require(condition, message, detail=''):
    if not condition:
        raise Failure(f'{message}: {detail}')


def no_constant(word):
    raise ValueError(f'{word} is no JSON')


def no_doubles(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f'a key twice: {keys}')
    return dict(pairs)


def parsed(path):
    """A JSON file, read strictly. Raises Failure if it is not whole."""
    try:
        return json.loads(path.read_bytes().decode(), parse_constant=no_constant, object_pairs_hook=no_doubles)
    except (ValueError, OSError) as error:
        raise Failure(f'{path.name} is no JSON: {error}') from error


def half_made(path):
    """Is it a temporary file, by its name?"""
    return path.name.startswith('.') and path.suffix == '.new'


def whole_files(folder, killed=False):
    """Every file is complete, however the programs ended. @param killed  incomplete ones may be left,
    under a temporary name, until the next run"""
    for path in sorted(folder.rglob('*')):
        if not path.is_file() or (killed and (half_made(path) or path.name == 'live.lock')):
            continue
        data = path.read_bytes()
        if path.suffix == '.json':
            parsed(path)
        elif path.suffix == '.html':
            require(data.rstrip().endswith(b'</html>'), f'{path.name} is cut', data[-80:])
        elif path.suffix in ('.csv', '.dot', '.txt', '.cfg'):
            require(data.endswith(b'\n'), f'{path.name} is cut', data[-80:])
        require(path.suffix in ('.json', '.html', '.csv', '.dot', '.txt', '.cfg', '.bin', '.pcapng', '.log', '.sqlite'),
                'an unknown file', path)


def invariants(run):
    broken = [invariant for invariant in run['invariants'] if not invariant['holds']]
    require(not broken, 'invariants do not hold', broken)


class Names:
    """Nodes and ports that a verdict may speak of. @param ports  of each node; None: any"""

    def __init__(self, ports):
        self.ports = ports

    def port(self, text):
        if self.ports is None:
            return
        node, _, number = text.rpartition(':')
        require(node in self.ports and number.isdigit() and 1 <= int(number) <= self.ports[node], 'no such port', text)

    def node(self, text):
        require(self.ports is None or text in self.ports, 'no such node', text)

    def place(self, text):
        """A finding's root: a port, a node, a flow or parallel links; of R-Pingmesh several that cannot be distinguished, or none."""
        if self.ports is None or text in self.ports or text == 'an unknown place':
            return
        for one in re.split(' or | to ', re.sub(r' or \d+ others?$', '', text)):
            self.flow(one) if '->' in one else self.node(one) if one in self.ports else self.port(one)

    def flow(self, text):
        if self.ports is None:
            return
        match = FLOW.match(text)
        require(match, 'not a flow', text)
        for end in (match['src'], match['dst']):
            self.port(end) if ':' in end else self.node(end)


def spans(verdict):
    """All that has a start and an end."""
    yield from verdict['collectives']
    yield from verdict['critical_path']
    yield from verdict['findings']


def times(verdict):
    end_ns = verdict['evidence']['end_ns']
    for span in spans(verdict):
        require(0 <= span['start_ns'] <= end_ns + ROUNDING_NS, 'a start outside the run', (span, end_ns))
        if span['end_ns'] is None:
            require(span.get('open') or span.get('complete') is False, 'finished without an end', span)
        else:
            require(span['start_ns'] <= span['end_ns'] <= end_ns + ROUNDING_NS, 'an end outside the run', (span, end_ns))


def finding(found, verdict, names):
    names.place(found['root'])
    for port in found['ports']:
        names.port(port)
    for flow in found['flows'] + found['victims']:
        names.flow(flow)
    require(found['score'] >= 0, 'a negative score', found)
    require(found['evidence'].strip(), 'a finding without a reason', found)
    for part in found['iterations']:
        collective = position(verdict, part)
        require(all(step['step'] >= 1 and step['rank'] < collective['ranks'] for step in part['steps']),
                'steps that there are not', found)


def position(verdict, item):
    """The collective's iteration that an item is of."""
    found = [c for c in verdict['collectives'] if all(c[key] == item[key] for key in ('job', 'collective', 'iteration'))]
    require(len(found) == 1, 'of no collective, or of several', item)
    return found[0]


def critical_path(verdict):
    path = verdict['critical_path']
    for step in path:
        require(0 <= step['completeness'] <= 1 + EPSILON, 'completeness beyond 0 to 1', step)
        require(step['step'] >= 1, 'a step before the first', step)
        require(not (step['open'] and position(verdict, step)['complete']), 'an open step in a complete collective', step)


def contributors(verdict):
    for contributor in verdict['contributors']:
        require(contributor['score'] >= 0, 'a negative score', contributor)
        require(0 <= contributor.get('share', 0) <= 1 + EPSILON, 'a share beyond 0 to 1', contributor)
    require(sum(c.get('share', 0) for c in verdict['contributors']) <= 1 + 1e-6, 'shares beyond 100 %',
            verdict['contributors'])


def completeness(verdict):
    """The reported share; null where the total is unknown."""
    overhead, evidence = verdict['overhead'], verdict['evidence']
    share = overhead['completeness']
    require((share is None) == evidence['truncated'], 'complete or not: unknown for a truncated recording', (share, evidence))
    if share is None:
        return
    require(0 <= share <= 1 + EPSILON, 'completeness beyond 0 to 1', overhead)
    require(share < 1 or not overhead['dropped'], 'complete, though records were dropped', overhead['dropped'])


def words(verdict, text):
    """The texts for people agree with the numbers."""
    require(not CONTROL.search(text), 'control characters in the report', CONTROL.findall(text))
    require(not re.search(r'\bnan\b', text.lower()), 'not a number in the report', text)
    headline, text = text.split('\n\n', maxsplit=1)[0], ' '.join(text.split())
    unfinished = [collective for collective in verdict['collectives'] if not collective['complete']]
    if unfinished:
        require(UNFINISHED.search(text), 'the report hides that a collective did not finish', text)
    if (verdict['overhead']['completeness'] or 0) < 1 - 1e-3:
        require('100.0 % complete' not in text, 'the report claims to be complete', text)
    if unfinished and len(unfinished) == len(verdict['collectives']):
        require(not re.search(r'took .* (longer|shorter) than the', headline),
                'the report compares the time of what did not finish', text)


def verdict(folder, names):
    """All of a verdict. @return it, parsed"""
    reported = parsed(folder / 'verdict.json')
    times(reported)
    for found in reported['findings']:
        finding(found, reported, names)
    critical_path(reported)
    contributors(reported)
    completeness(reported)
    words(reported, (folder / 'report.txt').read_text(errors='surrogateescape'))
    costly = [found for found in reported['findings'] if found['explained_ns'] and found['type'] not in OF_HOSTS]
    require(not (reported['network']['innocent'] and costly), 'innocent, with findings that cost time', (reported['network'], costly))
    return reported


def steps(folder, run, reported):
    """steps.csv against the run and the verdict."""
    with open(folder / 'steps.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row['duration_ns'] not in ('', '-'):
            end_ns = int(row['start_ns']) + int(row['duration_ns'])
            require(end_ns <= run['virtual_ns'] + ROUNDING_NS, 'a step outlives the run', row)
    require(reported['evidence']['end_ns'] <= run['virtual_ns'] + ROUNDING_NS, 'the verdict ends after the run', reported['evidence'])


def ended(run, reported):
    """The end in run.json against the verdict."""
    export = run['export']
    kept_back = export['dropped_records'] + export.get('analyzer_missed_records', 0)
    if run['end_reason'] == 'complete' and kept_back == 0:
        require(all(collective['complete'] for collective in reported['collectives']), 'the run is complete, a collective is not',
                reported['collectives'])
    require(not reported['evidence']['truncated'], 'a run that ended has a cut recording', reported['evidence'])
    require(kept_back == reported['overhead']['dropped'], 'records dropped: run.json and verdict differ',
            (export, reported['overhead']['dropped']))


def whole_run(folder, names):
    """Of a run that nothing disturbed from outside. @return (run.json, verdict.json)"""
    whole_files(folder)
    run = parsed(folder / 'run.json')
    invariants(run)
    reported = verdict(folder, names)
    steps(folder, run, reported)
    ended(run, reported)
    return run, reported


def refusal(folder, ended_program, scenario):
    """Refused: reports where and why in few words, and leaves nothing."""
    text = ended_program.stdout + ended_program.stderr
    require(len(text) < 4000, 'a refusal of many words', text[:4000])
    require(re.search(re.escape(scenario.name) + r':\d+: \S', text) or f'{scenario.name}: ' in text,
            'a refusal that names no place', ended_program.output)
    require(not folder.exists() or not list(folder.iterdir()), 'a refused run leaves something',
            sorted(path.name for path in folder.iterdir()) if folder.exists() else '')
