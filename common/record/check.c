/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/record/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/kinds.h"
#include "common/record/known.h"
#include "common/wire/record.h"

/*
 * "STEP of node 3: end_ps = 5: ..." @param field  NULL: the record as a whole
 * @return -EINVAL
 */
static int __attribute__((format(printf, 5, 6)))
record_wrong(const struct rec_hdr *rec, const char *field, uint64_t value, struct err *err, const char *right, ...)
{
	char text[400], of[32] = "";
	va_list ap;

	va_start(ap, right);
	vsnprintf(text, sizeof(text), right, ap);
	va_end(ap);
	if (rec->node != REC_NONE)
		snprintf(of, sizeof(of), " of node %u", rec->node);
	if (field == NULL)
		return err_set(err, -EINVAL, "%s%s: %s", record_kinds[rec->type].name, of, text);
	return err_set(err, -EINVAL, "%s%s: %s = %" PRIu64 "; right would be %s", record_kinds[rec->type].name, of, field,
		       value, text);
}

/* Records of nodes that probe and trace: their fields against each other, and against the nodes described. */

/* @return the address of a NIC of hdr.node, which the rules of its fields know */
static uint32_t
address_of(const struct record_check *check, const struct rec_hdr *rec, uint16_t nic)
{
	return known_port(check, rec->node, nic)->ip;
}

static bool
is_own(const struct record_check *check, const struct rec_hdr *rec, uint32_t ip)
{
	for (uint16_t nic = 0; nic < known_node(check, rec->node)->nports; nic++)
		if (address_of(check, rec, nic) == ip)
			return true;
	return false;
}

static int
record_check_probe(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_probe *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	if (r->tuple.src_ip != ip)
		return record_wrong(&r->hdr, "tuple.src_ip", r->tuple.src_ip, err, "%u, the address of NIC %u", ip, r->nic);
	if (r->result != REC_PROBE_OK && r->result != REC_PROBE_LATE && r->rtt_ps != 0)
		return record_wrong(&r->hdr, "rtt_ps", r->rtt_ps, err, "0: not all of its ACKs arrived");
	if (r->kind == REC_PROBE_RAIL && r->rtt_ps != 0)
		return record_wrong(&r->hdr, "rtt_ps", r->rtt_ps, err, "0: a one-way probe has no reply");
	if (r->kind == REC_PROBE_RAIL && r->result != REC_PROBE_OK && r->result != REC_PROBE_TIMEOUT)
		return record_wrong(&r->hdr, "result", r->result, err, "ok or timeout: a one-way probe has no ACKs");
	return 0;
}

static int
record_check_hop(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_probe_hop *r = rec;
	uint16_t nports = known_node(check, r->at)->nports;

	if (r->port >= nports)
		return record_wrong(&r->hdr, "port", r->port, err, "below %u, the number of ports of node %u", nports,
				    r->at);
	if (r->count != 0 && !is_own(check, &r->hdr, r->back ? r->tuple.src_ip : r->tuple.dst_ip))
		return record_wrong(&r->hdr, r->back ? "tuple.src_ip" : "tuple.dst_ip",
				    r->back ? r->tuple.src_ip : r->tuple.dst_ip, err,
				    "an address of node %u, the destination of the counted packets", r->hdr.node);
	if (r->count != 0)
		return 0;
	if (r->back && !is_own(check, &r->hdr, r->tuple.dst_ip))
		return record_wrong(&r->hdr, "tuple.dst_ip", r->tuple.dst_ip, err,
				    "an address of node %u, which traces the reverse path", r->hdr.node);
	if (!r->back && !is_own(check, &r->hdr, r->tuple.src_ip))
		return record_wrong(&r->hdr, "tuple.src_ip", r->tuple.src_ip, err, "an address of node %u, which traces it",
				    r->hdr.node);
	return 0;
}

/* Are all of a set ports of hdr.node? @param first  the port that the first bit stands for, one of the node's */
static int
check_members(struct record_check *check, const struct rec_hdr *rec, uint32_t first, uint64_t low, uint64_t high,
	      struct err *err)
{
	uint32_t nports = known_node(check, rec->node)->nports, bits = nports - first;

