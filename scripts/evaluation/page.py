# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a page that are measured: between <!-- NAME --> and <!-- /NAME -->, written anew."""
import os
import re

import tables
from results import Missing

MARK = re.compile(r'<!-- (?P<name>[\w-]+) -->\n.*?<!-- /(?P=name) -->', re.DOTALL)
NOT_MEASURED = 'Not measured.\n'


def write(path, measured, drawn):
    """@param drawn  {name of a figure: its file, None: it was not measured}"""
    parts = tables.write(measured)
    for name, figure in drawn.items():
        parts[name] = f'![{name}]({os.path.relpath(figure, path.parent)})\n' if figure else None

    def fill(mark):
        name = mark['name']
        if name not in parts:
            raise Missing(f'{path}: no table or figure is named "{name}"; there are {", ".join(sorted(parts))}')
        return f'<!-- {name} -->\n{parts[name] or NOT_MEASURED}<!-- /{name} -->'

    try:
        path.write_text(MARK.sub(fill, path.read_text()))
    except OSError as error:
        raise Missing(f'{path}: {error.strerror}') from error
