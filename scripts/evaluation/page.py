# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a page that are measured: between <!-- NAME --> and <!-- /NAME -->, written anew."""
import os
import re

from results import Missing

# Written by scripts/sample-tables, in less time and of other runs.
SAMPLES = {'case-study-policies', 'sample', 'monitor'}
MARK = re.compile(r'<!-- (?P<name>[\w-]+) -->\n.*?<!-- /(?P=name) -->', re.DOTALL)
NOT_MEASURED = 'Not measured.\n'


def write(path, measured, drawn, only=None):
    """
    @param drawn  {name of a figure: its file, None: it was not measured}
    @param only   None, or the names of parts to be written
    """
    import tables  # needs what figures need
    parts = tables.write(measured)
    for name, figure in drawn.items():
        parts[name] = f'![{name}]({os.path.relpath(figure, path.parent)})\n' if figure else None

    unknown = sorted((only or set()) - set(parts))
    if unknown:
        raise Missing(f'no table or figure is named "{unknown[0]}"; there are {", ".join(sorted(parts))}')
    if only is None:
        fill(path, parts, lambda name: name in SAMPLES)
    else:
        fill(path, {name: parts[name] for name in only}, lambda name: name not in only)


def fill(path, parts, stays):
    """
    @param parts  {name: its text, None: it was not measured}
    @param stays  whether the text of a name stays unchanged
    """
    def text_of(mark):
        name = mark['name']
        if stays(name):
            return mark[0]
        if name not in parts:
            raise Missing(f'{path}: no table or figure is named "{name}"; there are {", ".join(sorted(parts))}')
        return f'<!-- {name} -->\n{parts[name] or NOT_MEASURED}<!-- /{name} -->'

    try:
        path.write_text(MARK.sub(text_of, path.read_text()))
    except OSError as error:
        raise Missing(f'{path}: {error.strerror}') from error