	if (bits < 64 && low >> bits != 0)
		return record_wrong(rec, "set_low", low, err, "ports below %u, the number of ports of the node", nports);
	if (bits < 128 && high >> (bits > 64 ? bits - 64 : 0) != 0)
		return record_wrong(rec, "set_high", high, err, "ports below %u, the number of ports of the node", nports);
	return 0;
}

static int
record_check_traced(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_traced *r = rec;

	return check_members(check, &r->hdr, 0, r->set_low, r->set_high, err);
}

static int
record_check_traced_hop(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_traced_hop *r = rec;

	if (r->result == REC_TRACE_EGRESS && r->out_port == REC_NO_PORT)
		return record_wrong(&r->hdr, "out_port", r->out_port, err, "a port, by which the flow leaves");
	if (r->result != REC_TRACE_EGRESS && r->out_port != REC_NO_PORT)
		return record_wrong(&r->hdr, "out_port", r->out_port, err, "%u: it leaves by none", REC_NO_PORT);
	return check_members(check, &r->hdr, r->first, r->set_low, r->set_high, err);
}

static int
record_check_round(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_trace_round *r = rec;

	(void)check;
	return r->traced <= r->flows ? 0
				     : record_wrong(&r->hdr, "traced", r->traced, err, "at most %u, its flows", r->flows);
}

static int
record_check_rnic(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_rnic *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	return r->ip == ip ? 0 : record_wrong(&r->hdr, "ip", r->ip, err, "%u, the address of NIC %u", ip, r->nic);
}

static int
record_check_upload(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_upload *r = rec;

	return r->timeouts <= r->probes
		       ? 0
		       : record_wrong(&r->hdr, "timeouts", r->timeouts, err, "at most %u, its probes", r->probes);
}

static int
record_check_connection(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_connection *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	if (r->tuple.src_ip == ip)
		return 0;
	return record_wrong(&r->hdr, "tuple.src_ip", r->tuple.src_ip, err, "%u, the address of NIC %u", ip, r->nic);
}

static int
record_check_responder(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_responder *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	if (r->tuple.dst_ip != ip)
		return record_wrong(&r->hdr, "tuple.dst_ip", r->tuple.dst_ip, err, "%u, the address of NIC %u", ip, r->nic);
	if (r->count == 0 ? r->last_seq != r->first_seq : r->last_seq - r->first_seq < r->count - 1)
		return record_wrong(&r->hdr, "last_seq", r->last_seq, err, "%u at least, of %u probes from first_seq on",
				    r->first_seq + (r->count != 0 ? r->count - 1 : 0), r->count);
	return 0;
}

/* A record's fields against each other, and against what header records described. */

#define PORTS_A_WORD 64

static int
check_node_record(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_node *r = rec;

	if (r->nports <= RECORD_MAX_PORTS - check->ports.count)
		return 0;
	return record_wrong(&r->hdr, "nports", r->nports, err, "at most %u over all nodes", RECORD_MAX_PORTS);
}

/* A cable has two ends, which name each other. */
static int
check_port_record(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_port *r = rec;
	const struct known_node *node = known_node(check, r->hdr.node);
	const struct known_port *end;

	if (known_port(check, r->hdr.node, r->port)->described)
		return record_wrong(&r->hdr, "port", r->port, err, "a port that is not described yet");
	if (!node->host && r->ip != 0)
		return record_wrong(&r->hdr, "ip", r->ip, err, "0: switches have no address");
	if (r->peer == REC_NONE)
		return 0;
	if (r->peer_port >= known_node(check, r->peer)->nports)
		return record_wrong(&r->hdr, "peer_port", r->peer_port, err, "below %u, the number of ports of node %u",
				    known_node(check, r->peer)->nports, r->peer);
	end = known_port(check, r->peer, r->peer_port);
	if (end->described && (end->peer != r->hdr.node || end->peer_port != r->port))
		return record_wrong(&r->hdr, "peer", r->peer, err, "a node whose port %u leads back", r->peer_port);
	return 0;
}

static int
check_collective(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_collective *r = rec;

	if (known_collective(check, r->id, r->iteration) == NULL)
		return 0;
	return record_wrong(&r->hdr, "iteration", r->iteration, err, "one of collective %u that is not described yet",
			    r->id);
}

