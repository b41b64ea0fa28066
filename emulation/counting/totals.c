/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters at the end of a run, as switches and NICs would report them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/eth.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/counting/series.h"
#include "scenario/scenario.h"
#include "telemetry/port.h"
#include "workload/plan.h"

#define NS(ps) STORE_INT((ps) / PS_PER_NS)

/* A port of whatever node: what it keeps by class. NULL, or false, where it keeps none. */
struct port_view {
	uint32_t id;
	const struct node *node;
	uint16_t port;
	struct sw *sw;                      /* NULL: a host's */
	const struct telem_port *telemetry; /* NULL: of a kernel host */
	const struct pause_count *received, *sent;
	uint8_t paused, pausing;        /* bit p: class p is now */
	const uint64_t *datagram_drops; /* [EMBEDDED_DATAGRAM_REASONS] of an embedded host's, else NULL */
};

static struct port_view
view_of(const struct emulation *emulation, uint32_t id)
{
	const struct topo_port *at = &emulation->scenario->topo->ports[id];
	const struct node *node = emulation->fabric->nodes[at->node];
	struct port_view view = { .id = id, .node = node, .port = at->index, .sw = emulation->switches[at->node] };

	if (view.sw != NULL) {
		const struct switch_port *port = &view.sw->ports[at->index];

		view.telemetry = &port->telem;
		view.received = port->counts.received;
		view.sent = port->counts.sent;
		view.paused = port->egress.paused;
		view.pausing = switch_pausing(view.sw, at->index);
	} else if (emulation->scenario->hosts[at->node] == NULL) {
		const struct embedded_nic nic = embedded_nic_at(node, at->index);

		view.telemetry = nic.telemetry;
		view.received = nic.pauses;
		view.paused = nic.paused;
		view.datagram_drops = nic.datagram_drops;
	}
	return view;
}

static void
write_port(const struct series *series, const struct port_view *view)
{
	struct port_sample sample = port_sample_of(view->node, view->port);
	struct port_drop_sums drops = port_drop_sums_of(series->emulation, view->node->id, view->port);

	run_store_row(series->store, STORE_PORT_COUNTERS,
		      (struct store_cell[]){ STORE_INT(view->id), STORE_INT(!view->node->tx[view->port]->down),
					     STORE_INT(sample.rx_packets), STORE_INT(sample.rx_bytes),
					     STORE_INT(sample.tx_packets), STORE_INT(sample.tx_bytes),
					     STORE_INT(drops.errors), STORE_INT(drops.ingress), STORE_INT(drops.egress) });
}

/* Of frames with FCS, without preamble and gap, as port counters have them. */
static uint64_t
octets(uint64_t wire_bytes, uint64_t packets)
{
	return wire_bytes - packets * (ETH_PREAMBLE_BYTES + ETH_GAP_BYTES);
}

/*
 * What each class sent. Telemetry has the data that was queued, and a switch counts CNPs in a class of their own; the
 * rest is of class 0, unless frames were lost to a link that was down.
 * @param known  set by class
 */
static void
queue_totals(const struct series *series, const struct port_view *view, struct epochs_total totals[STORE_CLASSES],
	     bool known[STORE_CLASSES])
{
	const struct link *tx = view->node->tx[view->port];
	bool counted = view->telemetry != NULL && telem_has_epochs(view->telemetry) &&
		       !series->emulation->switch_config.telemetry_off;
	struct epochs_total data = { 0 };

	memset(totals, 0, STORE_CLASSES * sizeof(*totals));
	if (counted)
		epochs_totals(&view->telemetry->epochs, totals);
	for (uint32_t class = 1; view->sw != NULL && class < STORE_CLASSES; class ++)
		if (view->sw->config->cnp_classes >> class & 1)
			totals[class] = (struct epochs_total){ .packets = view->sw->ports[view->port].counts.cnps.packets,
							       .bytes = view->sw->ports[view->port].counts.cnps.bytes };
	known[0] = counted && view->sw != NULL && !view->telemetry->drops->was_down;
	for (uint32_t class = 1; class < STORE_CLASSES; class ++) {
		const struct fifo *queue = view->sw != NULL ? &view->sw->ports[view->port].egress.q[class] : NULL;

		known[class] = counted;
		data.packets += totals[class].packets - (queue != NULL ? fifo_count(queue) : 0);
		data.bytes += totals[class].bytes - (queue != NULL ? queue->bytes : 0);
	}
	if (!known[0])
		return;
	totals[0].packets = tx->sent_frames + tx->lane[0].npkts + tx->lane[1].npkts - data.packets;
	totals[0].bytes = view->sw->ports[view->port].egress.sent_bytes - data.bytes;
}

