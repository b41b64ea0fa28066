/* SPDX-License-Identifier: BSD-3-Clause */
/* A record's fields against each other, and against what header records described. */
#include "common/record/cross.h"
#include "common/wire/record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PORTS_A_WORD 64

static int
check_node(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_node *r = rec;

	if (r->nports <= RECORD_MAX_PORTS - check->ports.count)
		return 0;
	return record_wrong(&r->hdr, "nports", r->nports, err, "at most %u over all nodes", RECORD_MAX_PORTS);
}

/* A cable has two ends, which name each other. */
static int
check_port(struct record_check *check, const void *rec, struct err *err)
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
		return record_wrong(&r->hdr, "peer_port", r->peer_port, err, "below %u: so many ports node %u has",
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

const struct known_collective *
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
		record_wrong(rec, field->name, step, err, "at most %u: so many has a rank of collective %u",
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
	return rank < collective->ranks ? 0
					: record_wrong(rec, field, rank, err, "below %u: so many has collective %u",
						       collective->ranks, collective->id);
}

/* The same step cannot be named: what waits for itself never starts. */
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
			       : record_wrong(&r->hdr, "depends_step", r->depends_step, err, "0: it depends on nobody");
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
	return port < 2 * PORTS_A_WORD && (set->ports[port / PORTS_A_WORD] >> port % PORTS_A_WORD & 1) != 0;
}

static int
check_set(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_ecmp *r = rec;
	uint16_t nports = known_node(check, r->hdr.node)->nports;

	if (r->set != check->sets.count + 1)
		return record_wrong(&r->hdr, "set", r->set, err, "%u, the next one", check->sets.count + 1);
	for (uint32_t p = nports; p < 2 * PORTS_A_WORD; p++)
		if (has_member(r, p))
			return record_wrong(&r->hdr, "ports", p, err, "members below %u: so many ports the node has",
					    nports);
	return 0;
}

static int
check_route(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_route *r = rec;
	const struct rec_ecmp *set = known_set(check, r->ecmp);

	if (r->ecmp == REC_NO_ECMP || (set != NULL && set->hdr.node == r->hdr.node && has_member(set, r->port)))
		return 0;
	return record_wrong(&r->hdr, "ecmp", r->ecmp, err, "0, or a described set of node %u with port %u in it",
			    r->hdr.node, r->port);
}

/* What it says that it waited for: nothing, or a step that there may be. */
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

	if (r->end_ps + RECORD_AHEAD_PS < check->latest_ps)
		return record_wrong(&r->hdr, "end_ps", r->end_ps, err, "%" PRIu64 " at least, less 1 s for late reports",
				    check->latest_ps);
	if (r->offered_records != r->sent_records + r->dropped_records)
		return record_wrong(&r->hdr, "offered_records", r->offered_records, err, "%" PRIu64 ", sent and dropped",
				    r->sent_records + r->dropped_records);
	if (r->kept_bytes > r->collected_bytes || r->kept_reports > r->collected_reports)
		return record_wrong(&r->hdr, "kept_reports", r->kept_reports, err, "at most what was collected");
	return 0;
}

/* Of kinds of which more is to be said than of each field. */
static record_cross_fn *const checks[RECORD_KINDS] = {
	[REC_NODE] = check_node,
	[REC_PORT] = check_port,
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
	[REC_HEARD] = record_check_heard,
};

int
record_cross_check(struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	return checks[rec->type] != NULL ? checks[rec->type](check, rec, err) : 0;
}