/* The collective of a RECORD_STEP field, and that it has such a step. @return NULL with err */
static const struct known_collective *
record_check_step(struct record_check *check, const struct rec_hdr *rec, const struct record_field *field, struct err *err)
{
	const uint32_t *at = (const uint32_t *)(const void *)((const uint8_t *)rec + field->at);
	uint32_t id = at[-2], iteration = at[-1], step = at[0];
	const struct known_collective *collective = known_collective(check, id, iteration);

	if (step == 0)
		record_wrong(rec, field->name, step, err, "1 to %u", UINT32_MAX);
	else if (collective == NULL)
		record_wrong(rec, "collective", id, err, "a collective of which iteration %u is described", iteration);
	else if (step > collective->rank_steps)
		record_wrong(rec, field->name, step, err, "at most %u, the number of steps of a rank of collective %u",
			     collective->rank_steps, id);
	else
		return collective;
	return NULL;
}

static bool
has_address(const struct record_check *check, uint32_t node, uint32_t ip)
{
	for (uint16_t p = 0; p < known_node(check, node)->nports; p++)
		if (known_port(check, node, p)->ip == ip)
			return true;
	return false;
}

static int
check_rank(const struct rec_hdr *rec, const struct known_collective *collective, const char *field, uint32_t rank,
	   struct err *err)
{
	return rank < collective->ranks
		       ? 0
		       : record_wrong(rec, field, rank, err, "below %u, the number of ranks of collective %u",
				      collective->ranks, collective->id);
}

/* Refuses a step that depends on itself: it would never start. */
static int
check_own(const struct rec_schedule *r, const struct known_collective *collective, struct err *err)
{
	if (r->own_step != r->step && r->own_step <= collective->rank_steps)
		return 0;
	return record_wrong(&r->hdr, "own_step", r->own_step, err, "another of its %u steps, or 0", collective->rank_steps);
}

static int
check_arrival(const struct rec_schedule *r, const struct known_collective *collective, struct err *err)
{
	if (r->depends_rank == REC_NONE)
		return r->depends_step == 0
			       ? 0
			       : record_wrong(&r->hdr, "depends_step", r->depends_step, err, "0: it has no dependency");
	if (r->depends_rank >= collective->ranks || r->depends_rank == r->rank)
		return record_wrong(&r->hdr, "depends_rank", r->depends_rank, err, "another of %u ranks, or 4294967295",
				    collective->ranks);
	if (r->depends_step == 0 || r->depends_step > collective->rank_steps)
		return record_wrong(&r->hdr, "depends_step", r->depends_step, err, "1 to %u", collective->rank_steps);
	return 0;
}

static int
check_schedule(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_schedule *r = rec;
	const struct known_collective *collective = known_collective(check, r->collective, r->iteration);
	static const struct rec_tuple none;
	int rc = check_rank(&r->hdr, collective, "rank", r->rank, err);

	if (rc == 0)
		rc = check_rank(&r->hdr, collective, "peer", r->peer, err);
	if (rc == 0 && collective->scheduled == collective->steps)
		rc = record_wrong(&r->hdr, "step", r->step, err, "none: all %u of collective %u are scheduled",
				  collective->steps, r->collective);
	if (rc == 0 && r->peer == r->rank && memcmp(&r->flow, &none, sizeof(none)) != 0)
		rc = record_wrong(&r->hdr, "flow.src_ip", r->flow.src_ip, err, "0: a local step has no flow");
	if (rc == 0 && r->peer != r->rank && !has_address(check, r->hdr.node, r->flow.src_ip))
		rc = record_wrong(&r->hdr, "flow.src_ip", r->flow.src_ip, err, "the address of a NIC of the host");
	if (rc == 0)
		rc = check_own(r, collective, err);
	return rc == 0 ? check_arrival(r, collective, err) : rc;
}