static void
write_queues(const struct series *series, const struct port_view *view)
{
	static const struct port_counts none;
	const struct port_counts *counts = view->sw != NULL ? &view->sw->ports[view->port].counts : &none;
	struct epochs_total totals[STORE_CLASSES];
	bool known[STORE_CLASSES];

	queue_totals(series, view, totals, known);
	for (uint32_t class = 0; class < STORE_CLASSES; class ++) {
		uint64_t most = max_u64(series->seen[view->id].most[class].queue_bytes, counts->peak_bytes[class]);
		uint64_t dropped = counts->dropped[class].packets, marked = counts->marked[class].packets;

		if (totals[class].packets + dropped + most == 0)
			continue;
		run_store_row(
			series->store, STORE_QUEUE_COUNTERS,
			(struct store_cell[]){ STORE_INT(view->id), STORE_INT(class),
					       known[class] ? STORE_INT(totals[class].packets) : STORE_NULL,
					       known[class] ? STORE_INT(octets(totals[class].bytes, totals[class].packets))
							    : STORE_NULL,
					       STORE_INT(dropped), STORE_INT(octets(counts->dropped[class].bytes, dropped)),
					       STORE_INT(marked), STORE_INT(octets(counts->marked[class].bytes, marked)),
					       view->sw != NULL ? STORE_INT(most) : STORE_NULL });
	}
}

/* Has a class a priority group at a port? */
static bool
has_group(const struct port_view *view, uint8_t class)
{
	const struct account *account = &view->sw->account;

	if (account->pools == NULL)
		return account_configured(view->sw, view->port) >> class & 1;
	return account_is_charged(account, class) &&
	       account_params(account, &account->ingress[account_index(account, view->port, class)])->pool != BUFFER_POOLS;
}

static void
write_groups(const struct series *series, const struct port_view *view)
{
	const struct account *account;

	if (view->sw == NULL)
		return;
	account = &view->sw->account;
	for (uint8_t class = 0; class < STORE_CLASSES; class ++) {
		const struct class_seen *most = &series->seen[view->id].most[class];
		const struct account_peak *peak;
		uint32_t index;

		if (!has_group(view, class))
			continue;
		index = account_index(account, view->port, class);
		peak = &account->peaks[index];
		run_store_row(series->store, STORE_PRIORITY_GROUPS,
			      (struct store_cell[]){ STORE_INT(view->id), STORE_INT(class),
						     STORE_INT(account->ingress[index].headroom_limit_bytes),
						     STORE_INT(max_u64(most->shared_bytes, peak->bytes)),
						     STORE_INT(max_u64(most->headroom_bytes, peak->headroom_bytes)) });
	}
}

static void
write_pools(const struct series *series, uint32_t node)
{
	const struct emulation *emulation = series->emulation;
	const struct sw *sw = emulation->switches[node];
	const struct switch_buffers *buffers = switch_settings_of(&emulation->scenario->switches, node)->buffers;

	for (size_t i = 0; sw != NULL && sw->account.pools != NULL && i < buffers->npools; i++) {
		const struct buffer_pool_params *pool = &buffers->pools[i];
		const struct pool_headroom *headroom = &sw->account.pools->headroom[i];

		if (!pool->egress)
			run_store_row(series->store, STORE_BUFFER_POOLS,
				      (struct store_cell[]){
					      STORE_INT(node), STORE_TEXT(pool->name), STORE_INT(pool->size_bytes),
					      headroom->limit_bytes != 0 ? STORE_INT(headroom->limit_bytes) : STORE_NULL,
					      STORE_INT(headroom->needed_bytes), STORE_INT(headroom->peak_bytes) });
	}
}

static void
write_pauses(const struct series *series, const struct port_view *view, uint64_t end_ps)
{
	const struct link *rx = view->node->rx[view->port], *tx = view->node->tx[view->port];

	for (uint32_t class = 0; class < STORE_CLASSES; class ++) {
		const struct pause_count *received = view->received != NULL ? &view->received[class] : NULL;
		const struct pause_count *sent = view->sent != NULL ? &view->sent[class] : NULL;
		bool paused = view->paused >> class & 1, was = received != NULL && received->times != 0;

		if (rx->received_pauses[class] + tx->sent_pauses[class] == 0 && !was)
			continue;
		run_store_row(
			series->store, STORE_PFC_COUNTERS,
			(struct store_cell[]){
				STORE_INT(view->id), STORE_INT(class), STORE_INT(rx->received_pauses[class]),
				STORE_INT(tx->sent_pauses[class]),
				received != NULL ? NS(pause_count_ps(received, paused, end_ps)) : STORE_NULL,
				sent != NULL ? NS(pause_count_ps(sent, view->pausing >> class & 1, end_ps)) : STORE_NULL,
				received != NULL ? STORE_INT(received->times) : STORE_NULL,
				!was ? STORE_NULL : NS(paused ? end_ps - received->since_ps : received->last_ps),
				!was ? STORE_NULL : NS(received->since_ps) });
	}
}

