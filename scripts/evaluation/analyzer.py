# SPDX-License-Identifier: BSD-3-Clause
"""What a verdict costs as collective and fabric grow: `rocelab bench analyzer --json`, stored as analyzer.json."""
import json

import style
from results import Missing

# The benchmark's series: what the two factors of a case's size are; the first is told at its point.
SERIES = {
    'ranks x steps': ('ranks', 'steps'),
    'switches x reports': ('switches', 'reports'),
}


def cases(directory):
    """@return the benchmark's cases; raises Missing where there are none"""
    path = directory / 'analyzer.json'
    try:
        return json.loads(path.read_text())['cases']
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Missing(f'{path}: {error}: run build/cli/rocelab bench analyzer --json >{path}') from error


def last_record_to_verdict_ms(case):
    return case['join_ms'] + case['verdict_ms']


def figure(directory, path):
    """Time against size, one panel a series; the line grows in proportion, from the first point on."""
    measured = cases(directory)
    plot, axes = style.panels(1, len(SERIES), 12, 5, sharey=True)
    for axis, (name, (first, second)) in zip(axes[0], SERIES.items()):
        points = {}
        for case in measured:
            if case['case'] == name:
                points.setdefault(case[first] * case[second], []).append(case)
        if not points:
            raise Missing(f'{directory}/analyzer.json has no "{name}"')
        sizes = sorted(points)
        start_ms = last_record_to_verdict_ms(points[sizes[0]][0])
        axis.plot(sizes, [start_ms * size / sizes[0] for size in sizes], '--', color=style.GREY, label='in proportion')
        for size in sizes:
            for case in points[size]:
                time_ms = last_record_to_verdict_ms(case)
                axis.plot(size, time_ms, 'o', color=style.OURS_COLOUR, markersize=9,
                          label='measured' if case is points[sizes[0]][0] else None)
                axis.annotate(f'{case[first]} {first}', (size, time_ms), (8, -14), textcoords='offset points', fontsize=11)
        axis.set_xlabel(f'{first} x {second}')
        axis.set_xscale('log')
        axis.set_yscale('log')
        axis.margins(x=0.3, y=0.2)
    axes[0][0].set_ylabel('From the last record\nto the verdict (ms of CPU)')
    axes[0][0].legend(loc='upper left')
    style.save(plot, path)
    return True


def rows(directory):
    """Cells of a table."""
    return [[case['case'], case['ranks'], case['steps'], case['switches'], case['reports'], f'{case["records"]}',
             f'{case["mrecords_s"]:.2f} M/s', f'{last_record_to_verdict_ms(case):.1f} ms'] for case in cases(directory)]
