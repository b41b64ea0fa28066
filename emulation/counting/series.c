/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of counters between windows. Most ports of most samples have not changed, and cost a look at their node; a row
 * is written for those that have. A sample that finds no room leaves rows out: counters are cumulative, and watermarks are
 * kept until they are written, so that the next sample makes up for it.
 */
#include "emulation/counting/series.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/eth.h"
#include "dpswitch/pipeline/switch.h"
#include "scenario/scenario.h"

#define VIRTUAL_PERIOD_PS (100 * PS_PER_US)
#define REAL_PERIOD_PS (100 * PS_PER_MS)
/*
 * A row costs about as much as 10 to 18 packet hops, by processor. In virtual time a run has one for each 1,000 hops at
 * most, behind the first ones: the series take less than 2 % of it, however little it has to do.
 */
#define ROW_HOPS 1000
#define FREE_ROWS 1000

int
series_init(struct series *series, const struct emulation *emulation, struct run_store *store, struct err *err)
{
	const struct scenario *sc = emulation->scenario;

	*series = (struct series){
		.emulation = emulation,
		.store = store,
		.streams = true,
		.period_ps = sc->counters.period_ps,
		.most_rows = (uint64_t)sc->counters.rows,
		.node_work = calloc(sc->topo->nnodes, sizeof(*series->node_work)),
		.seen = calloc(sc->topo->nports, sizeof(*series->seen)),
	};
	if (series->node_work == NULL || series->seen == NULL)
		return err_set(err, -ENOMEM, "out of memory for the counters of %u ports", sc->topo->nports);
	if (series->period_ps == 0)
		series->period_ps = sc->timing.clock == CLOCK_REAL ? REAL_PERIOD_PS : VIRTUAL_PERIOD_PS;
	series->next_ps = series->period_ps;
	return 0;
}

void
series_fini(struct series *series)
{
	free(series->node_work);
	free(series->seen);
}

/* @return whether the row is written, or will be */
static bool
put(struct series *series, enum store_table table, const int64_t *numbers)
{
	struct store_cell cells[STORE_MAX_COLUMNS];
	uint32_t columns = run_store_columns(series->store, table);

	if (!series->streams) {
		for (uint32_t i = 0; i < columns; i++)
			cells[i] = STORE_INT(numbers[i]);
		run_store_row(series->store, table, cells);
		series->rows++;
		return true;
	}
	if (series->rows >= series->most_rows || run_store_room(series->store) < columns + 1) {
		series->incomplete = true;
		return false;
	}
	run_store_stream(series->store, table, numbers);
	series->rows++;
	return true;
}

/* ---- a port ---- */

struct port_sample
port_sample_of(const struct node *node, uint16_t port)
{
	static const uint64_t around = ETH_PREAMBLE_BYTES + ETH_GAP_BYTES;
	const struct link *rx = node->rx[port], *tx = node->tx[port];

	return (struct port_sample){
		.rx_packets = rx->received_frames,
		.rx_bytes = rx->received_bytes - around * rx->received_frames,
		.tx_packets = tx->sent_frames,
		.tx_bytes = tx->sent_bytes - around * tx->sent_frames,
	};
}

struct port_drop_sums
port_drop_sums_of(const struct emulation *emulation, uint32_t node, uint16_t port)
{
	uint64_t of[REC_DROP_REASONS];

	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
		of[reason] = emulation_dropped(emulation, node, port, (enum rec_drop)reason);
	return (struct port_drop_sums){
		.errors = of[REC_DROP_CORRUPT],
		.ingress = of[REC_DROP_TTL] + of[REC_DROP_NO_ROUTE] + of[REC_DROP_NO_BUFFER] + of[REC_DROP_MTU],
		.egress = of[REC_DROP_QUEUE_FULL] + of[REC_DROP_LINK_DOWN] + of[REC_DROP_WATCHDOG],
	};
}