static void
write_watchdog(const struct series *series, const struct port_view *view)
{
	static const char *const actions[] = { REC_WATCHDOG_ACTIONS(ENUM_NAME) };
	const struct switch_watchdog_params *params;
	struct watchdog_count count;

	if (view->sw == NULL)
		return;
	params = &switch_settings_at(view->sw->config->setup, series->emulation->scenario->topo, view->id)->watchdog;
	for (uint8_t class = 0; class < STORE_CLASSES; class ++)
		if (watchdog_count_of(view->sw->watchdog, view->port, class, &count))
			run_store_row(series->store, STORE_PFC_WATCHDOG,
				      (struct store_cell[]){ STORE_INT(view->id), STORE_INT(class),
							     STORE_TEXT(actions[params->action]), NS(params->detection_ps),
							     NS(params->restoration_ps), STORE_INT(count.detected),
							     STORE_INT(count.restored), STORE_INT(count.storms),
							     STORE_INT(count.packets), STORE_INT(count.last_packets) });
}

/* @param counted  has a counter of the port them, with their times? Else there are none */
static void
put_drops(const struct series *series, uint32_t port, const char *reason, const struct drop_count *count, bool counted)
{
	if (count->packets != 0)
		run_store_row(series->store, STORE_DROPS,
			      (struct store_cell[]){ STORE_INT(port), STORE_TEXT(reason), STORE_INT(count->packets),
						     STORE_INT(count->bytes), counted ? NS(count->first_ps) : STORE_NULL,
						     counted ? NS(count->last_ps) : STORE_NULL, STORE_INT(counted) });
}

static const char *const drop_names[] = { REC_DROPS(ENUM_NAME) };

/* A silent drop is in no counter of a device, though its port knows of it here. */
static void
write_drops(const struct series *series, const struct port_view *view)
{
	for (uint32_t reason = 0; view->telemetry != NULL && reason < REC_DROP_REASONS; reason++)
		put_drops(series, view->id, drop_names[reason], &view->telemetry->drops->of[reason],
			  reason != REC_DROP_BLACKHOLE);
#define NAME_OF(name, text) text,
	static const char *const datagram_names[] = { EMBEDDED_DATAGRAM_DROPS(NAME_OF) };
#undef NAME_OF

	for (uint32_t reason = 0; view->datagram_drops != NULL && reason < EMBEDDED_DATAGRAM_REASONS; reason++)
		if (view->datagram_drops[reason] != 0)
			run_store_row(series->store, STORE_DROPS,
				      (struct store_cell[]){ STORE_INT(view->id), STORE_TEXT(datagram_names[reason]),
							     STORE_INT((int64_t)view->datagram_drops[reason]), STORE_NULL,
							     STORE_NULL, STORE_NULL, STORE_INT(1) });
}

/* What was lost on the cables that leave ports, and in devices, where no counter is. */
static void
write_losses(const struct series *series)
{
	const struct fabric *fabric = series->emulation->fabric;
	const struct topo *topo = series->emulation->scenario->topo;

	for (uint32_t id = 0; id < topo->nports; id++) {
		const struct link *link = &fabric->links[id];

		put_drops(series, id, drop_names[REC_DROP_INJECTED],
			  &(struct drop_count){ .packets = link->injected_packets, .bytes = link->injected_bytes }, false);
		put_drops(series, id, drop_names[REC_DROP_LINK_DOWN],
			  &(struct drop_count){ .packets = link->down_packets, .bytes = link->down_bytes }, false);
	}
	for (uint32_t node = 0; node < topo->nnodes; node++) {
		uint64_t packets =
			partition_is_remote(series->emulation, node) ? 0 : fabric->nodes[node]->count.lost_packets;

		if (packets != 0)
			run_store_row(series->store, STORE_DROPS,
				      (struct store_cell[]){ STORE_INT(topo->nodes[node].first_port),
							     STORE_TEXT(drop_names[REC_DROP_INJECTED]), STORE_INT(packets),
							     STORE_NULL, STORE_NULL, STORE_NULL, STORE_INT(0) });
	}
}

/* ---- NICs, under mlx5's names ---- */

