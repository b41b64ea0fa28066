/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Differential test of ingress accounting: the switch adds most windows up and replays the others; a model of a few lines
 * that knows neither windows nor sums goes through the same arrivals and departures one by one. On random traffic both
 * must send the same PAUSE and RESUME frames at the same instants and end with the same counters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define SEEDS 60
#define SENDERS 4
#define CLASSES 2 /* 3 and 4, or 3 alone */
#define MAX_EVENTS 40000
#define MAX_PAUSES 4096

/* s0 to s3 send, r0 and r1 receive at rates that differ; ports are numbered in this order. */
static const char network[] =
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S\" ]; "
	"hosts = [ \"s0\", \"s1\", \"s2\", \"s3\", \"r0\", \"r1\" ]; "
	"links = ( \"s0 S\", \"s1 S\", \"s2 S 40Gbps\", \"s3 S\", \"r0 S 40Gbps\", \"r1 S\" ); };"
	"switch = { pfc = { priorities = [ %s ]; }; };";

struct event {
	uint64_t time_ps;
	bool departure;
	uint8_t in_port, prio;
	uint16_t bytes;
};

/* IEEE 802.1Qbb accounting with a reserve, a pool and headroom, frame by frame. */
struct model {
	const struct pfc_params *params;
	uint64_t pause_ps[SENDERS];
	int64_t used[SENDERS][CLASSES], headroom[SENDERS][CLASSES];
	bool pausing[SENDERS][CLASSES];
	uint64_t wire_free_ps[SENDERS]; /* PAUSE frames of a port follow each other */
	struct pause_frame frames[SENDERS][MAX_PAUSES];
	size_t nframes[SENDERS];
};

static int64_t
above_reserve(const struct model *model, int64_t bytes)
{
	int64_t reserve = (int64_t)model->params->reserve_bytes;

	return bytes > reserve ? bytes - reserve : 0;
}

static int64_t
threshold(const struct model *model)
{
	int64_t free_bytes = (int64_t)model->params->pool_bytes;

	if (model->params->model == PFC_STATIC)
		return (int64_t)model->params->xoff_bytes;
	for (uint32_t port = 0; port < SENDERS; port++)
		for (uint32_t c = 0; c < CLASSES; c++)
			free_bytes -= above_reserve(model, model->used[port][c]);
	return free_bytes > 0 ? free_bytes * model->params->alpha_num >> model->params->alpha_shift : 0;
}

static void
model_pause(struct model *model, const struct event *event, bool xoff)
{
	uint8_t port = event->in_port;
	uint64_t start_ps = event->time_ps > model->wire_free_ps[port] ? event->time_ps : model->wire_free_ps[port];

	model->pausing[port][event->prio - 3] = xoff;
	model->wire_free_ps[port] = start_ps + model->pause_ps[port];
	assert_true(model->nframes[port] < MAX_PAUSES);
	model->frames[port][model->nframes[port]++] = (struct pause_frame){
		.time_ps = model->wire_free_ps[port] + PS_PER_US,
		.prio_mask = (uint8_t)(1 << event->prio),
		.xoff = xoff,
	};
}

static void
model_step(struct model *model, const struct event *event)
{
	int64_t *used = &model->used[event->in_port][event->prio - 3];
	int64_t *headroom = &model->headroom[event->in_port][event->prio - 3];
	bool pausing = model->pausing[event->in_port][event->prio - 3];

	if (event->departure) {
		int64_t from_headroom = *headroom < event->bytes ? *headroom : event->bytes;

		*headroom -= from_headroom;
		*used -= event->bytes - from_headroom;
		if (pausing && *headroom == 0 &&
		    (above_reserve(model, *used) == 0 ||
		     above_reserve(model, *used) + (int64_t)model->params->xon_offset_bytes <= threshold(model)))
			model_pause(model, event, false);
		return;
	}
	if (*used + event->bytes > (int64_t)model->params->reserve_bytes &&
	    above_reserve(model, *used + event->bytes) > threshold(model))
		*headroom += event->bytes;
	else
		*used += event->bytes;
	if (!pausing &&
	    (*headroom > 0 || (above_reserve(model, *used) > 0 && above_reserve(model, *used) >= threshold(model))))
		model_pause(model, event, true);
}

