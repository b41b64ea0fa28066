# SPDX-License-Identifier: BSD-3-Clause
"""All figures, by the name of their files."""
import sys

import ablation_figures
import accuracy
import analyzer
import case_study
from results import Missing

ACCURACY = {
    'fig09-precision-recall': accuracy.figure_9,
    'fig10-overhead': accuracy.figure_10,
}
BEYOND = {
    'beyond-precision-recall': accuracy.beyond,
}
ABLATIONS = {
    'fig12-threshold-detections': ablation_figures.figure_12,
    'fig13a-fixed-threshold': ablation_figures.figure_13a,
    'fig13b-allocation': ablation_figures.figure_13b,
    'contention-exact': ablation_figures.contention,
    'telemetry-budget': ablation_figures.budget,
}
CASE_STUDY = {
    'fig14a-waiting-graph': case_study.waiting_graph,
    'fig14b-provenance-graph': case_study.provenance_graph,
}

ANALYZER = {
    'analyzer-cost': analyzer.figure,
}


def draw(measured, out, only=None):
    """
    Draws OUT/NAME.svg; figures that were not measured are reported and removed from there.
    @param only  None, or names: no other is touched
    @return {name: its file, None: not measured}
    """
    drawn = {}
    out.mkdir(parents=True, exist_ok=True)
    for source, figures in ((measured.paper, ACCURACY), (measured.beyond, BEYOND), (measured.ablations, ABLATIONS),
                            (measured.directory / 'case-study', CASE_STUDY), (measured.directory, ANALYZER)):
        for name, figure in figures.items():
            if only is not None and name not in only:
                continue
            path = out / f'{name}.svg'
            try:
                measured = figure(source, path)
                why = 'not measured'
            except Missing as error:
                measured, why = False, error
            drawn[name] = path if measured else None
            if not measured:
                path.unlink(missing_ok=True)
                print(f'eval-figures: {name}: {why}', file=sys.stderr)
    return drawn