/* hw_counters of a NIC: sums over its QPs. */
struct nic_sums {
	uint64_t of[8];
};

static const char *const nic_sum_names[8] = {
	"packet_seq_err",    "local_ack_timeout_err", "rnr_nak_retry_err",          "rp_cnp_handled",
	"duplicate_request", "out_of_sequence",       "np_ecn_marked_roce_packets", "np_cnp_sent",
};

static bool
is_connection(const struct flow *flow)
{
	return flow->kind == FLOW_COLLECTIVE || flow->kind == FLOW_BACKGROUND || flow->kind == FLOW_TRAFFIC;
}

static bool
is_embedded(const struct emulation *emulation, uint32_t node)
{
	return emulation->scenario->hosts[node] == NULL && !partition_is_remote(emulation, node);
}

/* @param sums  [nports] added to */
static void
write_qp(const struct series *series, uint32_t id, struct nic_sums *sums)
{
	const struct emulation *emulation = series->emulation;
	const struct topo *topo = emulation->scenario->topo;
	const struct flow *flow = &emulation->scenario->plan->flows.flows[id];
	bool here = is_embedded(emulation, flow->src_node), there = is_embedded(emulation, flow->dst_node);
	struct embedded_requester from = { 0 };
	struct embedded_responder to = { 0 };

	if (here)
		from = embedded_requester_of(emulation->hosts[flow->src_node], id);
	if (there)
		to = embedded_responder_of(emulation->hosts[flow->dst_node], id);
	if (!here && !there)
		return;
	for (int i = 0; i < 4; i++) {
		const uint64_t forth[4] = { from.naks, from.timeouts, from.rnr_naks, from.marks };
		const uint64_t back[4] = { to.duplicates, to.out_of_sequence, to.marked, to.cnps };

		sums[topo->nodes[flow->src_node].first_port + flow->src_nic].of[i] += forth[i];
		sums[topo->nodes[flow->dst_node].first_port + flow->dst_nic].of[4 + i] += back[i];
	}
#define FROM(value) (here ? STORE_INT(value) : STORE_NULL)
#define TO(value) (there ? STORE_INT(value) : STORE_NULL)
	run_store_row(series->store, STORE_QPS,
		      (struct store_cell[]){ STORE_INT(id), STORE_TEXT(topo->nodes[flow->src_node].name),
					     STORE_TEXT(topo->nodes[flow->dst_node].name), STORE_INT(flow->sport),
					     STORE_INT(flow->dport), STORE_INT(flow->prio), FROM(from.retransmits),
					     FROM(from.naks), FROM(from.timeouts), FROM(from.rnr_naks), FROM(from.marks),
					     TO(to.out_of_sequence), TO(to.duplicates), TO(to.marked), TO(to.cnps) });
}

static void
put_nic(const struct series *series, uint32_t port, const char *name, uint64_t value)
{
	run_store_row(series->store, STORE_NIC_COUNTERS,
		      (struct store_cell[]){ STORE_INT(port), STORE_TEXT(name), STORE_INT(value) });
}

/* Of one class: `ethtool -S`. Durations are in microseconds there. */
static void
write_nic_class(const struct series *series, const struct port_view *view, uint32_t class, uint64_t end_ps)
{
	const struct link *rx = view->node->rx[view->port], *tx = view->node->tx[view->port];
	const struct pause_count *pause = view->received != NULL ? &view->received[class] : NULL;
	char name[64];

#define NAME(format) (snprintf(name, sizeof(name), format, class), name)
	put_nic(series, view->id, NAME("rx_prio%u_pause"), rx->received_pauses[class]);
	put_nic(series, view->id, NAME("tx_prio%u_pause"), tx->sent_pauses[class]);
	if (pause == NULL)
		return;
	put_nic(series, view->id, NAME("rx_prio%u_pause_duration"),
		pause_count_ps(pause, view->paused >> class & 1, end_ps) / PS_PER_US);
	put_nic(series, view->id, NAME("rx_prio%u_pause_transition"), pause->times);
}

/* The classes that the fabric's hosts use, or that are lossless. */
static uint8_t
classes_used(const struct emulation *emulation)
{
	const struct flow_table *flows = &emulation->scenario->plan->flows;
	uint8_t used = emulation->switch_config.telemetry.lossless;

	for (uint32_t i = 0; i < flows->count; i++)
		used |= (uint8_t)(1u << flows->flows[i].prio);
	return used;
}