static int
check_depend(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_depend *r = rec;
	const struct known_collective *collective = known_collective(check, r->collective, r->iteration), *on;
	int rc = check_rank(&r->hdr, collective, "rank", r->rank, err);

	if (rc == 0 && collective->depends == collective->promised)
		rc = record_wrong(&r->hdr, "step", r->step, err,
				  "none: collective %u has all %" PRIu64 " that SCHEDULE records count", r->collective,
				  collective->promised);
	if (rc != 0)
		return rc;
	on = known_collective(check, r->on_collective, r->iteration);
	if (on == NULL)
		return record_wrong(&r->hdr, "on_collective", r->on_collective, err,
				    "a collective of which iteration %u is described", r->iteration);
	rc = check_rank(&r->hdr, on, "on_rank", r->on_rank, err);
	if (rc == 0 && (r->on_step == 0 || r->on_step > on->rank_steps))
		rc = record_wrong(&r->hdr, "on_step", r->on_step, err, "1 to %u", on->rank_steps);
	if (rc == 0 && r->on_collective == r->collective && r->on_rank == r->rank && r->on_step == r->step)
		rc = record_wrong(&r->hdr, "on_step", r->on_step, err, "another step: this is the one that waits");
	return rc;
}

static int
check_follow(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_follow *r = rec;

	if (known_collective(check, r->collective, 0) == NULL)
		return record_wrong(&r->hdr, "collective", r->collective, err, "one that is described");
	if (known_collective(check, r->after, 0) == NULL || r->after == r->collective)
		return record_wrong(&r->hdr, "after", r->after, err, "another one that is described");
	return 0;
}

static int
check_trigger(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_trigger *r = rec;

	return check_rank(&r->hdr, known_collective(check, r->collective, r->iteration), "rank", r->rank, err);
}

static int
check_notify(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_notify *r = rec;

	return check_rank(&r->hdr, known_collective(check, r->collective, r->iteration), "rank", r->rank, err);
}

static bool
has_member(const struct rec_ecmp *set, uint32_t port)
{
	uint32_t bit = port - set->first;

	return port >= set->first && bit < 2 * PORTS_A_WORD &&
	       (set->ports[bit / PORTS_A_WORD] >> bit % PORTS_A_WORD & 1) != 0;
}

/* Is a record the next one of the set of another, with ports behind those that it has? */
static bool
goes_on(const struct rec_ecmp *set, const struct rec_ecmp *last)
{
	if (last == NULL || set->set != last->set || set->hdr.node != last->hdr.node || set->sprayed != last->sprayed)
		return false;
	for (uint32_t p = set->first; p < last->first + 2u * PORTS_A_WORD; p++)
		if (has_member(last, p))
			return false;
	return set->first > last->first;
}

static int
check_set(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_ecmp *r = rec, *last = known_last_set(check);
	uint16_t nports = known_node(check, r->hdr.node)->nports;
	uint32_t next = last != NULL ? last->set + 1 : 1;

	if (r->set != next && !goes_on(r, last))
		return record_wrong(&r->hdr, "set", r->set, err, "%u, the next one", next);
	for (uint32_t p = nports; p < r->first + 2u * PORTS_A_WORD; p++)
		if (has_member(r, p))
			return record_wrong(&r->hdr, "ports", p, err, "members below %u, the number of ports of the node",
					    nports);
	return 0;
}

static int
check_route(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_route *r = rec;
	uint32_t count;
	const struct rec_ecmp *set = known_set(check, r->ecmp, &count);

	if (r->ecmp == REC_NO_ECMP)
		return 0;
	for (uint32_t i = 0; i < count && set->hdr.node == r->hdr.node; i++)
		if (has_member(&set[i], r->port))
			return 0;
	return record_wrong(&r->hdr, "ecmp", r->ecmp, err, "0, or a described set of node %u with port %u in it",
			    r->hdr.node, r->port);
}

/* The step that it waited for: none, or one that can exist. */
static int
check_waited(struct record_check *check, const struct rec_step *r, struct err *err)
{
	const struct known_collective *on;

	if (r->waited_step == 0)
		return r->waited_rank == REC_NONE && r->waited_collective == REC_NONE
			       ? 0
			       : record_wrong(&r->hdr, "waited_rank", r->waited_rank, err,
					      "4294967295: it waited for no step");
	on = known_collective(check, r->waited_collective, r->iteration);
	if (on == NULL)
		return record_wrong(&r->hdr, "waited_collective", r->waited_collective, err,
				    "a collective of which iteration %u is described", r->iteration);
	if (r->waited_step > on->rank_steps)
		return record_wrong(&r->hdr, "waited_step", r->waited_step, err, "at most %u", on->rank_steps);
	return check_rank(&r->hdr, on, "waited_rank", r->waited_rank, err);
}

