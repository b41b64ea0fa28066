# SPDX-License-Identifier: BSD-3-Clause
"""What the checkers share: the tree's files, C text without comments, tables, what has passed before, and how findings are
reported."""
import fnmatch
import hashlib
import json
import os
import re
import sys

SKIPPED_FOLDERS = {'.git', '__pycache__', 'subprojects'}
# A comment, a string or a character constant: whichever starts first hides the others.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def files(root, *patterns):
    """Paths below root that match a pattern by name, sorted, build folders left out."""
    found = []
    for folder, subfolders, names in os.walk(root):
        at_root = os.path.samefile(folder, root)
        subfolders[:] = [
            name for name in subfolders
            if name not in SKIPPED_FOLDERS
            and not (at_root and name.startswith(('build', 'out')))
            and not os.path.exists(os.path.join(folder, name, 'meson-private'))
        ]
        for name in names:
            if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def blank(text):
    """C text with comments, strings and characters blanked, line numbers kept."""
    return TOKEN.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)


def includes(text):
    """(line number, name, is system header) of each #include that is not inside a comment."""
    code = blank(text).split('\n')
    for number, line in enumerate(text.split('\n'), 1):
        match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if match and code[number - 1].lstrip().startswith('#'):
            yield number, match.group(1) or match.group(2), match.group(2) is not None


def rows(path):
    """(line number, left of the first colon, right of it) of a table; rows are joined by the caller."""
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            line = line.split('#')[0].strip()
            if line:
                left, colon, right = line.partition(':')
                if not colon:
                    sys.exit(f'{path}:{number}: a row is "NAME: ...", this one has no colon')
                yield number, left.strip(), right.strip()


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def digest(*parts):
    """@return a digest of texts and bytes, one after another"""
    found = hashlib.sha256()
    for part in parts:
        part = part.encode('utf-8', 'replace') if isinstance(part, str) else part
        found.update(len(part).to_bytes(8, 'big') + part)
    return found.hexdigest()


def own(path):
    """@return the text of a checker, on which its findings depend, and of this file"""
    folder = os.path.dirname(os.path.abspath(__file__))
    return read(folder, os.path.basename(path)) + read(folder, 'source.py')


class Passed:
    """
    Digests of what a checker has found in order, from one run to the next: in the folder ROCELAB_LINT_PASSED, which the build
    has; without it nothing is remembered. A digest is of everything that the finding depends on. Findings are never kept.
    """

    def __init__(self, checker):
        folder = os.environ.get('ROCELAB_LINT_PASSED')
        self.path = os.path.join(folder, checker + '.json') if folder else None
        self.before, self.now = set(), set()
        try:
            with open(self.path or os.devnull, encoding='utf-8') as file:
                self.before = set(json.load(file))
        except (OSError, ValueError):
            pass    # the first run, or what was written is damaged: all is looked at

    def has(self, key):
        if key in self.before:
            self.now.add(key)
        return key in self.before

    def add(self, key):
        self.now.add(key)

    def save(self):
        """What was not asked for in this run is forgotten."""
        if self.path and self.now != self.before:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path + '.new', 'w', encoding='utf-8') as file:
                json.dump(sorted(self.now), file)
            os.replace(self.path + '.new', self.path)


def conclude(what, findings, looked_at):
    """Prints the findings and ends the checker."""
    for finding in findings:
        print(finding)
    if not looked_at:
        sys.exit(f'{what}: found nothing to look at: wrong folder?')
    print(f'{what}: {looked_at} files, {len(findings)} findings')
    sys.exit(1 if findings else 0)
