# SPDX-License-Identifier: BSD-3-Clause
"""Random networks of every kind, and what a scenario needs to know of them: hosts, switches, ports."""
import dataclasses

RATES = {'40Mbps': 4e7, '1Gbps': 1e9, '10Gbps': 1e10, '25Gbps': 2.5e10, '40Gbps': 4e10, '100Gbps': 1e11, '200Gbps': 2e11, '400Gbps': 4e11,
         '800Gbps': 8e11, '10Tbps': 1e13}
ANY_RATES = ('40Mbps', '1Gbps', '10Gbps', '25Gbps', '100Gbps', '400Gbps', '10Tbps')
USUAL_RATES = ('25Gbps', '100Gbps', '400Gbps')
DELAYS = {'1ps': 1e-12, '100ns': 1e-7, '500ns': 5e-7, '1us': 1e-6, '2us': 2e-6, '5us': 5e-6, '20us': 2e-5, '50us': 5e-5, '100us': 1e-4,
          '250us': 2.5e-4, '1ms': 1e-3}
ANY_DELAYS = ('1ps', '100ns', '1us', '2us', '20us', '1ms')
USUAL_DELAYS = ('100ns', '1us', '2us')


@dataclasses.dataclass
class Network:
    kind: str
    text: str
    hosts: list
    switches: list
    ports: dict  # node: number of its ports
    rate: str    # of the slowest link
    delay: str   # of the longest
    beside: dict = dataclasses.field(default_factory=dict)  # files beside the scenario: name, text
    bonds: bool = False  # hosts have one address at all their ports

    @property
    def rate_bps(self):
        return RATES[self.rate]

    @property
    def delay_s(self):
        return DELAYS[self.delay]

    def port_of(self, rng, nodes):
        node = rng.choice(nodes)
        return f'{node}:{rng.randint(1, self.ports[node])}'

    def any_port(self, rng):
        return self.port_of(rng, self.hosts + self.switches)

    def host_port(self, rng):
        return self.port_of(rng, self.hosts)

    def switch_port(self, rng):
        return self.port_of(rng, self.switches)


def speed(rng):
    """Mostly as networks are, at times as they are nowhere."""
    if rng.random() < 0.7:
        return rng.choice(USUAL_RATES), rng.choice(USUAL_DELAYS)
    return rng.choice(ANY_RATES), rng.choice(ANY_DELAYS)


def wiring(rng):
    """(switches, hosts, links) of a connected network: a tree of switches, more cables between them, hosts at random."""
    switches = [f's{i}' for i in range(rng.randint(1, 5))]
    hosts = [f'h{i}' for i in range(rng.randint(2, 8))]
    links = [(switches[i], rng.choice(switches[:i])) for i in range(1, len(switches))]
    if len(switches) > 1:
        links += [tuple(rng.sample(switches, 2)) for _ in range(rng.randint(0, 3))]
    links += [(host, rng.choice(switches)) for host in hosts]
    rng.shuffle(links)
    return switches, hosts, links


def port_counts(nodes, links):
    return {node: sum(node in link for link in links) for node in nodes}


def explicit(rng):
    switches, hosts, links = wiring(rng)
    rate, delay = speed(rng)
    cables = ', '.join(f'"{a} {b}"' for a, b in links)
    names = ['[ ' + ', '.join(f'"{n}"' for n in nodes) + ' ]' for nodes in (switches, hosts)]
    text = f'topology = {{ kind = "explicit"; rate = "{rate}"; delay = "{delay}";\n  switches = {names[0]};\n' \
           f'  hosts = {names[1]};\n  links = ( {cables} ); }};\n'
    return Network('explicit', text, hosts, switches, port_counts(switches + hosts, links), rate, delay)


def ns3(rng):
    """Nodes are numbers there: switches and hosts mixed."""
    switches, hosts, links = wiring(rng)
    rate, delay = speed(rng)
    ids = [str(i) for i in range(len(switches) + len(hosts))]
    rng.shuffle(ids)
    name = dict(zip(switches + hosts, ids))
    links = [(name[a], name[b]) for a, b in links]
    lines = [f'{len(ids)} {len(switches)} {len(links)}', ' '.join(name[s] for s in switches)]
    lines += [f'{a} {b} {rate} {delay.replace("ps", "ns")} 0' for a, b in links]
    if delay.endswith('ps'):
        delay = '100ns'
        lines[2:] = [line.replace(' 1ns ', ' 100ns ') for line in lines[2:]]
    return Network('ns3', 'topology = { kind = "ns3"; file = "net.txt"; };\n', sorted((name[h] for h in hosts), key=int),
                   [name[s] for s in switches], port_counts(ids, links), rate, delay, {'net.txt': '\n'.join(lines) + '\n'})