static int
check_step(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_step *r = rec;
	int rc = check_rank(&r->hdr, known_collective(check, r->collective, r->iteration), "rank", r->rank, err);

	if (rc == 0)
		rc = check_waited(check, r, err);
	if (rc != 0)
		return rc;
	if (!r->open && r->end_ps < r->start_ps)
		return record_wrong(&r->hdr, "end_ps", r->end_ps, err, "%" PRIu64 " at least, when it began", r->start_ps);
	if (r->open && r->end_ps != 0)
		return record_wrong(&r->hdr, "end_ps", r->end_ps, err, "0: the step is open");
	if (r->open == REC_STEP_WAITS && r->start_ps != 0)
		return record_wrong(&r->hdr, "start_ps", r->start_ps, err, "0: the step has not begun");
	if (r->rtt_min_ps > r->rtt_mean_ps)
		return record_wrong(&r->hdr, "rtt_min_ps", r->rtt_min_ps, err, "at most %" PRIu64 ", the mean",
				    r->rtt_mean_ps);
	if ((r->rtt_samples == 0) != (r->rtt_mean_ps == 0))
		return record_wrong(&r->hdr, "rtt_samples", r->rtt_samples, err, "0 without a round trip, else 1 at least");
	if (r->acked_bytes > r->bytes)
		return record_wrong(&r->hdr, "acked_bytes", r->acked_bytes, err, "at most %" PRIu64 ", which it sends",
				    r->bytes);
	return 0;
}

static int
check_gap(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_gap *r = rec;
	uint64_t bytes = r->dropped * (uint64_t)record_size((uint16_t)r->kind);

	if (r->dropped_bytes != bytes)
		return record_wrong(&r->hdr, "dropped_bytes", r->dropped_bytes, err, "%" PRIu64 " of %u records", bytes,
				    r->dropped);
	if (r->to_ps < r->from_ps)
		return record_wrong(&r->hdr, "to_ps", r->to_ps, err, "%" PRIu64 " at least, where it begins", r->from_ps);
	return 0;
}

static int
check_end(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_end *r = rec;

	/* Hosts with their own kernel stamp reports by the clock, which a busy machine's fabric is behind. */
	if (r->end_ps + RECORD_AHEAD_PS + check->behind_ps < check->latest_ps)
		return record_wrong(&r->hdr, "end_ps", r->end_ps, err, "%" PRIu64 " at least, less 1 s for late reports",
				    check->latest_ps);
	if (r->offered_records != r->sent_records + r->dropped_records)
		return record_wrong(&r->hdr, "offered_records", r->offered_records, err, "%" PRIu64 ", sent and dropped",
				    r->sent_records + r->dropped_records);
	if (r->kept_bytes > r->collected_bytes || r->kept_reports > r->collected_reports)
		return record_wrong(&r->hdr, "kept_reports", r->kept_reports, err, "at most the collected number");
	return 0;
}

/* @return 0, or -EINVAL with err */
typedef int record_cross_fn(struct record_check *check, const void *rec, struct err *err);

/* Kinds with further checks besides those of each field. */
static record_cross_fn *const checks[RECORD_KINDS] = {
	[REC_NODE] = check_node_record,
	[REC_PORT] = check_port_record,
	[REC_COLLECTIVE] = check_collective,
	[REC_SCHEDULE] = check_schedule,
	[REC_ROUTE] = check_route,
	[REC_ECMP] = check_set,
	[REC_STEP] = check_step,
	[REC_GAP] = check_gap,
	[REC_END] = check_end,
	[REC_TRIGGER] = check_trigger,
	[REC_NOTIFY] = check_notify,
	[REC_DEPEND] = check_depend,
	[REC_FOLLOW] = check_follow,
	[REC_PROBE] = record_check_probe,
	[REC_PROBE_HOP] = record_check_hop,
	[REC_RNIC] = record_check_rnic,
	[REC_UPLOAD] = record_check_upload,
	[REC_CONNECTION] = record_check_connection,
	[REC_TRACED] = record_check_traced,
	[REC_TRACED_HOP] = record_check_traced_hop,
	[REC_TRACE_ROUND] = record_check_round,
	[REC_RESPONDER] = record_check_responder,
};

