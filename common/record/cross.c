/* SPDX-License-Identifier: BSD-3-Clause */
/* A record's fields against each other, and against what header records described. */
#include "common/record/kinds.h"
#include "common/record/known.h"
#include "common/wire/record.h"

#include <errno.h>
#include <inttypes.h>

#define PORTS_A_WORD 64

static int
check_node(const struct record_check *check, const struct rec_node *r, struct err *err)
{
	if (r->nports <= RECORD_MAX_PORTS - check->ports.count)
		return 0;
	return record_wrong(&r->hdr, "nports", r->nports, err, "at most %u over all nodes", RECORD_MAX_PORTS);
}

/* A cable has two ends, which name each other. */
static int
check_port(const struct record_check *check, const struct rec_port *r, struct err *err)
{
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
check_collective(struct record_check *check, const struct rec_collective *r, struct err *err)
{
	if (known_collective(check, r->id, r->iteration) == NULL)
		return 0;
	return record_wrong(&r->hdr, "iteration", r->iteration, err, "one of collective %u that is not described yet",
			    r->id);
}

/* A step of a collective that was described. @return NULL with err */
static const struct known_collective *
check_step_of(struct record_check *check, const struct rec_hdr *hdr, uint32_t id, uint32_t iteration, uint32_t step,
	      struct err *err)
{
	const struct known_collective *collective = known_collective(check, id, iteration);

	if (collective == NULL) {
		record_wrong(hdr, "collective", id, err, "a collective of which iteration %u is described", iteration);
		return NULL;
	}
	if (step <= collective->steps)
		return collective;
	record_wrong(hdr, "step", step, err, "at most %u: so many has a rank of collective %u", collective->steps, id);
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
check_schedule(struct record_check *check, const struct rec_schedule *r, struct err *err)
{
	const struct known_collective *collective =
		check_step_of(check, &r->hdr, r->collective, r->iteration, r->step, err);

	if (collective == NULL)
		return -EINVAL;
	if (r->rank >= collective->ranks)
		return record_wrong(&r->hdr, "rank", r->rank, err, "below %u: so many has collective %u", collective->ranks,
				    r->collective);
	if (collective->scheduled >= (uint64_t)collective->ranks * collective->steps)
		return record_wrong(&r->hdr, "rank", r->rank, err, "none: all %u ranks of %u steps are scheduled",
				    collective->ranks, collective->steps);
	if (!has_address(check, r->hdr.node, r->flow.src_ip))
		return record_wrong(&r->hdr, "flow.src_ip", r->flow.src_ip, err, "the address of a NIC of the host");
	/* What comes of earlier steps alone cannot wait for itself. */
	if (r->depends_on == REC_NONE && r->depends_step != 0)
		return record_wrong(&r->hdr, "depends_step", r->depends_step, err, "0: it depends on nobody");
	if (r->depends_on != REC_NONE && (r->depends_step == 0 || r->depends_step >= r->step))
		return record_wrong(&r->hdr, "depends_step", r->depends_step, err, "1 to %u", r->step - 1);
	return 0;
}

static bool
has_member(const struct rec_ecmp *set, uint32_t port)
{
	return port < 2 * PORTS_A_WORD && (set->ports[port / PORTS_A_WORD] >> port % PORTS_A_WORD & 1) != 0;
}

static int
check_set(const struct record_check *check, const struct rec_ecmp *r, struct err *err)
{
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
check_route(const struct record_check *check, const struct rec_route *r, struct err *err)
{
	const struct rec_ecmp *set = known_set(check, r->ecmp);

	if (r->ecmp == REC_NO_ECMP || (set != NULL && set->hdr.node == r->hdr.node && has_member(set, r->port)))
		return 0;
	return record_wrong(&r->hdr, "ecmp", r->ecmp, err, "0, or a described set of node %u with port %u in it",
			    r->hdr.node, r->port);
}

static int
check_step(struct record_check *check, const struct rec_step *r, struct err *err)
{
	if (check_step_of(check, &r->hdr, r->collective, r->iteration, r->step, err) == NULL)
		return -EINVAL;
	if (!r->open && r->end_ps < r->start_ps)
		return record_wrong(&r->hdr, "end_ps", r->end_ps, err, "%" PRIu64 " at least, when it began", r->start_ps);
	if (r->open && r->end_ps != 0)
		return record_wrong(&r->hdr, "end_ps", r->end_ps, err, "0: the step is open");
	if (r->acked_bytes > r->bytes)
		return record_wrong(&r->hdr, "acked_bytes", r->acked_bytes, err, "at most %" PRIu64 ", which it sends",
				    r->bytes);
	return 0;
}

/* A span of epochs, in their numbers and, where the record has it, in time. */
static int
check_span(const struct record_check *check, const struct rec_hdr *hdr, uint32_t first, uint32_t last, uint64_t from_ps,
	   uint64_t to_ps, struct err *err)
{
	uint64_t began = hdr->time_ps / check->epoch_ps;

	if (last < first)
		return record_wrong(hdr, "epoch_last", last, err, "at least %u, the first", first);
	if (last > began)
		return record_wrong(hdr, "epoch_last", last, err, "at most %" PRIu64 ", the one of its report", began);
	if (to_ps < from_ps)
		return record_wrong(hdr, "to_ps", to_ps, err, "%" PRIu64 " at least, where it begins", from_ps);
	return 0;
}

static int
check_drops(const struct rec_drop_row *r, struct err *err)
{
	if (r->last_ps >= r->first_ps)
		return 0;
	return record_wrong(&r->hdr, "last_ps", r->last_ps, err, "%" PRIu64 " at least, the first", r->first_ps);
}

static int
check_gap(const struct rec_gap *r, struct err *err)
{
	uint64_t bytes = r->dropped * (uint64_t)record_size((uint16_t)r->kind);

	if (bytes == 0)
		return record_wrong(&r->hdr, "kind", r->kind, err, "a kind that nodes report");
	if (r->dropped_bytes != bytes)
		return record_wrong(&r->hdr, "dropped_bytes", r->dropped_bytes, err, "%" PRIu64 " of %u records", bytes,
				    r->dropped);
	if (r->to_ps < r->from_ps)
		return record_wrong(&r->hdr, "to_ps", r->to_ps, err, "%" PRIu64 " at least, where it begins", r->from_ps);
	return 0;
}

static int
check_end(const struct record_check *check, const struct rec_end *r, struct err *err)
{
	if (r->end_ps + RECORD_AHEAD_PS < check->latest_ps)
		return record_wrong(&r->hdr, "end_ps", r->end_ps, err, "%" PRIu64 " at least, less 1 s for late reports",
				    check->latest_ps);
	if (r->sent_bytes > r->offered_bytes)
		return record_wrong(&r->hdr, "sent_bytes", r->sent_bytes, err, "at most %" PRIu64 ", what was offered",
				    r->offered_bytes);
	if (r->offered_records != r->sent_records + r->dropped_records)
		return record_wrong(&r->hdr, "offered_records", r->offered_records, err, "%" PRIu64 ", sent and dropped",
				    r->sent_records + r->dropped_records);
	if (r->kept_bytes > r->collected_bytes || r->kept_reports > r->collected_reports)
		return record_wrong(&r->hdr, "kept_reports", r->kept_reports, err, "at most what was collected");
	return 0;
}

int
record_cross_check(struct record_check *check, const struct rec_hdr *rec, struct err *err)
{
	const void *r = rec;

	switch (rec->type) {
	case REC_NODE:
		return check_node(check, r, err);
	case REC_PORT:
		return check_port(check, r, err);
	case REC_COLLECTIVE:
		return check_collective(check, r, err);
	case REC_SCHEDULE:
		return check_schedule(check, r, err);
	case REC_ROUTE:
		return check_route(check, r, err);
	case REC_ECMP:
		return check_set(check, r, err);
	case REC_STEP:
		return check_step(check, r, err);
	case REC_TRIGGER: {
		const struct rec_trigger *t = r;
		return check_step_of(check, rec, t->collective, t->iteration, t->step, err) != NULL ? 0 : -EINVAL;
	}
	case REC_NOTIFY: {
		const struct rec_notify *n = r;
		return check_step_of(check, rec, n->collective, n->iteration, n->step, err) != NULL ? 0 : -EINVAL;
	}
	case REC_PORT_ROW: {
		const struct rec_port_row *row = r;
		return check_span(check, rec, row->epoch_first, row->epoch_last, row->from_ps, row->to_ps, err);
	}
	case REC_FLOW_ROW: {
		const struct rec_flow_row *row = r;
		return check_span(check, rec, row->epoch_first, row->epoch_last, 0, 0, err);
	}
	case REC_METER_ROW: {
		const struct rec_meter_row *row = r;
		return check_span(check, rec, row->epoch_first, row->epoch_last, 0, 0, err);
	}
	case REC_MATRIX_ROW: {
		const struct rec_matrix_row *row = r;
		return check_span(check, rec, row->epoch_first, row->epoch_last, 0, 0, err);
	}
	case REC_DROP_ROW:
		return check_drops(r, err);
	case REC_GAP:
		return check_gap(r, err);
	case REC_END:
		return check_end(check, r, err);
	default:
		return 0;
	}
}