def fat_tree(rng):
    k = rng.choice((2, 4, 4))
    rate, delay = speed(rng)
    count = {'h': k ** 3 // 4, 'e': k * k // 2, 'a': k * k // 2, 'c': k * k // 4}
    names = {kind: [f'{kind}{i}' for i in range(number)] for kind, number in count.items()}
    switches = names['e'] + names['a'] + names['c']
    ports = {**dict.fromkeys(names['h'], 1), **dict.fromkeys(switches, k)}
    return Network('fat-tree', f'topology = {{ kind = "fat-tree"; k = {k}; rate = "{rate}"; delay = "{delay}"; }};\n',
                   names['h'], switches, ports, rate, delay)


def leaf_spine(rng):
    leaves, spines, hosts_each, parallel = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 4), rng.choice((1, 1, 2))
    if leaves * hosts_each < 2:
        leaves = 2
    rate, delay = speed(rng)
    more = rng.choice(('', '', f' uplink_rate = "{rate}";', f' uplink_delay = "{delay}";'))
    hosts = [f'h{i}' for i in range(leaves * hosts_each)]
    low, high = [f'l{i}' for i in range(leaves)], [f's{i}' for i in range(spines)]
    ports = {**dict.fromkeys(hosts, 1), **dict.fromkeys(low, hosts_each + spines * parallel),
             **dict.fromkeys(high, leaves * parallel)}
    text = f'topology = {{ kind = "leaf-spine"; leaves = {leaves}; spines = {spines}; hosts_per_leaf = {hosts_each};\n' \
           f'  parallel = {parallel}; rate = "{rate}"; delay = "{delay}";{more} }};\n'
    return Network('leaf-spine', text, hosts, low + high, ports, rate, delay)


def rail(rng):
    """Spines above the rails, so that any two NICs reach each other."""
    nics, each, groups, spines = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 2), rng.randint(1, 2)
    if each * groups < 2:
        groups = 2
    rate, delay = speed(rng)
    hosts = [f'h{i}' for i in range(each * groups)]
    low, high = [f'g{g}r{r}' for g in range(groups) for r in range(nics)], [f's{i}' for i in range(spines)]
    ports = {**dict.fromkeys(hosts, nics), **dict.fromkeys(low, each + spines), **dict.fromkeys(high, len(low))}
    text = f'topology = {{ kind = "rail"; hosts = {len(hosts)}; nics = {nics}; hosts_per_group = {each};\n' \
           f'  spines = {spines}; rate = "{rate}"; delay = "{delay}"; }};\n'
    return Network('rail', text, hosts, low + high, ports, rate, delay)


def dual_tor(rng):
    """Hosts at several leaves: by bonds, or by NICs with separate addresses."""
    racks, each, spines, parallel = rng.randint(1, 2), rng.randint(1, 3), rng.randint(1, 2), rng.choice((1, 1, 2))
    if racks * each < 2:
        racks = 2
    leaves, nics, nic_ports = rng.choice(((1, 1, 1), (2, 1, 2), (2, 2, 2), (2, 2, 1)))
    rate, delay = speed(rng)
    bond = nics * nic_ports > 1 and rng.random() < 0.8
    hosts = [f'h{i}' for i in range(racks * each)]
    low, high = [f'l{i}' for i in range(racks * leaves)], [f's{i}' for i in range(spines)]
    below = {leaf: each * nics * nic_ports // leaves + spines * parallel for leaf in low}
    ports = {**dict.fromkeys(hosts, nics * nic_ports), **below, **dict.fromkeys(high, len(low) * parallel)}
    text = f'topology = {{ kind = "dual-tor"; hosts = {len(hosts)}; hosts_per_rack = {each}; nics = {nics};\n' \
           f'  nic_ports = {nic_ports}; leaves_per_rack = {leaves}; spines = {spines}; parallel = {parallel};\n' \
           f'  bond = {str(bond).lower()}; rate = "{rate}"; delay = "{delay}"; }};\n'
    return Network('dual-tor', text, hosts, low + high, ports, rate, delay, bonds=bond)


KINDS = (explicit, ns3, fat_tree, leaf_spine, rail, dual_tor)


def any_network(rng):
    return rng.choice(KINDS)(rng)
