# SPDX-License-Identifier: BSD-3-Clause
"""Random scenarios that are valid: every topology, operation, algorithm, policy and fault, parameters at their limits."""
import dataclasses

import systems
import topologies

PACKETS = 12_000       # of data that a collective may send, so that a case takes a second
WINDOWS = 2e5          # that a run may last
PERIODS = 20  # of R-Pingmesh's analysis, of 20 s by the factor
POLICIES = ('off', 'vedrfolnir', 'vedrfolnir', 'vedrfolnir-paper', 'vedrfolnir-poster', 'hawkeye-minr', 'hawkeye-maxr', 'full-polling')
MTUS = (256, 512, 1024, 1024, 2048, 4096)
ODD_MTUS = (1, 2, 8, 40, 64, 1000, 1300, 9000)  # with an overhead of their own only

FAULTS = ('pfc-storm', 'loss', 'corruption', 'link-down', 'misroute', 'blackhole', 'fib-corruption', 'delay', 'slow-host', 'acl',
          'missing-route', 'ecmp-imbalance', 'pfc-headroom', 'rnic-down', 'rnic-no-gid', 'rnic-no-routes', 'dma-detour',
          'pcie-downgrade', 'slow-receiver', 'host-down', 'link-rate')
FAULTS_OF_AGENTS = ('cpu-overload', 'agent-restart')
ALGORITHMS = {
    'allgather': ('ring', 'ring', 'halving-doubling', 'binomial-tree'), 'reducescatter': ('ring', 'halving-doubling', 'binomial-tree'),
    'allreduce': ('ring', 'ring', 'halving-doubling', 'binomial-tree', 'double-binary-tree'),
    'alltoall': ('linear', 'pairwise', 'bruck'), 'alltoallv': ('linear', 'pairwise'), 'sendrecv': ('ring', 'pipeline'),
    'broadcast': ('ring', 'halving-doubling', 'binomial-tree', 'double-binary-tree'),
    'reduce': ('ring', 'halving-doubling', 'binomial-tree', 'double-binary-tree'),
}
# Keys that may take any of these values without asking for another key.
PARAMETERS = {
    'switch': {
        'lossy_queue': ('1B', '100KB', '1TB'), 'control_queue': ('1MiB', '1TB'), 'weights': ('[ "3:64" ]', '[ "3:1", "5:2" ]'),
    },
    'switch.pfc': {
        'model': ('dynamic', 'static'), 'alpha': (0.001, 0.125, 1.0, 64.0), 'reserve': ('0B', '4096', '64KiB'),
        'xon_offset': ('0B', '3072'), 'xoff': ('4KB', '20KB', '64KiB'), 'enabled': (True, True, True, False),
    },
    'switch.ecn': {
        'enabled': (True, False), 'kmin': ('0B', '5KB', '400KB'), 'kmax': ('400KB', '1600KB', '1TB'), 'pmax': (0.0, 0.2, 1.0),
        'rate': ('1Mbps', '100Gbps', '10Tbps'),
    },
    'host': {
        'cc': ('dcqcn', 'hpcc', 'swift', 'timely', 'none'),
        'ack_every': (1, 2, 64, 1024), 'window': ('bdp', 'none', '1KB', '64KB'), 'window_scales_with_rate': (True, False),
        'timeout_doublings': (0, 3, 16), 'retry_count': (0, 1, 7, 255), 'rnr_retry': (0, 7), 'nak': (True, False),
        'control_bytes': (20, 90, 1500), 'data_prio': (3, 3, 3, 5),
    },
    'host.dcqcn': {
        'g': (1e-06, 0.00390625, 1.0), 'alpha_interval': ('1us', '55us'),
        'decrease_interval': ('4us', '50us'), 'increase_timer': ('1us', '900us'), 'ai': ('5Mbps', '1Gbps'),
        'min_rate': ('10Mbps', '100Mbps'), 'fast_recovery': (0, 1, 5, 1000), 'clamp_target': (True, False),
        'echo': ('ack', 'cnp'), 'cnp_interval': ('0us', '50us'),
    },
    'detection': {
        'detections': (1, 2, 10, 255), 'rtt_percent': (101, 120, 100000), 'rtt_fixed': ('0ns', '1ns', '10us'),
        'transfer': (True, False), 'spacing': ('0ns', '1ns', '5us'), 'lag_percent': (0, 1, 1000), 'retain': ('0us', '50us', '1s'),
        'jitter': ('0s', '1us', '50ms'),
    },
    'telemetry': {
        'epoch': ('10us', '50us', '1ms', '1s'), 'epochs_kept': (0, 1, 2, 64, 1024), 'quiet_depth': (0, 8, 1000000),
        'contention': ('replay', 'exact'), 'enabled': (True, True, True, True, False),
    },
    'exporter': {
        'budget': ('0', '1KB', '100KB', '10MB'), 'burst': ('0', '1024B', '64KB', '1GiB'), 'queue': ('0B', '1KB', '1MB', '1GiB'),
    },
    'timing': {
        'quantum': ('0ps', '1ns', '100ns'), 'pipeline': ('0ps', '1ns', '600ns', '10us'),
    },
}


