# SPDX-License-Identifier: BSD-3-Clause
"""Kind "limit": one key of a small scenario at, or beyond, what it may be. The seed counts through all of them."""
import re

import checks
import reference
from case import Failure, Refused
from programs import limit_files

PLAIN = {'kind': '"leaf-spine"', 'leaves': '2', 'spines': '2', 'hosts_per_leaf': '2'}  # of the faults' examples
TOPOLOGIES = {
    'explicit': {'kind': '"explicit"', 'hosts': '[ "h0", "h1" ]', 'switches': '[ "s0" ]', 'links': '( "h0 s0", "h1 s0" )'},
    'fat-tree': {'kind': '"fat-tree"', 'k': '4'},
    'leaf-spine': PLAIN,
    'dual-tor': {'kind': '"dual-tor"', 'hosts': '2', 'hosts_per_rack': '1', 'spines': '1'},
    'rail': {'kind': '"rail"', 'hosts': '2', 'nics': '2', 'hosts_per_group': '2'},
    'ns3': {'kind': '"ns3"', 'file': '"net.txt"'},
}
NS3 = '4 2 3\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n'
LISTS = {
    'collectives': {'op': '"allgather"', 'bytes': '"64KB"'},
    'flows': {'src': '"h0"', 'dst': '"h1"', 'sport': '20000', 'bytes': '"64KB"'},
    'paths': {'src': '"h0"', 'dst': '"h1"'},
    'hosts': {'kind': '"embedded"'},
    'topology.links': {'a': '"h0"', 'b': '"s0"'},
}
SOON = {'virtual_time': '"2ms"'}  # no trial is about how long something takes
FILES_BYTES = 64 << 20            # what so small a run may leave, each


def inside(keys):
    return '{ ' + ' '.join(f'{key} = {value};' for key, value in keys.items()) + ' }'


def scenario(trial, payload, faults):
    """The text of a scenario with the key in its place, in a separate line. @param faults  fault_examples()"""
    path, kind, name = trial.key.path, trial.key.kind, trial.key.name
    own = {name: f'\n  {trial.value}'}
    topology, groups = dict(PLAIN), {'limits': dict(SOON)}
    lists = {'collectives': {**LISTS['collectives'], 'payload': f'"{payload}"'}}
    if path == 'topology':
        topology = {**TOPOLOGIES[kind], **own}
    elif path == 'topology.links':
        links = f'( "h1 s0", {inside({**LISTS[path], **own})} )'
        topology = {**TOPOLOGIES['explicit'], 'links': links}
    elif path == 'faults':
        lists['faults'] = {'kind': f'"{kind}"', **faults[kind], **own}
        if kind in ('cpu-overload', 'agent-restart'):  # they need an agent
            groups['pingmesh'] = {'enabled': 'true'}
    elif path in LISTS:
        lists[path] = {**LISTS[path], **lists.get(path, {}), **own}
    elif path:
        first, _, second = path.partition('.')
        groups[first] = {**groups.get(first, {}), **({second: inside(own)} if second else own)}
    text = f'topology = {inside(topology)};\n'
    text += ''.join(f'{group} = ( {inside(keys)} );\n' for group, keys in lists.items())
    text += ''.join(f'{group} = {inside(keys)};\n' for group, keys in groups.items())
    return text if path else text + f'{name} = {trial.value};\n'


def all_trials(case):
    if not all_trials.known:
        all_trials.known = reference.trials(case.programs.rocelab)
    return all_trials.known


all_trials.known = []


def small_files(out):
    large = [(path.name, path.stat().st_size) for path in out.iterdir() if path.stat().st_size >= FILES_BYTES]
    if large:
        raise Failure(f'so small a run leaves {large}')


def run(case):
    trials = all_trials(case)
    trial = trials[case.seed % len(trials)]
    case.note(f'# {trial.key.path} {trial.key.kind} {trial.key.name} = {trial.value[:200]}: {trial.expect}')
    case.write('net.txt', NS3)
    faults = reference.fault_examples(case.programs.rocelab)
    path, out = case.write('case.cfg', scenario(trial, case.rng.choice(('synthetic', 'real')), faults)), case.folder / 'run'
    command = ['topo', 'check', path] if trial.key.path == 'hosts' else ['run', path, '--out', out]
    ended = case.programs.run(case, case.programs.rocelab, *command, preexec=limit_files(FILES_BYTES))
    if ended.code == 2:
        checks.refusal(out, ended, path)
        case.check(re.search(r'case\.cfg:\d+: ', ended.stderr), 'a refusal that names no line', ended.output)
        raise Refused(ended.stderr.strip())
    case.check(trial.expect != reference.BEYOND, 'beyond its limits, and taken', ended.output)
    if command[0] == 'run':
        small_files(out)
        checks.whole_run(out, checks.Names(None))
