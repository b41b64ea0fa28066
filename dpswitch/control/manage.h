/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's end of the management channels (common/wire/manage.h): one unix socket a host that has its own kernel.
 * Single-threaded: everything happens in manage_service().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/record/buffer.h"
#include "common/record/check.h"
#include "common/wire/manage.h"
#include "common/wire/switch_manage.h"
#include "topo/topo.h"

/*
 * Records of a host with its own kernel, from its management channel until the fabric takes them. Here they enter the
 * program: impossible or unreadable records are dropped and counted; the run, and the host's other messages, are of use
 * without it.
 */

struct host_records {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	uint64_t refused;
	struct err why; /* the first of them, with the host's name */
};

void host_records_fini(struct host_records *records);

/*
 * @param node, name  of the host: its records carry this node, whatever they contain
 * @param now_ps      of the run: reported events have happened by then
 * @param body        whole records, in form (common/manage_stream.h)
 */
void host_records_take(struct host_records *records, struct record_check *check, uint32_t node, const char *name,
		       uint64_t now_ps, const void *body, uint32_t size);

struct manage;

enum manage_state {
	MANAGE_ABSENT,   /* no HELLO has arrived */
	MANAGE_UP,       /* its program runs */
	MANAGE_READY,    /* all its QPs are up */
	MANAGE_FINISHED, /* RESULT has arrived */
	MANAGE_LOST,     /* the channel closed, or broke its protocol */
};

/* Bytes that are sent back, valid until the next call for them. size 0: no reply. */
struct manage_reply {
	const void *bytes;
	size_t size;
};

/*
 * Reports of a host's program before the run (qp) and at the end; each is forwarded on arrival. Each returns whether it
 * was part of the plan. pingmesh: a request of its agent, at now_ps of the run, aligned to 8 bytes.
 */
struct manage_sink {
	void *ctx;
	bool (*step)(void *ctx, uint32_t node, const struct manage_step *step);
	bool (*iteration)(void *ctx, uint32_t node, const struct manage_iteration *iteration);
	bool (*qp)(void *ctx, uint32_t node, const struct manage_qp *qp);
	struct manage_reply (*pingmesh)(void *ctx, uint32_t node, const void *request, size_t size, uint64_t now_ps);
};

struct manage_config {
	const struct topo *topo;
	const bool *managed;        /* [topo->nnodes] hosts that have a channel; copied */
	const char *dir;            /* the sockets are DIR/NAME.manage */
	uint64_t digest;            /* of the plan; a host with another one has read another scenario */
	struct record_check *check; /* has seen the run's header records before a host reports; borrowed */
};

/*
 * Makes the sockets.
 * @return NULL with err set: -ENAMETOOLONG, -ENOMEM, or what epoll_create1(2), socket(2), bind(2) gave
 */
struct manage *manage_create(const struct manage_config *config, struct err *err);
/* Closes and removes the sockets. */
void manage_destroy(struct manage *manage);

/* @return whether a message of a host waits. Cheap: one epoll_wait(2) that does not block */
bool manage_pending(struct manage *manage);
/* Accepts, receives, answers and forwards. */
void manage_service(struct manage *manage, const struct manage_sink *sink);

enum manage_state manage_state(const struct manage *manage, uint32_t node);
/* @return whether all hosts have reached the state; lost ones have not, but for MANAGE_LOST */
bool manage_all(const struct manage *manage, enum manage_state state);
/* @return whether no more messages of hosts are expected: each host is finished or lost */
bool manage_over(const struct manage *manage);
/*
 * The first host that was lost, or else that sent FAILED (a QP is in error) and goes on.
 * @return why, for people; NULL: none
 */
const char *manage_failure(const struct manage *manage, uint32_t *node, bool *lost);
/* Hosts that are in none of these states or beyond it, for people: "h1, h3". @return buf */
char *manage_missing(const struct manage *manage, enum manage_state state, char *buf, size_t cap);

/* @return the first host that is in none of these states or beyond it; REC_NONE: there is none */
uint32_t manage_first_missing(const struct manage *manage, enum manage_state state);

/* Messages to all hosts. */
void manage_connect(struct manage *manage);
void manage_start(struct manage *manage, uint64_t zero_ns);
void manage_stop(struct manage *manage, uint64_t end_ps);

/*
 * A host's connections, as reported last.
 * @param flows  set to them; valid until manage_service(). @return their number
 */
uint32_t manage_flows(const struct manage *manage, uint32_t node, const struct swm_flow **flows);

/* @return whether the host had work by its last PROGRESS; true before the first one */
bool manage_working(const struct manage *manage, uint32_t node);
/*
 * @return whether the host had messages in flight by its last PROGRESS; true before the first one
 * @param next_ps  set to when it will begin something, TIME_NEVER: nothing waits for its time alone
 */
bool manage_sending(const struct manage *manage, uint32_t node, uint64_t *next_ps);
/* Moves a host's records; those older than from_ps count as reported then. @return detections among them */
uint32_t manage_records(struct manage *manage, uint32_t node, struct recbuf *records, uint64_t from_ps);

/* @return the host's RESULT; NULL: none has arrived */
const struct manage_result *manage_result(const struct manage *manage, uint32_t node);
/* @param counters  set to those of the host's device, as reported at the end. @return their number */
uint32_t manage_counters(const struct manage *manage, uint32_t node, const struct manage_counter **counters);
/* Bytes on the channel, both directions, headers included; error of the host's clock as reported. */
struct manage_traffic {
	uint64_t bytes;
	uint64_t clock_error_ns;
	uint64_t base_rtt_ns, rtt_noise_ns; /* of its flows' idle paths, the largest */
	uint64_t refused_records;           /* that could not be so, or not be read; they go no further */
	uint64_t up_ns, ready_ns;           /* clock_now_ns() at its HELLO and CONNECTED */
	char device[32];
};
struct manage_traffic manage_traffic(const struct manage *manage, uint32_t node);
/* @return the error of the first refused record of a host, with its name; "": there is none */
const char *manage_refused(const struct manage *manage, uint32_t node);

/* Messages of a host's program over its management channel, before they are processed. */

/*
 * Checks every field of a message that a host may send, records aside (common/record/check.h), and makes its texts
 * plain and terminated.
 * @param body  of the size of its type's struct, aligned to 8
 * @return 0; -EINVAL with err: the message, the field, its value and what would be right
 */
int manage_check(enum manage_type type, void *body, struct err *err);