/* The record's fields against each other and against the known configuration. @return 0 or -EINVAL with err */
static int
record_cross_check(struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	return checks[rec->type] != NULL ? checks[rec->type](check, rec, err) : 0;
}

/* Each field by itself. */

static int check_order(const struct record_check *check, const struct rec_hdr *rec, struct err *err);
static int check_reporter(const struct record_check *check, const struct rec_hdr *rec, struct err *err);
static int check_field(struct record_check *check, const struct rec_hdr *rec, uint32_t index, struct err *err);
static void add_sums(struct record_check *check, const struct rec_hdr *rec);
static int check_topology(const struct record_check *check, struct err *err);

struct record_check *
record_check_create(void)
{
	struct record_check *check = calloc(1, sizeof(*check));

	for (uint32_t k = 0; k < RECORD_KINDS && check != NULL; k++) {
		for (uint32_t i = 0; i < record_kinds[k].nfields; i++) {
			uint32_t rule = record_kinds[k].fields[i].rule;

			check->ruled[k] |= (uint32_t)(rule != RECORD_ANY) << i;
			check->summed[k] |= (uint32_t)(rule == RECORD_COUNT || rule == RECORD_TOTAL) << i;
		}
	}
	return check;
}

void
record_check_destroy(struct record_check *check)
{
	if (check == NULL)
		return;
	known_fini(check);
	free(check);
}

int
record_check(struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	int rc = check_order(check, rec, err);

	if (rc == 0)
		rc = check_reporter(check, rec, err);
	if (rc == 0 && rec->time_ps > RECORD_MAX_PS)
		rc = record_wrong(rec, "time_ps", rec->time_ps, err, "at most %llu", RECORD_MAX_PS);
	for (uint32_t left = check->ruled[rec->type]; rc == 0 && left != 0; left &= left - 1)
		rc = check_field(check, rec, (uint32_t)__builtin_ctz(left), err);
	if (rc == 0)
		rc = record_cross_check(check, rec, err);
	if (rc == 0)
		rc = known_add(check, rec, err);
	if (rc != 0)
		return rc;
	check->has_topology |= !record_is(rec->type, REC_TOPOLOGY);
	check->ended |= rec->type == REC_END;
	if (rec->time_ps > check->latest_ps)
		check->latest_ps = rec->time_ps;
	if (rec->type == REC_LATENESS && ((const struct rec_lateness *)(const void *)rec)->most_ps > check->behind_ps)
		check->behind_ps = ((const struct rec_lateness *)(const void *)rec)->most_ps;
	add_sums(check, rec);
	return 0;
}

int
record_check_finish(const struct record_check *check, struct err *err)
{
	const struct known_collective *collectives = check->collectives.data;
	int rc;

	if (!check->has_run)
		return err_set(err, -EINVAL, "it has no RUN record: it broke off before the run began");
	rc = check_topology(check, err);
	for (uint32_t i = 0; rc == 0 && check->ended && i < check->collectives.count; i++) {
		const struct known_collective *c = &collectives[i];

		if (c->scheduled != c->steps)
			rc = err_set(err, -EINVAL, "collective %u iteration %u has %u SCHEDULE records; it needs %u", c->id,
				     c->iteration, c->scheduled, c->steps);
		else if (c->depends != c->promised)
			rc = err_set(err, -EINVAL,
				     "collective %u iteration %u has %" PRIu64 " DEPEND records; it needs %" PRIu64, c->id,
				     c->iteration, c->depends, c->promised);
	}
	return rc;
}

