/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender's ledger: where the time of a message went, from its start to its last ACK. The entries are disjoint; in
 * records (struct rec_step), reports and tables. Time that no entry has is unknown.
 */
#pragma once

#include "common/wire/layout.h"

/* Value, name, the member of struct rec_step, its title in reports, meaning. */
#define LEDGER_ROWS(ROW)                                                                                                   \
	ROW(LEDGER_WIRE, 0, "wire", wire_ps, "own frames on the wire, each once",                                          \
	    "its own frames on the wire of its NIC, each once")                                                            \
	ROW(LEDGER_THERE, 1, "there", there_ps, "idle path of the last frame",                                             \
	    "behind the last frame, on the idle path to the receiver, by lengths and rates as configured")                 \
	ROW(LEDGER_BACK, 2, "back", back_ps, "idle path of the last ACK",                                                  \
	    "behind the last frame, on the idle path of its ACK, as configured")                                           \
	ROW(LEDGER_PACED, 3, "paced", paced_ps, "held back by congestion control",                                         \
	    "held back by congestion control: the gaps of a rate below the line's, and a window cut by it")                \
	ROW(LEDGER_WINDOW, 4, "window", window_ps, "window or queue depth full",                                           \
	    "its window or queue depth was full, no longer than an idle round trip")                                       \
	ROW(LEDGER_LATE, 5, "late", late_ps, "ACKs later than on the idle path",                                           \
	    "ACKs later than on the idle path, with the window full or all sent")                                          \
	ROW(LEDGER_PAUSED, 6, "paused", paused_ps, "paused by PFC", "the peer of its NIC paused its class")                \
	ROW(LEDGER_NAK, 7, "nak", nak_ps, "frames sent again after NAKs",                                                  \
	    "frames sent again after NAKs or ACKs that showed a loss, and the wait for these where all "                   \
	    "was sent")                                                                                                    \
	ROW(LEDGER_TIMEOUT, 8, "timeout", timeout_ps, "retransmission timeouts, frames sent again",                        \
	    "without an ACK until a retransmission timeout, and the frames sent again after it")                           \
	ROW(LEDGER_EARLY, 9, "early", early_ps, "timer below the round trip, frames sent again",                           \
	    "frames sent again after a timeout, where an ACK of the first copy arrived after all: the timer was too "      \
	    "short")                                                                                                       \
	ROW(LEDGER_REORDERED, 10, "reordered", reordered_ps, "frames sent again that were overtaken",                      \
	    "the same, where ACKs showed that the packets had only been overtaken")                                        \
	ROW(LEDGER_NIC, 11, "nic", nic_ps, "NIC below its line rate, or stopped",                                          \
	    "its NIC did not send at its line's rate, or stood still")                                                     \
	ROW(LEDGER_PEER, 12, "peer", peer_ps, "receiver not ready (RNR NAK)",                                              \
	    "the receiver was not ready (RNR NAK), and the frames sent again after it")                                    \
	ROW(LEDGER_BEHIND, 13, "behind", behind_ps, "other frames of its NIC",                                             \
	    "its NIC sent other queue pairs' frames, ACKs or datagrams")

enum ledger_entry { LEDGER_ROWS(ENUM_VALUE) };
#define LEDGER_ENTRIES ENUM_COUNT(LEDGER_ROWS)
