# SPDX-License-Identifier: BSD-3-Clause
"""What a random scenario has beside its workload: how switches spread packets, how hosts repair, and systems that watch."""

BALANCING = {
    'ecmp': {'hash': ('crc32c', 'crc16', 'xor'), 'seeds': ('own', 'shared'), 'fields': ('[ "src", "dst" ]', '[ "sport" ]'),
             'encapsulation': ('none', 'vxlan'), 'entropy_bits': (0, 1, 14)},
    'random': {}, 'round-robin': {}, 'adaptive': {}, 'flowlet': {},
}
ADAPTIVE = {'quantum': ('0B', '256B', '1GB'), 'memory': ('0B', '64KiB', '1GB')}
FLOWLET = {'gap': ('0ps', '1us', '50us', '1s')}
SELECTIVE = {'repeat_after': ('1ps', '5us', '100us'), 'timer': ('adaptive', 'fixed'), 'windows': (1, 4, 64)}
FLOWPULSE = {
    'prediction': ('analytical', 'measured', 'learned', 'simulated'), 'detector': ('threshold', 'noise', 'pooled'),
    'false_alarms': (1e-09, 0.0001, 0.01), 'threshold': (0.0, 0.01, 1.0), 'tolerance': (0.0, 0.01, 1.0), 'learn': (1, 2, 1000),
    'senders': (1, 64, 4096), 'grace': ('1ps', '10us', '1s'), 'idle': ('1ps', '10us', '10ms'), 'compare': ('senders', 'ports'),
    'export': ('alarms', 'counts'),
}
FLOWTRACER = {
    'start': ('0s', '100us'), 'period': ('0s', '200us'), 'rtt': ('1us', '100us', '1ms'), 'processes': (1, 3), 'threads': (1, 8, 64),
    'connections': ('ad-hoc', 'persistent', 'parallel'), 'first_hop': ('host', 'host', 'sflow'), 'all_flows': (True, False),
}


def some(rng, keys):
    """A few of the keys, each with one of its values."""
    return {key: rng.choice(keys[key]) for key in rng.sample(list(keys), rng.randint(0, len(keys)))}


def load_balancing(rng, kind=None):
    kind = kind or rng.choice(list(BALANCING))
    group = {'kind': kind, **some(rng, BALANCING[kind])}
    if group.get('encapsulation') != 'vxlan':
        group.pop('entropy_bits', None)
    if kind == 'adaptive':
        group['adaptive'] = some(rng, ADAPTIVE)
    if kind == 'flowlet':
        group['flowlet'] = some(rng, FLOWLET)
    return group


def selective(rng):
    """Keys of the group host."""
    return {'transport': 'selective', 'selective': some(rng, SELECTIVE)}


def flowpulse(rng, balancing):
    """@param balancing  kind of load_balancing: only where each packet is spread can loads be reckoned"""
    group = {'enabled': True, **some(rng, FLOWPULSE)}
    if balancing in ('ecmp', 'flowlet') and rng.random() < 0.9:
        group['prediction'] = 'learned'
    if group.get('prediction') == 'simulated':
        group['simulations'] = rng.choice((1, 2))
    return group


def flowtracer(rng):
    return {'enabled': True, **some(rng, FLOWTRACER)}


def generators(rng, until):
    """@param until  when no flow begins any more"""
    kind = rng.choice(('poisson', 'incast', 'permutation'))
    size = rng.choice(({'bytes': '4KB'}, {'bytes': '64KB'}, {'sizes': 'websearch'}))
    offered = {'load': rng.choice((0.01, 0.3)), 'until': until}
    if kind == 'incast':
        offered = rng.choice(({'degree': 1}, {'degree': 1, 'period': '50us', 'until': until}))
    return [{'kind': kind, **size, **offered, 'connections': rng.choice((1, 16))}]