/* Every port that a node promised, described: only then does anything else make sense. */
static int
check_topology(const struct record_check *check, struct err *err)
{
	for (uint32_t i = 0; i < check->nodes.count; i++) {
		const struct known_node *node = known_node(check, i);

		if (node->described != node->nports)
			return err_set(err, -EINVAL, "node %u has %u ports, %u of them are described", i, node->nports,
				       node->described);
	}
	return 0;
}

static int
check_order(const struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	if (check->ended)
		return record_wrong(rec, NULL, 0, err, "a record behind END");
	if (check->has_run == (rec->type == REC_RUN))
		return record_wrong(rec, NULL, 0, err,
				    check->has_run ? "a second RUN record" : "a record before the RUN record");
	if (check->has_topology && record_is(rec->type, REC_TOPOLOGY))
		return record_wrong(rec, NULL, 0, err, "a topology record behind records that use it");
	return check->has_topology || record_is(rec->type, REC_TOPOLOGY) ? 0 : check_topology(check, err);
}

static int
check_reporter(const struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	const struct known_node *node = known_node(check, rec->node);

	switch ((enum record_reporter)record_kinds[rec->type].reporter) {
	case RECORD_OF_NONE:
		return rec->node == REC_NONE ? 0 : record_wrong(rec, "node", rec->node, err, "%u", REC_NONE);
	case RECORD_OF_NEW:
		if (rec->node != check->nodes.count || rec->node >= RECORD_MAX_NODES)
			return record_wrong(rec, "node", rec->node, err, "%u, the next one; there are %u at most",
					    check->nodes.count, RECORD_MAX_NODES);
		return 0;
	case RECORD_OF_HOST:
		if (node == NULL || !node->host)
			return record_wrong(rec, "node", rec->node, err, "a host that a NODE record describes");
		return 0;
	case RECORD_OF_ANY:
	default:
		return node != NULL ? 0 : record_wrong(rec, "node", rec->node, err, "a node that a NODE record describes");
	}
}

static uint64_t
value_of(const struct rec_hdr *rec, const struct record_field *field)
{
	const uint8_t *at = (const uint8_t *)rec + field->at;
	uint64_t value = 0; /* little-endian, as the machine is */

	switch (field->size) {
	case 1:
		return *at;
	case 2:
		return *(const uint16_t *)(const void *)at;
	case 4:
		return *(const uint32_t *)(const void *)at;
	case 8:
		memcpy(&value, at, sizeof(value));
		break;
	}
	return value;
}

/* Characters of a node's name (topo/build.c): no name is mistaken for a port, a flow or an element of a page. */
static bool
is_name(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
	       c == '-';
}

/* Up to its end; the rest of the field is ignored. */
static int
check_name(const struct rec_hdr *rec, const struct record_field *field, struct err *err)
{
	const uint8_t *name = (const uint8_t *)rec + field->at;

	for (uint32_t i = 0; i < field->size && (name[i] != '\0' || i == 0); i++) {
		if (field->rule == RECORD_NAME && !is_name(name[i]))
			return record_wrong(rec, field->name, name[i], err, "a letter, digit, '_', '.' or '-' at %u", i);
		if (field->rule == RECORD_TEXT && ((name[i] < 0x20 && name[i] != '\0') || name[i] == 0x7f))
			return record_wrong(rec, field->name, name[i], err, "a printable character at %u", i);
	}
	return 0;
}

static int
check_port(const struct record_check *check, const struct rec_hdr *rec, const struct record_field *field, uint64_t value,
	   struct err *err)
{
	uint16_t nports = known_node(check, rec->node)->nports;

	if (value < nports || (field->rule == RECORD_PORT_OR_NONE && value == REC_NO_PORT))
		return 0;
	return record_wrong(rec, field->name, value, err, "below %u, the number of ports of the node%s", nports,
			    field->rule == RECORD_PORT_OR_NONE ? "; or 65535, none" : "");
}

static int
check_node(const struct record_check *check, const struct rec_hdr *rec, const struct record_field *field, uint64_t value,
	   struct err *err)
{
	const struct known_node *node = known_node(check, (uint32_t)value);
	bool host = field->rule == RECORD_HOST_OR_NONE, any = field->rule == RECORD_NODE_OR_NONE;
	bool needed = field->rule == RECORD_SWITCH;