static void
sample_port(struct series *series, const struct node *node, uint16_t port, uint64_t now_ps)
{
	uint32_t id = node->topo->nodes[node->id].first_port + port;
	struct port_seen *seen = &series->seen[id];
	struct port_sample now = port_sample_of(node, port);
	uint64_t drops = seen->drops;

	if (node->count.dropped_packets != 0) {
		struct port_drop_sums sums = port_drop_sums_of(series->emulation, node->id, port);

		drops = sums.errors + sums.ingress + sums.egress;
	}
	if (now.rx_bytes == seen->rx_bytes && now.tx_bytes == seen->tx_bytes && drops == seen->drops)
		return;
	if (!put(series, STORE_PORT_SERIES,
		 (int64_t[]){ (int64_t)(now_ps / PS_PER_NS), id, (int64_t)now.rx_packets, (int64_t)now.rx_bytes,
			      (int64_t)now.tx_packets, (int64_t)now.tx_bytes, (int64_t)drops }))
		return;
	seen->rx_bytes = now.rx_bytes;
	seen->tx_bytes = now.tx_bytes;
	seen->drops = drops;
}

/* ---- classes of a switch's port ---- */

static void
sample_queue(struct series *series, struct sw *sw, uint16_t port, uint8_t class, uint64_t now_ps)
{
	uint32_t id = sw->node.topo->nodes[sw->node.id].first_port + port;
	struct class_seen *most = &series->seen[id].most[class];
	struct port_counts *counts = &sw->ports[port].counts;
	const struct fifo *queue = &sw->ports[port].egress.q[class];
	bool paused = sw->ports[port].egress.paused >> class & 1, pausing = switch_pausing(sw, port) >> class & 1;
	bool charged = account_is_charged(&sw->account, class);
	uint32_t index = account_index(&sw->account, port, class);
	struct account_peak none = { 0 }, *peak = charged ? &sw->account.peaks[index] : &none;
	const struct pfc_ingress *in = charged ? &sw->account.ingress[index] : NULL;

	if (!put(series, STORE_QUEUE_SERIES,
		 (int64_t[]){ (int64_t)(now_ps / PS_PER_NS), id, class, (int64_t)queue->bytes,
			      (int64_t)counts->peak_bytes[class], (int64_t)counts->marked[class].packets,
			      (int64_t)counts->dropped[class].packets, (int64_t)sw->node.rx[port]->received_pauses[class],
			      (int64_t)sw->node.tx[port]->sent_pauses[class],
			      (int64_t)(pause_count_ps(&counts->received[class], paused, now_ps) / PS_PER_NS),
			      (int64_t)(pause_count_ps(&counts->sent[class], pausing, now_ps) / PS_PER_NS),
			      in != NULL ? (int64_t)(in->bytes + in->headroom_bytes) : 0, (int64_t)peak->bytes,
			      (int64_t)peak->headroom_bytes }))
		return;
	counts->touched &= (uint8_t) ~(1u << class);
	most->queue_bytes = max_u64(most->queue_bytes, counts->peak_bytes[class]);
	most->shared_bytes = max_u64(most->shared_bytes, peak->bytes);
	most->headroom_bytes = max_u64(most->headroom_bytes, peak->headroom_bytes);
	counts->peak_bytes[class] = queue->bytes;
	*peak = (struct account_peak){ in != NULL ? in->bytes : 0, in != NULL ? in->headroom_bytes : 0 };
}

/* Classes with news: a mark, a drop, a pause, or a queue that held more than one full frame. */
static uint8_t
classes_of(const struct series *series, const struct switch_port *port)
{
	uint8_t classes = port->counts.touched | port->egress.paused;

	for (uint32_t class = 0; class < STORE_CLASSES; class ++)
		if (port->counts.peak_bytes[class] > series->emulation->scenario->largest_frame_bytes)
			classes |= (uint8_t)(1u << class);
	return classes;
}

static void
sample_switch(struct series *series, struct sw *sw, uint64_t now_ps)
{
	for (uint16_t port = 0; port < sw->node.nports; port++) {
		uint32_t left = classes_of(series, &sw->ports[port]);

		sample_port(series, &sw->node, port, now_ps);
		for (; left != 0; left &= left - 1)
			sample_queue(series, sw, port, (uint8_t)__builtin_ctz(left), now_ps);
	}
}

/* ---- a NIC ---- */

static uint64_t
pauses_at(const struct link *rx)
{
	uint64_t pauses = 0;

	for (uint32_t class = 0; class < STORE_CLASSES; class ++)
		pauses += rx->received_pauses[class];
	return pauses;
}

