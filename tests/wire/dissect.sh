#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Does Wireshark read our frames as we mean them? usage: dissect.sh FRAMES_PCAP
# It knows neither polling nor notification packets (their headers and checksums it does), nor the name of opcode 129
# (CNP, IBTA Annex A17.9.3), and does not verify ICRCs. rpcordma guesses at short payloads: off.
set -eu

command -v tshark >/dev/null || { echo "SKIPPED: tshark is not installed (apt-get install tshark)" >&2; exit 77; }
frames_pcap=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

dissect() { # FILE FIELD...
	file=$1
	shift
	for field; do
		set -- "$@" -e "$field"
		shift
	done
	tshark -r "$file" -n --disable-protocol rpcordma -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE \
		-T fields -E separator=, -E occurrence=f "$@" 2>"$dir/stderr" || { cat "$dir/stderr" >&2; exit 1; }
}

same() { # WHAT, compares $dir/want with $dir/got
	diff -u "$dir/want" "$dir/got" || { echo "FAILED: $1" >&2; exit 1; }
	echo "ok: $1"
}

"$frames_pcap" "$dir/frames.pcap"

# Once untagged, once with an 802.1Q tag.
cat >"$dir/roce" <<'END'
0,0,0x000022,0,1,,,,,,,,
1,0,0x000022,0,2,,,,,,,,
2,1,0x000022,0,3,,,,,,,,
3,1,0x000022,1,4,,,,,,,,00000005
4,0,0x000022,0,5,,,,,,,,
5,3,0x000022,1,6,,,,,,,,00000005
6,0,0x000022,0,7,0x0102030405060708,0x00001234,519,,,,,
7,0,0x000022,0,8,,,,,,,,
8,1,0x000022,0,9,,,,,,,,
9,1,0x000022,1,10,,,,,,,,a1b2c3d4
10,1,0x000022,0,11,0x0000000000000000,0x00000000,7,,,,,
11,3,0x000022,1,16777215,0x0102030405060708,0x00001234,519,,,,,a1b2c3d4
17,0,0x000011,0,12,,,,31,9,,,
17,0,0x000011,0,13,,,,96,9,,,
129,0,0x000011,0,0,,,,,,,,
100,0,0x000022,0,14,,,,,,0x0000000011111111,0x00000011,
101,0,0x000022,0,15,,,,,,0x0000000011111111,0x00000011,00000006
,,,,,,,,,,,,
,,,,,,,,,,,,
END
{ cat "$dir/roce" "$dir/roce"; echo ,,,,,,,,,,,,; } >"$dir/want"
dissect "$dir/frames.pcap" infiniband.bth.opcode infiniband.bth.padcnt infiniband.bth.destqp infiniband.bth.a \
	infiniband.bth.psn infiniband.reth.va infiniband.reth.r_key infiniband.reth.dmalen infiniband.aeth.syndrome \
	infiniband.aeth.msn infiniband.deth.q_key infiniband.deth.srcqp infiniband.immdt >"$dir/got"
same "InfiniBand headers"

# Status 1: right; 3: none. Priority 3 is DSCP 24; ECT(0) 0x62, CE 0x63, not ECT 0x60.
cat >"$dir/udp" <<'END'
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x63,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.2,10.0.0.1,0x60,64,1,50001,4791,3
10.0.0.2,10.0.0.1,0x60,64,1,50001,4791,3
10.0.0.2,10.0.0.1,0x60,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x62,64,1,50001,4791,3
10.0.0.1,10.0.0.2,0x60,64,1,50001,47910,1
10.0.0.1,10.0.0.2,0x60,64,1,50001,47911,1
END
{ sed 's/^/,/' "$dir/udp"; sed 's/^/3,/' "$dir/udp"; echo ,,,,,,,,; } >"$dir/want"
dissect "$dir/frames.pcap" vlan.priority ip.src ip.dst ip.dsfield ip.ttl ip.checksum.status udp.srcport udp.dstport \
	udp.checksum.status >"$dir/got"
same "802.1Q, IP and UDP headers and checksums"

# 8 classes: 3 pauses for the longest, 7 resumes.
echo "01:80:c2:00:00:01,0x0101,0x0088,65535,0" >"$dir/want"
dissect "$dir/frames.pcap" eth.dst macc.opcode macc.cbfc.enbv macc.cbfc.pause_time.c3 macc.cbfc.pause_time.c7 |
	tail -n 1 >"$dir/got"
same "PFC frame"

: >"$dir/want"
tshark -r "$dir/frames.pcap" -n --disable-protocol rpcordma -Y _ws.malformed 2>"$dir/stderr" >"$dir/got"
same "nothing malformed"

# The negative case: one byte changed, and none of the 17 + 17 + 1 frames is taken for ours.
count() { # FILE FILTER
	tshark -r "$1" -n -Y "$2" 2>"$dir/stderr" | wc -l
}

"$frames_pcap" "$dir/damaged.pcap" damaged
ours='infiniband || macc.cbfc.enbv'
{ echo 35; echo 39; echo 0; } >"$dir/want"
{ count "$dir/frames.pcap" "$ours"; count "$dir/damaged.pcap" frame; count "$dir/damaged.pcap" "$ours"; } >"$dir/got"
same "damaged frames are not dissected as ours"
