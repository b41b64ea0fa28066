/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a session, shared by session.c and upload.c. */
#pragma once

#include "common/manage_stream.h"
#include "emulation/rxe_host/session.h"
#include "rxe-hosts/device/verbs/verbs.h"
#include "rxe-hosts/probe/agent.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/tracing/tracer.h"

#define SESSION_QUEUE_BYTES (256u << 10)
#define SESSION_MAX_RECORDS (4u << 20) /* bytes that wait for room in the queue; more are lost, and counted */
#define SESSION_DRAIN_NS 5000000000ull /* how long the fabric may take to read the last words */
#define SESSION_ASK_FAST_NS 10000000ull
#define SESSION_ASK_NS 500000000ull
#define SESSION_REPORT_NS 20000000ull
#define SESSION_SILENCE_NS 30000000000ull /* without an answer: a serial line does not tell that nobody is there */

enum session_state {
	SESSION_WAITING, /* for CONNECT */
	SESSION_CONNECTING,
	SESSION_READY, /* CONNECTED was sent */
	SESSION_RUNNING,
	SESSION_STOPPED,
};

struct session {
	struct session_config config;
	enum session_state state;
	struct loop loop;
	struct loop_watch watch;                /* of the management channel */
	uint32_t watched_events, manage_events; /* asked for; seen in this turn */
	struct manage_stream stream;
	struct run_clock clock;
	struct verbs_host *verbs;
	struct step_engine *engine;
	struct probe_agent *probes; /* R-Pingmesh's; NULL: none */
	struct tracer *tracer;      /* of connections, for it; NULL: none */
	uint64_t trace_ns;          /* when that wants to be called */
	uint64_t flows_ns;          /* FLOWS: the next */
	uint64_t *slowest_bps;
	bool *embedded;                  /* [nodes] hosts without a connection manager */
	uint64_t ask_ns, asked_ns;       /* TIME: the next, the one on its way */
	uint64_t received_ns;            /* the last answer */
	uint64_t report_ns;              /* RECORDS and PROGRESS: the next */
	struct manage_progress progress; /* as told last */
	uint64_t end_ps;                 /* SESSION_STOPPED */
	uint32_t lost_records;
	bool asking, error_sent, progress_sent;
};

/* @return 0, or negative errno with err set: a full queue is an error */
int session_send(struct session *session, enum manage_type type, const void *body, size_t size, struct err *err);
/* Sends a text as far as that is possible. */
void session_send_text(struct session *session, enum manage_type type, const char *text);
/* Waits until no more than so many bytes wait to be sent. @return 0 or negative errno */
int session_drain(struct session *session, size_t left);