static void
sample_nic_class(struct series *series, const struct node *node, uint16_t port, uint8_t class, uint64_t now_ps)
{
	const struct embedded_nic nic = embedded_nic_at(node, port);
	uint64_t paused_ps = pause_count_ps(&nic.pauses[class], nic.paused >> class & 1, now_ps);

	put(series, STORE_QUEUE_SERIES,
	    (int64_t[]){ (int64_t)(now_ps / PS_PER_NS), node->topo->nodes[node->id].first_port + port, class, 0, 0, 0, 0,
			 (int64_t)node->rx[port]->received_pauses[class], (int64_t)node->tx[port]->sent_pauses[class],
			 (int64_t)(paused_ps / PS_PER_NS), 0, 0, 0, 0 });
}

static void
sample_host(struct series *series, const struct node *node, uint64_t now_ps)
{
	bool embedded = series->emulation->scenario->hosts[node->id] == NULL;

	for (uint16_t port = 0; port < node->nports; port++) {
		struct port_seen *seen = &series->seen[node->topo->nodes[node->id].first_port + port];
		uint64_t pauses = pauses_at(node->rx[port]);

		sample_port(series, node, port, now_ps);
		if (!embedded || pauses == seen->pauses)
			continue;
		for (uint8_t class = 0; class < STORE_CLASSES; class ++)
			if (node->rx[port]->received_pauses[class] != 0)
				sample_nic_class(series, node, port, class, now_ps);
		seen->pauses = pauses;
	}
}

/* ---- a sample ---- */

/* A number that changes whenever a node has done anything that counts. */
static uint64_t
work_of(const struct emulation *emulation, const struct node *node)
{
	uint64_t work = node->count.rx_packets + node->count.tx_packets + node->count.windows;

	if (emulation->switches[node->id] == NULL)
		for (uint16_t port = 0; port < node->nports; port++)
			work += pauses_at(node->rx[port]);
	return work;
}

/* @param all  look at every node */
static void
sample(struct series *series, uint64_t now_ps, bool all)
{
	const struct emulation *emulation = series->emulation;

	for (uint32_t id = 0; id < emulation->scenario->topo->nnodes; id++) {
		const struct node *node = emulation->fabric->nodes[id];
		uint64_t work = work_of(emulation, node);

		if (partition_is_remote(emulation, id) || (work == series->node_work[id] && !all))
			continue;
		if (emulation->switches[id] != NULL)
			sample_switch(series, emulation->switches[id], now_ps);
		else
			sample_host(series, node, now_ps);
		if (!series->incomplete)
			series->node_work[id] = work;
	}
	series->samples++;
	series->skipped += series->incomplete;
	series->incomplete = false;
}

/*
 * The period, until half of the rows are used. Then a gap that leaves a constant share of the rows that are left for each
 * doubling of time: it grows with the square of the time, and the rows never end.
 */
static uint64_t
gap_ps(struct series *series, uint64_t now_ps)
{
	uint64_t half = series->most_rows / 2, left = series->most_rows - series->rows;
	unsigned __int128 gap;

	if (series->rows < half)
		return series->period_ps;
	if (series->half_samples == 0)
		series->half_samples = series->samples;
	gap = (unsigned __int128)now_ps * half / series->half_samples / (left != 0 ? left : 1);
	return gap < TIME_NEVER / 2 ? max_u64(series->period_ps, (uint64_t)gap) : TIME_NEVER / 2;
}

/* Whether the run has done enough for another sample. */
static bool
is_affordable(const struct series *series)
{
	const struct emulation *emulation = series->emulation;
	uint64_t hops = 0;

	if (series->rows < FREE_ROWS || emulation->scenario->timing.clock == CLOCK_REAL)
		return true;
	for (uint32_t id = 0; id < emulation->scenario->topo->nnodes; id++)
		hops += emulation->fabric->nodes[id]->count.rx_packets;
	return series->rows - FREE_ROWS < hops / ROW_HOPS;
}

void
series_collect(struct series *series, uint64_t now_ps)
{
	uint64_t start_ps = now_ps / series->period_ps * series->period_ps; /* of the period that now is in */

	if (now_ps < series->next_ps || series->rows >= series->most_rows)
		return;
	series->next_ps = start_ps + series->period_ps;
	if (!is_affordable(series))
		return;
	sample(series, now_ps, false);
	run_store_commit(series->store);
	series->coarsest_ps = max_u64(series->coarsest_ps, now_ps - series->sampled_ps);
	series->sampled_ps = now_ps;
	series->next_ps = start_ps + gap_ps(series, now_ps);
}

void
series_finish(struct series *series, uint64_t end_ps)
{
	series->streams = false;
	if (series->most_rows != 0)
		sample(series, end_ps, true);
}
