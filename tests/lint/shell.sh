#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shell.sh ROOT: shellcheck over every shell script. Exit 77 (skipped) where shellcheck is not installed.
set -eu
cd "$1"
command -v shellcheck >/dev/null || {
	echo "shellcheck is not installed: skipped"
	exit 77
}
set --
for file in scripts/* .ci/* tests/*/*.sh; do
	[ -f "$file" ] || continue
	case $(head -n 1 "$file") in
	"#!/bin/sh"* | "#!/bin/bash"* | "#!/usr/bin/env bash"*) set -- "$@" "$file" ;;
	esac
done
[ $# -gt 0 ] || {
	echo "shell: found nothing to look at: wrong folder?"
	exit 1
}
shellcheck -x "$@"
echo "shell: $# files, 0 findings"
