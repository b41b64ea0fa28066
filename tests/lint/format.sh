#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# format.sh ROOT: clang-format changes no file. Exit 77 (skipped) without clang-format 14: others break lines otherwise.
set -eu
cd "$1"
program=
for name in clang-format-14 clang-format; do
	if [ -z "$program" ] && "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
		program=$name
	fi
done
[ -n "$program" ] || {
	echo "clang-format 14 is not installed: skipped"
	exit 77
}
find . \( -name '.?*' -o -path './build*' -o -path './out*' \) -prune -o \
	\( -name '*.[ch]' -o -name '*.js' \) -print | sort |
	xargs -r "$program" --dry-run -Werror || exit 1
echo "format: 0 findings; $program -i FILE... mends them"