static void
write_nic(const struct series *series, const struct port_view *view, const struct nic_sums *sums, uint8_t used,
	  uint64_t end_ps)
{
	struct port_sample sample = port_sample_of(view->node, view->port);
	struct port_drop_sums drops = port_drop_sums_of(series->emulation, view->node->id, view->port);
	struct epochs_total totals[STORE_CLASSES];
	char name[64];

	put_nic(series, view->id, "rx_packets_phy", sample.rx_packets);
	put_nic(series, view->id, "rx_bytes_phy", sample.rx_bytes);
	put_nic(series, view->id, "tx_packets_phy", sample.tx_packets);
	put_nic(series, view->id, "tx_bytes_phy", sample.tx_bytes);
	put_nic(series, view->id, "rx_discards_phy", drops.ingress + drops.egress);
	put_nic(series, view->id, "rx_icrc_encapsulated", drops.errors);
	for (uint32_t class = 0; class < STORE_CLASSES; class ++)
		if (used >> class & 1)
			write_nic_class(series, view, class, end_ps);
	if (view->telemetry == NULL)
		return;
	if (telem_has_epochs(view->telemetry)) {
		epochs_totals(&view->telemetry->epochs, totals);
		for (uint32_t class = 1; class < STORE_CLASSES; class ++)
			if (used >> class & 1)
				put_nic(series, view->id, NAME("tx_prio%u_packets"), totals[class].packets);
	}
	for (size_t i = 0; i < ARRAY_LEN(nic_sum_names); i++)
		put_nic(series, view->id, nic_sum_names[i], sums->of[i]);
}

/* Of a host's own device, under its driver's names; a host with several NICs has one device, of the first. */
static void
write_device(const struct series *series, uint32_t node)
{
	const struct emulation *emulation = series->emulation;
	const struct host_driver *driver = emulation->driver_of[node];
	const struct manage_counter *counters;
	uint32_t count;

	if (driver == NULL || driver->ops->counters == NULL)
		return;
	count = driver->ops->counters(driver->ctx, node, &counters);
	for (uint32_t i = 0; i < count; i++)
		put_nic(series, emulation->scenario->topo->nodes[node].first_port, counters[i].name, counters[i].value);
}

static void
write_nics(const struct series *series, uint8_t used, uint64_t end_ps)
{
	const struct emulation *emulation = series->emulation;
	const struct topo *topo = emulation->scenario->topo;
	const struct flow_table *flows = &emulation->scenario->plan->flows;
	struct nic_sums *sums = calloc(topo->nports, sizeof(*sums));

	if (sums == NULL) {
		run_store_fail(series->store, ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < flows->count; i++)
		if (is_connection(&flows->flows[i]))
			write_qp(series, i, sums);
	for (uint32_t id = 0; id < topo->nports; id++) {
		struct port_view view;

		if (topo->nodes[topo->ports[id].node].kind != TOPO_HOST ||
		    partition_is_remote(emulation, topo->ports[id].node))
			continue;
		view = view_of(emulation, id);
		write_nic(series, &view, &sums[id], used, end_ps);
	}
	for (uint32_t node = 0; node < topo->nnodes; node++)
		write_device(series, node);
	free(sums);
}

/* ---- configuration ---- */

static void
write_ecn(const struct series *series, const struct port_view *view, uint8_t used)
{
	for (uint32_t class = 0; view->sw != NULL && class < STORE_CLASSES; class ++) {
		const struct ecn_params *ecn = &view->sw->ports[view->port].egress.ecn[class];

		if (!(used >> class & 1) || ecn->kmin_bytes == ECN_NEVER)
			continue;
		run_store_row(series->store, STORE_ECN,
			      (struct store_cell[]){ STORE_INT(view->id), STORE_INT(class), STORE_INT(ecn->kmin_bytes),
						     STORE_INT(ecn->kmax_bytes), STORE_REAL(ecn->pmax) });
	}
}

void
totals_write(const struct series *series, uint64_t end_ps)
{
	const struct emulation *emulation = series->emulation;
	const struct topo *topo = emulation->scenario->topo;
	uint8_t used = classes_used(emulation);

	for (uint32_t id = 0; id < topo->nports; id++) {
		struct port_view view;

		if (partition_is_remote(emulation, topo->ports[id].node))
			continue;
		view = view_of(emulation, id);
		write_port(series, &view);
		write_queues(series, &view);
		write_groups(series, &view);
		write_pauses(series, &view, end_ps);
		write_watchdog(series, &view);
		write_drops(series, &view);
		write_ecn(series, &view, used);
	}
	write_losses(series);
	for (uint32_t node = 0; node < topo->nnodes; node++)
		if (!partition_is_remote(emulation, node))
			write_pools(series, node);
	write_nics(series, used, end_ps);
}
