# SPDX-License-Identifier: BSD-3-Clause
"""Figure 14: the graphs of the case study, as `rocelab run topo/scenarios/case-study.cfg` left them."""
import re
import subprocess

import style
from results import Missing

NODE = re.compile(r'(\w+) \[label="(\S+->\S+) step (\d+)\\n(start|end) ([\d.]+) ms"(.*)\];')
EDGE = re.compile(r'(\w+) -> (\w+) \[label="(.*?)"(.*)\];')
CLUSTER = re.compile(r'  subgraph cluster_\d+ \{\n    label="(.*?)".*?\n  \}\n', re.DOTALL)
LOST = re.compile(r'\+([\d.]+) %.*critical')
CRITICAL_COLOUR = '#D55E00'
HALF_BAR = 0.28


def read(path):
    try:
        return path.read_text()
    except OSError as error:
        raise Missing(f'{path}: {error.strerror}: run build/cli/rocelab run topo/scenarios/case-study.cfg') from error


def waiting_graph(directory, path):
    """Fig. 14a: every step from its start to its end, and what its start waited for; pruned ones are dashed."""
    text = read(directory / 'waiting.dot')
    nodes = {name: (flow, int(step), kind, float(ms), 'dashed' in rest)
             for name, flow, step, kind, ms, rest in NODE.findall(text)}
    if not nodes:
        raise Missing(f'{directory}/waiting.dot has no step')
    flows = list(dict.fromkeys(node[0] for node in nodes.values()))
    figure, axes = style.panels(1, 1, 12, 5.6)
    axis = axes[0][0]
    for tail, head, why, rest in EDGE.findall(text):
        if tail not in nodes or head not in nodes:
            continue # of the end of the collective
        (flow, step, _, end_ms, pruned), (other, _, _, start_ms, _) = nodes[tail], nodes[head]
        critical = 'penwidth' in rest
        y, to_y = flows.index(flow), flows.index(other)
        colour = CRITICAL_COLOUR if critical else '#CBD5E1' if pruned else style.OURS_COLOUR
        if why.endswith('ms'):
            axis.barh(y, end_ms - start_ms, 2 * HALF_BAR, start_ms, color='white' if pruned else colour, zorder=2,
                      edgecolor=colour if pruned else 'white', linestyle='--' if pruned else '-')
            axis.text((start_ms + end_ms) / 2, y, str(step), ha='center', va='center', fontsize=11,
                      color=style.GREY if pruned else 'white')
        elif flow != other:
            edge = HALF_BAR if to_y > y else -HALF_BAR
            axis.annotate('', (start_ms, to_y - edge), (end_ms, y + edge), zorder=1,
                          arrowprops={'arrowstyle': '->', 'color': colour, 'linewidth': 2.2 if critical else 1.2,
                                      'linestyle': '--' if pruned else '-', 'shrinkA': 0, 'shrinkB': 0})
    axis.set_xlim(0)
    axis.set_yticks(range(len(flows)), flows)
    axis.invert_yaxis()
    axis.set_ylabel('Flow of the collective')
    axis.set_xlabel('Time (ms); a bar is a step, an arrow leads from a step to the one it waited for')
    for name, colour, edge in (('critical path', CRITICAL_COLOUR, CRITICAL_COLOUR),
                               ('waited for', style.OURS_COLOUR, style.OURS_COLOUR),
                               ('no step waits for it: pruned', 'white', '#CBD5E1')):
        axis.barh(0, 0, color=colour, edgecolor=edge, label=name)
    axis.legend(loc='lower center', bbox_to_anchor=(0.5, 1.0), ncols=3)
    style.save(figure, path)
    return True


def provenance_graph(directory, path):
    """Fig. 14b: the provenance of the step of the critical path that lost most."""
    text = read(directory / 'provenance.dot')
    steps = [(float(LOST.search(match[1])[1]), match[0]) for match in CLUSTER.finditer(text) if LOST.search(match[1])]
    if not steps:
        raise Missing(f'{directory}/provenance.dot has no step of the critical path that was slow')
    graph = ('digraph provenance { rankdir=LR; nodesep=0.35; ranksep=0.7; fontname="sans-serif"; fontsize=16;'
             'node [fontname="sans-serif", fontsize=14]; edge [fontname="sans-serif", fontsize=13];\n'
             + max(steps)[1] + '}\n')
    try:
        subprocess.run(['dot', '-Tsvg', '-o', str(path)], input=graph, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f'{path}: {error}: install graphviz') from error
    return True
