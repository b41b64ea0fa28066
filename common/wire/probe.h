/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's probes (4.2.1): what a probe and its two ACKs hold, each a UD SEND, and how probes end: in records
 * (record_probes.h).
 */
#pragma once

#include <stdint.h>

#include "common/wire/eth.h"
#include "common/wire/layout.h"

/* Which list a probe is of. Value, name. */
#define REC_PROBE_KINDS(ROW)                                                                                               \
	ROW(REC_PROBE_TOR_MESH, 0, "tor-mesh")   /* to the other RNICs of a ToR */                                         \
	ROW(REC_PROBE_INTER_TOR, 1, "inter-tor") /* over the switches between ToRs */                                      \
	ROW(REC_PROBE_SERVICE, 2, "service")     /* by the 5-tuple of a connection of a job */                             \
	ROW(REC_PROBE_RAIL, 3, "rail")           /* in one direction, to an RNIC of the same host at another ToR */

enum rec_probe_kind { REC_PROBE_KINDS(ENUM_VALUE) };

/*
 * Messages that arrived until the timeout. The paper calls all but the first a timeout. Late is a second record of a
 * probe that had ended otherwise: nothing of it was lost. Value, name.
 */
#define REC_PROBE_RESULTS(ROW)                                                                                             \
	ROW(REC_PROBE_OK, 0, "ok")                                                                                         \
	ROW(REC_PROBE_TIMEOUT, 1, "timeout")         /* no ACK */                                                          \
	ROW(REC_PROBE_SECOND_LOST, 2, "second-lost") /* the first ACK alone: the responder's delay is not known */         \
	ROW(REC_PROBE_FIRST_LOST, 3, "first-lost")   /* the second ACK alone */                                            \
	ROW(REC_PROBE_LATE, 4, "late")               /* after the timeout both ACKs are there */

enum rec_probe_result { REC_PROBE_RESULTS(ENUM_VALUE) };

#define PROBE_MAGIC 0x524d4750U /* "RPGM" */
#define PROBE_VERSION 1
#define PROBE_DATAGRAMS 3    /* the probe and both ACKs */
#define PROBE_LINK_BYTES 142 /* one of them on a link over IPv4, with preamble and gap (docs/pingmesh-agents.md) */
#define PROBE_TRACES 100     /* packets of traceroutes that an RNIC sends between two uploads, evenly spaced */

enum probe_part {
	PROBE_PROBE = 1,
	PROBE_ACK = 2,
	PROBE_SECOND_ACK = 3, /* with the delay of its responder */
	PROBE_TRACE = 4,      /* a traceroute's; seq: its number, and behind that 8 bits of its TTL */
	PROBE_TRACED = 5,     /* the answer of the destination */
	PROBE_ONE_WAY = 6,    /* to another RNIC of the same host: there is no answer */
};

/* Contents of a probe and of its ACKs; the paper has 50 bytes. */
struct wire_probe {
	wire_be32 magic;
	uint8_t version;
	uint8_t part;                                  /* enum probe_part */
	uint8_t kind;                                  /* enum rec_probe_kind */
	uint8_t reserved;                              /* zero */
	wire_be32 seq;                                 /* of the prober's RNIC; ACKs repeat what they answer */
	wire_be32 src_qpn;                             /* of the prober's RNIC: where ACKs go */
	wire_be32 responder_ps_high, responder_ps_low; /* second ACK: (4) - (3); else 0 */
	uint8_t padding[26];                           /* zero */
} __attribute__((packed));

WIRE_AT(wire_probe, 0, magic)
WIRE_AT(wire_probe, 4, version)
WIRE_AT(wire_probe, 5, part)
WIRE_AT(wire_probe, 6, kind)
WIRE_AT(wire_probe, 7, reserved)
WIRE_AT(wire_probe, 8, seq)
WIRE_AT(wire_probe, 12, src_qpn)
WIRE_AT(wire_probe, 16, responder_ps_high)
WIRE_AT(wire_probe, 20, responder_ps_low)
WIRE_AT(wire_probe, 24, padding)
WIRE_SIZE(wire_probe, 50)