static int
compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ps != y->time_ps)
		return x->time_ps < y->time_ps ? -1 : 1;
	if (x->departure != y->departure)
		return x->departure ? 1 : -1;
	if (x->in_port != y->in_port)
		return x->in_port < y->in_port ? -1 : 1;
	if (x->prio != y->prio)
		return x->prio < y->prio ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* All charges and releases, taken from what the generators saw on their cables. */
static size_t
gather(const struct frig *rig, struct event *events, uint64_t end_ps)
{
	size_t n = 0;

	for (uint32_t h = 0; h < rig->topo->nhosts; h++) {
		const struct frig_host *host = rig->hosts[rig->topo->hosts[h]];
		bool sender = h < SENDERS;

		for (size_t i = 0; i < (sender ? host->nsent : host->ngot); i++) {
			const struct pkt *p = sender ? &host->sent[i] : &host->got[i];
			uint64_t ser_ps = units_serialize_ps(p->wire_bytes, host->node.rx[0]->rate_bps, 0);

			assert_true(n < MAX_EVENTS);
			events[n++] = (struct event){
				.time_ps = sender ? p->time_ps : p->time_ps - PS_PER_US - ser_ps,
				.departure = !sender,
				.in_port = (uint8_t)(sender ? h : rig->flows[p->flow].src_node - rig->topo->hosts[0]),
				.prio = p->prio,
				.bytes = p->wire_bytes,
			};
			assert_true(events[n - 1].time_ps < end_ps);
		}
	}
	qsort(events, n, sizeof(*events), compare_events);
	return n;
}

static void
random_thresholds(struct frig *rig, struct prng *prng, uint32_t classes)
{
	rig->setup.all.pfc.model = prng_below(prng, 2) == 0 ? PFC_STATIC : PFC_DYNAMIC;
	rig->setup.all.pfc.reserve_bytes = prng_below(prng, 5000);
	rig->setup.all.pfc.xoff_bytes = 1001 + prng_below(prng, 60000);
	rig->setup.all.pfc.xon_offset_bytes = prng_below(prng, 4000);
	rig->setup.all.pfc.headroom_bytes = 40000;
	rig->setup.all.pfc.alpha = (double)(1 + prng_below(prng, 16)) / 16;
	rig->setup.all.params.buffer_bytes =
		(uint64_t)6 * classes * (rig->setup.all.pfc.headroom_bytes + rig->setup.all.pfc.reserve_bytes) + 20000 +
		prng_below(prng, 200000);
}

/* Bursts and gaps; between them the receivers catch up, so that thresholds are crossed in both directions many times. */
static void
random_traffic(struct frig *rig, struct prng *prng)
{
	for (uint32_t burst = 0; burst < 200; burst++) {
		struct pkt p = { .type = PKT_DATA, .ttl = PKT_TTL_INIT };
		uint64_t at_ps = burst / 4 * 4 * PS_PER_US + prng_below(prng, 4 * PS_PER_US);
		uint32_t frames = 1 + (uint32_t)prng_below(prng, 40);

		p.flow = (uint32_t)prng_below(prng, rig->table.count);
		p.prio = rig->flows[p.flow].prio;
		for (uint32_t i = 0; i < frames; i++) {
			p.wire_bytes = (uint16_t)(64 + prng_below(prng, 937));
			frig_send_pkt(rig, at_ps, &p);
		}
	}
}

struct votes {
	uint64_t pauses, windows, fast, held_bytes;
};

static const struct pfc_ingress *
ingress_of(const struct sw *sw, uint32_t port, uint32_t c)
{
	return &sw->account.ingress[account_index(&sw->account, (uint16_t)port, (uint8_t)(3 + c))];
}

