/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of those who probe and trace: their fields against each other, and against the nodes described. */
#include "common/record/cross.h"

#include <inttypes.h>

#include "common/wire/record.h"

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

int
record_check_probe(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_probe *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	if (r->tuple.src_ip != ip)
		return record_wrong(&r->hdr, "tuple.src_ip", r->tuple.src_ip, err, "%u, the address of NIC %u", ip, r->nic);
	if (r->result != REC_PROBE_OK && r->result != REC_PROBE_LATE && r->rtt_ps != 0)
		return record_wrong(&r->hdr, "rtt_ps", r->rtt_ps, err, "0: not all of its ACKs came");
	if (r->kind == REC_PROBE_RAIL && r->rtt_ps != 0)
		return record_wrong(&r->hdr, "rtt_ps", r->rtt_ps, err, "0: nobody answers a probe of one way");
	if (r->kind == REC_PROBE_RAIL && r->result != REC_PROBE_OK && r->result != REC_PROBE_TIMEOUT)
		return record_wrong(&r->hdr, "result", r->result, err, "ok or timeout: a probe of one way has no ACKs");
	return 0;
}

int
record_check_hop(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_probe_hop *r = rec;
	uint16_t nports = known_node(check, r->at)->nports;

	if (r->port >= nports)
		return record_wrong(&r->hdr, "port", r->port, err, "below %u: so many ports node %u has", nports, r->at);
	if (r->count != 0 && !is_own(check, &r->hdr, r->back ? r->tuple.src_ip : r->tuple.dst_ip))
		return record_wrong(&r->hdr, r->back ? "tuple.src_ip" : "tuple.dst_ip",
				    r->back ? r->tuple.src_ip : r->tuple.dst_ip, err,
				    "an address of node %u, to which packets came that count", r->hdr.node);
	if (r->count != 0)
		return 0;
	if (r->back && !is_own(check, &r->hdr, r->tuple.dst_ip))
		return record_wrong(&r->hdr, "tuple.dst_ip", r->tuple.dst_ip, err,
				    "an address of node %u, which traces the way back", r->hdr.node);
	if (!r->back && !is_own(check, &r->hdr, r->tuple.src_ip))
		return record_wrong(&r->hdr, "tuple.src_ip", r->tuple.src_ip, err, "an address of node %u, which traces it",
				    r->hdr.node);
	return 0;
}

/* Are all of a set ports of hdr.node? */
static int
check_members(struct record_check *check, const struct rec_hdr *rec, uint64_t low, uint64_t high, struct err *err)
{
	uint16_t nports = known_node(check, rec->node)->nports;

	if (nports < 64 && low >> nports != 0)
		return record_wrong(rec, "set_low", low, err, "ports below %u: so many the node has", nports);
	if (nports < 128 && high >> (nports > 64 ? nports - 64 : 0) != 0)
		return record_wrong(rec, "set_high", high, err, "ports below %u: so many the node has", nports);
	return 0;
}

int
record_check_traced(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_traced *r = rec;

	return check_members(check, &r->hdr, r->set_low, r->set_high, err);
}

int
record_check_traced_hop(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_traced_hop *r = rec;

	if (r->result == REC_TRACE_EGRESS && r->out_port == REC_NO_PORT)
		return record_wrong(&r->hdr, "out_port", r->out_port, err, "a port, by which the flow leaves");
	if (r->result != REC_TRACE_EGRESS && r->out_port != REC_NO_PORT)
		return record_wrong(&r->hdr, "out_port", r->out_port, err, "%u: it leaves by none", REC_NO_PORT);
	return check_members(check, &r->hdr, r->set_low, r->set_high, err);
}

int
record_check_round(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_trace_round *r = rec;

	(void)check;
	return r->traced <= r->flows ? 0
				     : record_wrong(&r->hdr, "traced", r->traced, err, "at most %u, its flows", r->flows);
}

int
record_check_rnic(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_rnic *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	return r->ip == ip ? 0 : record_wrong(&r->hdr, "ip", r->ip, err, "%u, the address of NIC %u", ip, r->nic);
}

int
record_check_upload(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_upload *r = rec;

	return r->timeouts <= r->probes
		       ? 0
		       : record_wrong(&r->hdr, "timeouts", r->timeouts, err, "at most %u, its probes", r->probes);
}

int
record_check_connection(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_connection *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	if (r->tuple.src_ip == ip)
		return 0;
	return record_wrong(&r->hdr, "tuple.src_ip", r->tuple.src_ip, err, "%u, the address of NIC %u", ip, r->nic);
}

int
record_check_heard(struct record_check *check, const void *rec, struct err *err)
{
	const struct rec_heard *r = rec;
	uint32_t ip = address_of(check, &r->hdr, r->nic);

	if (r->tuple.dst_ip != ip)
		return record_wrong(&r->hdr, "tuple.dst_ip", r->tuple.dst_ip, err, "%u, the address of NIC %u", ip, r->nic);
	if (r->count == 0 ? r->last_seq != r->first_seq : r->last_seq - r->first_seq < r->count - 1)
		return record_wrong(&r->hdr, "last_seq", r->last_seq, err, "%u at least, of %u probes from first_seq on",
				    r->first_seq + (r->count != 0 ? r->count - 1 : 0), r->count);
	return 0;
}
