# SPDX-License-Identifier: BSD-3-Clause
"""One case of a kind: its seed, its chance, its folder, the programs it starts, and how it fails."""
import random


class Failure(Exception):
    """Something that must hold does not."""


class Refused(Exception):
    """The programs refused what the case offered, as they should: nothing more to look at."""


class Case:
    """@param kind  its row of kinds.KINDS; folder  empty, its own, gone afterwards unless the case fails"""

    def __init__(self, kind, seed, folder, programs):
        self.kind = kind
        self.seed = seed
        self.folder = folder
        self.programs = programs
        self.rng = random.Random(f'{kind}:{seed}')
        self.output = []  # what the case did, for whoever reads of its failure

    @property
    def name(self):
        return f'{self.kind}:{self.seed}'

    def note(self, text):
        self.output.append(text)

    def write(self, name, data):
        """A file in the case's folder. @return its path"""
        path = self.folder / name
        if isinstance(data, str):
            data = data.encode(errors='surrogateescape')
        path.write_bytes(data)
        return path

    def check(self, condition, message, detail=''):
        if not condition:
            raise Failure(f'{message}\n{detail}' if detail != '' else message)