@dataclasses.dataclass
class Scenario:
    network: topologies.Network
    text: str
    policy: str

    def write(self, case, name='case.cfg'):
        for beside, text in self.network.beside.items():
            case.write(beside, text)
        return case.write(name, self.text)


def literal(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    return value if value.startswith('[') else f'"{value}"'


def group(name, keys):
    """A group of keys as text; groups within are dictionaries."""
    inside = ' '.join(group(key, value) if isinstance(value, dict) else f'{key} = {literal(value)};'
                      for key, value in keys.items())
    return f'{name} = {{ {inside} }};'


def element(keys):
    return '{ ' + ' '.join(f'{key} = {literal(value)};' for key, value in keys.items()) + ' }'


def listing(name, elements):
    return f'{name} = (\n  ' + ',\n  '.join(map(element, elements)) + '\n);\n' if elements else ''


def ns(seconds):
    return f'{max(1, round(seconds * 1e9))}ns'


class Maker:
    """Draws one scenario."""

    PACKETS = PACKETS
    FLOW_PORT = 20000
    PARAMETERS = PARAMETERS

    def __init__(self, rng, network=None):
        self.rng = rng
        self.network = network or topologies.any_network(rng)
        self.groups = {}
        self.mtu = rng.choice(MTUS)

    def scenario(self):
        self._parameters()
        crowd = self.rng.random() < 0.2
        self._transport(0.5 if crowd else 0.2)
        collectives = self._collectives()
        flows = self._incast() if crowd else self._flows(bool(collectives))
        self._systems(collectives)
        faults = [self._fault() for _ in range(self.rng.choice((0, 1, 1, 2, 4)))]
        policy = self.rng.choice(POLICIES)
        self.groups.setdefault('detection', {})['policy'] = policy
        self._limits()
        text = self.network.text + listing('collectives', collectives) + listing('flows', flows) + listing('faults', faults)
        if self.rng.random() < 0.1:
            text += listing('generators', systems.generators(self.rng, ns(3 * self._step_s())))
        text += f'seed = {self.rng.choice((0, 1, self.rng.randrange(1 << 62)))}L;\n'
        text += ''.join(group(name, keys) + '\n' for name, keys in self.groups.items())
        return Scenario(self.network, text, policy)

    def _parameters(self):
        # A window is a cable's delay and the pipeline's: where both are next to nothing, so is a run's progress.
        if self.network.delay_s < 1e-9:
            self.groups['timing'] = {'pipeline': '600ns'}
        for path, keys in self.PARAMETERS.items():
            if path in self.groups or self.rng.random() < 0.6:
                continue
            into = self.groups
            for part in path.split('.'):
                into = into.setdefault(part, {})
            for key in self.rng.sample(list(keys), self.rng.randint(1, min(3, len(keys)))):
                into[key] = self.rng.choice(keys[key])

    def _transport(self, odd):
        """@param odd  share of transports whose frames have sizes that RoCEv2 does not know"""
        host = self.groups.setdefault('host', {})
        if self.rng.random() < odd:
            self.mtu = self.rng.choice(ODD_MTUS)
            host['data_overhead'] = self.rng.choice((20, 48, 82, 1000))
            host['ack_bytes'] = self.rng.choice((20, 86, 300, 1500))
        host['mtu'] = self.mtu
        host['timeout'] = ns(self.rng.choice((3, 20, 100)) * self._step_s())
        host['rnr_delay'] = ns(self._step_s())

    def _step_s(self):
        """About what one step of a collective takes."""
        return 100 * (self.mtu + 90) * 8 / self.network.rate_bps + 10 * self.network.delay_s + 1e-5

    def _size(self, share):
        """Bytes of a share of all packets, at times of a few or one."""
        packets = max(1, round(self.rng.choice((self.PACKETS, self.PACKETS, self.PACKETS / 10, 10, 1)) * share))
        return max(4, packets * self.mtu // 4 * 4)

    def _collectives(self):
        rng, out = self.rng, []
        for _ in range(rng.choice((0, 1, 1, 1, 1, 2))):
            ranks = rng.sample(self.network.hosts, rng.randint(2, min(8, len(self.network.hosts))))
            op = rng.choice(list(ALGORITHMS))
            algorithm = rng.choice(ALGORITHMS[op])
            if algorithm == 'halving-doubling':
                ranks = ranks[:1 << (len(ranks).bit_length() - 1)]
            iterations = rng.choice((1, 1, 1, 3))
            size = self._size(1 / (2 * len(ranks) * iterations)) // (4 * len(ranks)) * 4 * len(ranks)
            keys = {'op': op, 'algorithm': algorithm, 'ranks': '[ ' + ', '.join(f'"{r}"' for r in ranks) + ' ]',
                    'bytes': f'{max(size, 4 * len(ranks))}B', 'iterations': iterations, 'sport': 10000 + 100 * len(out)}
            keys.update(rng.choice(({}, {'gap': ns(self._step_s())}, {'start': ns(rng.choice((1, 30)) * self._step_s())},
                                    {'qp': 'per-step'}, {'type': 'float32'})))
            out.append(keys)
        payload = rng.choice(('synthetic', 'real'))
        return [{**keys, 'payload': payload} for keys in out]

    def _flows(self, optional):
        rng, out = self.rng, []
        for i in range(rng.choice((0, 1, 2, 4)) if optional else rng.randint(1, 3)):
            src, dst = rng.sample(self.network.hosts, 2)
            keys = {'src': src, 'dst': dst, 'sport': self.FLOW_PORT + i, 'bytes': f'{self._size(0.1)}B',
                    'start': ns(rng.random() * 5 * self._step_s())}
            if rng.random() < 0.3:
                keys.update(mode='repeat', until=ns(20 * self._step_s()))
            if rng.random() < 0.2:
                keys['prio'] = rng.randint(1, 7)
            out.append(keys)
        return out

    def _incast(self):
        """All at once to one host, which answers: queues fill, and nothing but PFC keeps them from overflowing."""
        first, *others = self.rng.sample(self.network.hosts, min(7, len(self.network.hosts)))
        self.groups['host']['window'] = 'none'
        self.groups['host']['cc'] = 'none'
        switch = self.groups.setdefault('switch', {})
        switch.setdefault('ecn', {})['enabled'] = False
        if self.rng.random() < 0.5:
            switch.setdefault('pfc', {}).update(model='static', xoff='20KB')
        size = PACKETS * self.mtu // (2 * len(others))
        return [{'src': a, 'dst': b, 'sport': base + i, 'bytes': f'{size}B'} for i, host in enumerate(others)
                for a, b, base in ((host, first, 20000), (first, host, 30000))]

    def _when(self):
        keys, rng = {'start': ns(rng_time(self.rng) * 5 * self._step_s())}, self.rng
        if rng.random() < 0.7:
            keys['duration'] = ns((0.1 + 3 * rng.random()) * self._step_s())
            if rng.random() < 0.3:
                keys['period'] = ns(4 * self._step_s())
        return keys

    def _fault(self):
        rng, network = self.rng, self.network
        kind = rng.choice(FAULTS + FAULTS_OF_AGENTS * ('pingmesh' in self.groups))
        own = {
            'pfc-storm': lambda: {'port': network.any_port(rng), 'interval': ns(self._step_s() / 5),
                                  'priority': self.groups.get('host', {}).get('data_prio', 3)},
            'loss': lambda: {'port': network.any_port(rng), 'rate': rng.choice((0.0, 0.001, 0.1, 1.0)),
                             'silent': rng.random() < 0.5},
            'corruption': lambda: {'port': network.any_port(rng), 'rate': rng.choice((0.0, 0.001, 0.1, 1.0))},
            'link-down': lambda: {'port': network.any_port(rng)},
            'misroute': lambda: {'dst': rng.choice(network.hosts), 'port': network.switch_port(rng)},
            'blackhole': lambda: {'switch': rng.choice(network.switches), 'dst': rng.choice(network.hosts)},
            'fib-corruption': lambda: {'switch': rng.choice(network.switches), 'share': rng.choice((0.1, 0.5, 1.0)),
                                       **rng.choice(({}, {'dst': rng.choice(network.hosts)}))},
            'delay': lambda: {'port': network.any_port(rng), 'extra': ns(rng.random() * self._step_s()),
                              'jitter': ns(rng.random() * self._step_s() / 10)},
            'slow-host': lambda: {'host': rng.choice(network.hosts), 'delay': ns(rng.random() * 5 * self._step_s()),
                                  'step': rng.randint(0, 3)},
            'acl': lambda: {'switch': rng.choice(network.switches),
                            **rng.choice(({'src': rng.choice(network.hosts)}, {'dst': rng.choice(network.hosts)}))},
            'missing-route': lambda: {'switch': rng.choice(network.switches), 'dst': rng.choice(network.hosts)},
            'ecmp-imbalance': lambda: {'port': network.switch_port(rng), 'share': rng.choice((0.0, 0.5, 1.0))},
            'pfc-headroom': lambda: {'port': network.switch_port(rng),
                                     **rng.choice(({'pfc': False}, {'headroom': rng.choice(('0B', '1KB', '1GB'))}))},
            'rnic-down': lambda: {'port': network.host_port(rng)},
            'rnic-no-gid': lambda: {'port': network.host_port(rng)},
            'rnic-no-routes': lambda: {'port': network.host_port(rng)},
            'dma-detour': lambda: {'port': network.host_port(rng), 'delay': ns(rng.random() * self._step_s())},
            'slow-receiver': lambda: {'port': network.host_port(rng), 'rate': rng.choice(('1Gbps', '10Gbps', '40Gbps'))},
            'pcie-downgrade': lambda: {'port': network.host_port(rng), 'generation': rng.randint(1, 6),
                                       'lanes': rng.choice((1, 2, 4, 8, 16)), 'buffer': rng.choice(('16384B', '128KB', '1GB'))},
            'host-down': lambda: {'host': rng.choice(network.hosts)},
            'link-rate': lambda: {'port': network.any_port(rng), 'rate': rng.choice(('1Gbps', '10Gbps'))},
            'cpu-overload': lambda: {'host': rng.choice(network.hosts), 'delay': ns(rng.choice((0.1, 3)) * self._step_s()),
                                     'steps': rng.random() < 0.5},
            'agent-restart': lambda: {'host': rng.choice(network.hosts)},
        }
        when = {} if kind == 'slow-host' else self._when()
        return {'kind': kind, **own[kind](), **when}

    def _systems(self, collectives):
        """How packets are spread, and who watches besides the policy."""
        rng = self.rng
        if rng.random() < 0.4:
            self.groups['load_balancing'] = systems.load_balancing(rng)
        if rng.random() < 0.3:
            self.groups['host'].update(systems.selective(rng))
        if rng.random() < 0.2 and not self.network.bonds:
            self._agents()
        if rng.random() < 0.3 and collectives and not self.network.bonds:
            collectives[0]['measured'] = True
            self.groups['flowpulse'] = systems.flowpulse(rng, self.groups.get('load_balancing', {}).get('kind', 'ecmp'))
        if rng.random() < 0.2:
            self.groups['flowtracer'] = systems.flowtracer(rng)
            if self.groups['flowtracer'].get('first_hop') == 'sflow':
                self.groups.setdefault('switch', {})['sampling'] = rng.choice((1, 10, 1000))

    def _agents(self):
        """R-Pingmesh's, at times so short that a run has periods of analysis, or so long that it has none."""
        factor = max(self.rng.choice((1e-05, 0.0001, 0.001)), round(self._step_s() / 20, 5))  # some 200 probes of a pair a step at most
        self.groups['pingmesh'] = {
            'enabled': True, 'time_factor': factor, 'duration': ns(min(50 * self._step_s(), PERIODS * 20 * factor)),
            'cpu_delay': self.rng.choice(('0us', '1us', '10us')), 'management_delay': '1ms',
            'service': self.rng.random() < 0.7, 'tracing': self.rng.choice(('traceroute', 'int')), 'trace_rate': self.rng.choice((0, 1, 100, 1000000)),
        }

    def _limits(self):
        """Limit of the windows of a case, whatever happens in it."""
        window_s = self.network.delay_s + 6e-7
        longest_s = min(WINDOWS * window_s, 3000 * self._step_s())
        if 'pingmesh' in self.groups:  # agents probe as long as there are jobs
            longest_s = min(longest_s, 3 * PERIODS * 20 * self.groups['pingmesh']['time_factor'])
        self.groups['limits'] = {'virtual_time': ns(longest_s), 'stall': ns(longest_s / 4 + 1e-6)}
        if self.rng.random() < 0.1:
            self.groups['limits']['virtual_time'] = ns(5 * self._step_s())


def rng_time(rng):
    return rng.choice((0, rng.random(), rng.random()))


def any_scenario(rng):
    return Maker(rng).scenario()