	if (node != NULL ? any || node->host == host : value == REC_NONE && !needed)
		return 0;
	return record_wrong(rec, field->name, value, err, "a described %s%s",
			    any    ? "node"
			    : host ? "host"
				   : "switch",
			    needed ? "" : "; or 4294967295, none");
}

/* A span of time, which began at the value of the field before it. */
static int
check_until(const struct rec_hdr *rec, const struct record_field *field, uint64_t value, struct err *err)
{
	uint64_t from_ps = *(const uint64_t *)(const void *)((const uint8_t *)rec + field->at - sizeof(from_ps));

	if (value > rec->time_ps + RECORD_AHEAD_PS)
		return record_wrong(rec, field->name, value, err, "at most %" PRIu64,
				    (uint64_t)(rec->time_ps + RECORD_AHEAD_PS));
	if (value < from_ps)
		return record_wrong(rec, field->name, value, err, "%" PRIu64 " at least, where it begins", from_ps);
	return 0;
}

/* A span of epochs, in their numbers. */
static int
check_epochs(const struct record_check *check, const struct rec_hdr *rec, const struct record_field *field, uint64_t last,
	     struct err *err)
{
	uint32_t first = *(const uint32_t *)(const void *)((const uint8_t *)rec + field->at - sizeof(first));
	uint64_t began = rec->time_ps / check->epoch_ps;

	if (last < first)
		return record_wrong(rec, field->name, last, err, "at least %u, the first", first);
	if (last > began)
		return record_wrong(rec, field->name, last, err, "at most %" PRIu64 ", the one of its report", began);
	return 0;
}

static int
check_field(struct record_check *check, const struct rec_hdr *rec, uint32_t index, struct err *err)
{
	const struct record_field *field = &record_kinds[rec->type].fields[index];
	uint64_t value = value_of(rec, field), most;

	switch ((enum record_rule)field->rule) {
	case RECORD_RANGE:
		if (value >= field->min && value <= field->max)
			return 0;
		return record_wrong(rec, field->name, value, err, "%" PRIu64 " to %" PRIu64, field->min, field->max);
	case RECORD_HOST_OR_NONE:
	case RECORD_NODE_OR_NONE:
	case RECORD_SWITCH:
	case RECORD_SWITCH_OR_NONE:
		return check_node(check, rec, field, value, err);
	case RECORD_PORT:
	case RECORD_PORT_OR_NONE:
		return check_port(check, rec, field, value, err);
	case RECORD_TIME:
		most = RECORD_MAX_PS;
		break;
	case RECORD_PAST:
		most = rec->time_ps + RECORD_AHEAD_PS;
		break;
	case RECORD_COUNT:
	case RECORD_TOTAL:
		most = RECORD_MAX_SUM - check->sums[rec->type][index];
		most = most < RECORD_MAX_COUNT ? most : RECORD_MAX_COUNT;
		break;
	case RECORD_UNTIL:
		return check_until(rec, field, value, err);
	case RECORD_LAST_EPOCH:
		return check_epochs(check, rec, field, value, err);
	case RECORD_STEP:
		return record_check_step(check, rec, field, err) != NULL ? 0 : -EINVAL;
	case RECORD_REPORT_KIND:
		return record_is_report((uint32_t)value)
			       ? 0
			       : record_wrong(rec, field->name, value, err, "a kind that nodes report");
	case RECORD_TUPLE:
		value = ((const struct rec_tuple *)(const void *)((const uint8_t *)rec + field->at))->reserved;
		return value == 0 ? 0 : record_wrong(rec, field->name, value, err, "0 in its reserved field");
	case RECORD_NAME:
	case RECORD_TEXT:
		return check_name(rec, field, err);
	case RECORD_ANY:
	default:
		return 0;
	}
	return value <= most ? 0 : record_wrong(rec, field->name, value, err, "at most %" PRIu64, most);
}

static void
add_sums(struct record_check *check, const struct rec_hdr *rec)
{
	const struct record_kind *kind = &record_kinds[rec->type];

	for (uint32_t left = check->summed[rec->type]; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		check->sums[rec->type][i] += value_of(rec, &kind->fields[i]);
	}
}
