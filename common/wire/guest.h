/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command channel of a guest (a host with a kernel of its own): frames over one byte stream, little-endian.
 *
 * rxe-guest-init in the guest serves it. rxe-guest on the server owns the other end and shares it: a program that
 * connects to the guest's socket gets a session of its own, whose number rxe-guest writes into the frames; it always
 * sends 0.
 *
 * A session runs one command: GUEST_RUN, then input, output and credit, GUEST_EXIT last. A sender of data has
 * GUEST_WINDOW_BYTES of credit in that direction, spends it by sending, and gets it back by GUEST_CREDIT when the other
 * side has passed the data on: no session can block another, and every queue is bounded by its window.
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

#define GUEST_MAGIC 0x524c4754U /* "RLGT" */
#define GUEST_MAX_PAYLOAD 16384
#define GUEST_WINDOW_BYTES 32768
#define GUEST_MAX_SESSIONS 32 /* of which 0 is the guest itself */

enum guest_frame_type {
	/* from the guest */
	GUEST_HELLO = 1, /* session 0, first frame of all: struct guest_hello, then text: what went wrong */
	GUEST_STDOUT,
	GUEST_STDERR,
	GUEST_EXIT, /* struct guest_exit; the session is over */
	/* both directions */
	GUEST_CREDIT, /* struct guest_credit */
	/* to the guest */
	GUEST_RUN,      /* struct guest_run, then TERM, the folder and the arguments, each ended by NUL */
	GUEST_STDIN,    /* empty: end of input */
	GUEST_WINDOW,   /* struct guest_run with the terminal's new size */
	GUEST_HANGUP,   /* no program listens any more: end the running one */
	GUEST_POWEROFF, /* session 0: stop the guest */
};

struct guest_frame {
	uint8_t type; /* enum guest_frame_type */
	uint8_t session;
	uint16_t size; /* of the payload that follows */
};

WIRE_AT(guest_frame, 0, type)
WIRE_AT(guest_frame, 1, session)
WIRE_AT(guest_frame, 2, size)
WIRE_SIZE(guest_frame, 4)

/* The guest's boot result. */
struct guest_hello {
	uint32_t magic;
	uint32_t error;     /* 0: its network is up; else errno, and text has the failure */
	uint32_t gid_index; /* of the NIC's RoCEv2 entry for its IPv4 address; UINT32_MAX without a NIC */
};

WIRE_AT(guest_hello, 0, magic)
WIRE_AT(guest_hello, 4, error)
WIRE_AT(guest_hello, 8, gid_index)
WIRE_SIZE(guest_hello, 12)

enum guest_run_flag {
	GUEST_RUN_PTY = 1,    /* on a terminal of its own; both outputs are GUEST_STDOUT */
	GUEST_RUN_MANAGE = 2, /* the management channel is its descriptor GUEST_MANAGE_FD */
};

#define GUEST_MANAGE_FD 3

struct guest_run {
	uint32_t flags; /* enum guest_run_flag */
	uint16_t rows, cols;
};

WIRE_AT(guest_run, 0, flags)
WIRE_AT(guest_run, 4, rows)
WIRE_AT(guest_run, 6, cols)
WIRE_SIZE(guest_run, 8)

struct guest_credit {
	uint32_t bytes;
};

WIRE_AT(guest_credit, 0, bytes)
WIRE_SIZE(guest_credit, 4)

struct guest_exit {
	uint32_t status; /* 0..255, or 128 + signal */
};

WIRE_AT(guest_exit, 0, status)
WIRE_SIZE(guest_exit, 4)
