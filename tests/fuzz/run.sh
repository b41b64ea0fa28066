#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh NAME TARGET CORPUS SCENARIOS: a short run of one fuzz target, from seeds that CORPUS writes and, for the
# configuration, from the scenarios. What breaks the target stays beside it as NAME-crash-*, to be run again with
# TARGET FILE. Each run has another seed, which is printed: FUZZ_SEED=N repeats one, FUZZ_SECONDS=N runs longer, and so
# does scripts/test --long. Files of other tools may be large: their inputs have up to 4 MiB.
set -eu
LSAN_OPTIONS="suppressions=$(dirname "$0")/lsan.supp:print_suppressions=0"
export LSAN_OPTIONS
name=$1 target=$2 corpus=$3 scenarios=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seeds=$work/seeds
mkdir "$seeds"
"$corpus" "$name" "$seeds"
if [ "$name" = cfg ]; then
	for file in "$scenarios"/*.cfg; do
		[ ! -f "$file" ] || cp "$file" "$seeds/"
	done
fi
[ -n "$(ls "$seeds")" ] || {
	echo "no seeds for $name"
	exit 1
}
if [ "${ROCELAB_LONG:-}" = 1 ]; then
	most_s=20
else
	most_s=8
	echo "LEFT OUT: 20 s of inputs, not $most_s s"
fi
seed=${FUZZ_SEED:-$(od -A n -N 3 -t u4 /dev/urandom | tr -d ' ')}
# run_fuzzer MAX_LEN SEEDS [OPTION]
run_fuzzer() {
	echo "$name: inputs of up to $1 B, FUZZ_SEED=$seed"
	status=0
	"$target" -seed="$seed" -runs=200000 -max_total_time="${FUZZ_SECONDS:-$most_s}" -timeout=20 -rss_limit_mb=2048 \
		-max_len="$1" ${3:+"$3"} -artifact_prefix="$(dirname "$target")/$name-" -print_final_stats=1 "$2" \
		>"$work/log" 2>&1 || status=$?
	grep -v -E '^#[0-9]+[[:space:]]+(NEW|REDUCE|pulse|RELOAD)' "$work/log" || true
	[ $status = 0 ] || exit 1 # libFuzzer's own 77 would read as skipped
}
case $name in
chakra | goal | hpcc | msccl | sonic)
	mkdir "$work/large"
	mv "$seeds/large" "$work/large/"
	run_fuzzer 16384 "$seeds"
	run_fuzzer 4194304 "$work/large" -len_control=0
	;;
*) run_fuzzer 16384 "$seeds" ;;
esac