static void
compare(const struct frig *rig, const struct model *model, uint64_t seed)
{
	const struct sw *sw = frig_switch(rig, "S");
	uint64_t held_bytes = 0;
	bool pausing = false;

	for (uint32_t port = 0; port < SENDERS; port++) {
		const struct frig_host *host = rig->hosts[rig->topo->hosts[port]];

		if (host->npauses != model->nframes[port])
			fail_msg("seed %llu, port %u: %zu PAUSE frames, the model sends %zu", (unsigned long long)seed,
				 port, host->npauses, model->nframes[port]);
		for (size_t i = 0; i < host->npauses; i++) {
			const struct pause_frame *is = &host->pauses[i], *should = &model->frames[port][i];

			if (is->time_ps != should->time_ps || is->xoff != should->xoff ||
			    is->prio_mask != should->prio_mask)
				fail_msg("seed %llu, port %u, PAUSE frame %zu: class mask %u %s at %llu ps, the model's: "
					 "mask "
					 "%u %s at %llu ps",
					 (unsigned long long)seed, port, i, is->prio_mask, is->xoff ? "XOFF" : "XON",
					 (unsigned long long)is->time_ps, should->prio_mask, should->xoff ? "XOFF" : "XON",
					 (unsigned long long)should->time_ps);
		}
		for (uint32_t c = 0; c < CLASSES; c++) {
			const struct pfc_ingress *in = ingress_of(sw, port, c);

			assert_int_equal(in->bytes, model->used[port][c]);
			assert_int_equal(in->headroom_bytes, model->headroom[port][c]);
			held_bytes += in->bytes + in->headroom_bytes;
			pausing |= in->pausing || in->headroom_bytes != 0;
		}
	}
	assert_int_equal(sw->account.held_bytes, held_bytes);
	assert_int_equal(sw->account.pausing, pausing);
}

static void
add_up(const struct frig *rig, const struct model *model, struct votes *votes)
{
	const struct sw *sw = frig_switch(rig, "S");

	for (uint32_t port = 0; port < SENDERS; port++)
		votes->pauses += model->nframes[port];
	for (uint32_t i = 0; i < SENDERS * CLASSES; i++)
		votes->held_bytes += ingress_of(sw, i / CLASSES, i % CLASSES)->bytes +
				     ingress_of(sw, i / CLASSES, i % CLASSES)->headroom_bytes;
	votes->windows += sw->node.count.windows;
	votes->fast += sw->node.count.fast_windows;
}

static void
run_seed(uint64_t seed, uint32_t classes, struct votes *votes)
{
	char config[sizeof(network) + 16];
	static const char *const senders[] = { "s0", "s1", "s2", "s3" }, *const receivers[] = { "r0", "r1" };
	struct event *events = malloc(MAX_EVENTS * sizeof(*events));
	struct model *model = calloc(1, sizeof(*model));
	struct prng prng;
	struct frig rig;
	size_t count;

	assert_non_null(events);
	assert_non_null(model);
	prng_init(&prng, seed, 0);
	snprintf(config, sizeof(config), network, classes == 1 ? "\"3\"" : "\"3\", \"4\"");
	frig_init(&rig, config);
	random_thresholds(&rig, &prng, classes);
	for (uint32_t i = 0; i < 16; i++)
		frig_flow(&rig, senders[i / 4], receivers[i % 4 / 2], (uint8_t)(3 + i % classes));
	if (frig_start(&rig) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)seed, rig.err.text);
	random_traffic(&rig, &prng);
	/* every other run ends with full buffers, because the receivers stand still */
	for (uint32_t i = 0; i < 2 && seed % 2 == 1; i++)
		frig_pause(&rig, receivers[i], 150 * PS_PER_US, 3 << 3, true);
	frig_run(&rig, 2 * PS_PER_MS);
	model->params = frig_switch(&rig, "S")->account.params;
	for (uint32_t port = 0; port < SENDERS; port++)
		model->pause_ps[port] = frig_switch(&rig, "S")->ports[port].egress.tx->pause_ps;
	count = gather(&rig, events, 2 * PS_PER_MS);
	for (size_t i = 0; i < count; i++)
		model_step(model, &events[i]);
	compare(&rig, model, seed);
	assert_int_equal(frig_switch(&rig, "S")->node.status, NODE_PASSIVE);
	assert_true(frig_conserves(&rig));
	add_up(&rig, model, votes);
	frig_stop(&rig);
	free(events);
	free(model);
}

/* The switch has code of its own for one class. */
static void
sums_and_replay_agree(uint32_t classes)
{
	struct votes votes = { 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed, classes, &votes);
	/* in both directions were taken often, and thresholds crossed */
	assert_true(votes.pauses > 20 * SEEDS);
	assert_true(votes.held_bytes > 10000 * SEEDS);
	assert_true(votes.fast > votes.windows / 10);
	assert_true(votes.fast < votes.windows * 9 / 10);
}

static void
sums_and_replay_agree_with_a_model(void **state)
{
	(void)state;
	sums_and_replay_agree(CLASSES);
}

static void
so_they_do_with_one_class(void **state)
{
	(void)state;
	sums_and_replay_agree(1);
}

UNIT_TEST(account)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_replay_agree_with_a_model),
		cmocka_unit_test(so_they_do_with_one_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
