/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that choose by what waits at each port, against a simulation that knows no windows: it goes through arrivals,
 * pauses and departures one by one. One switch between neighbours that the test plays: three hosts send by chance, four
 * cables of unlike rates lead on and are paused by chance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define HOSTS 3
#define MEMBERS 4
#define PACKETS 6000
#define PAUSES 100
#define CLASS 3

static const char network[] =
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S1\", \"S2\" ]; hosts = [ "
	"\"a\", \"b\", \"c\", \"d\" ]; links = ( \"a S1\", \"b S1\", \"c S1\", \"S1 S2\", \"S1 S2 50Gbps\", \"S1 S2 "
	"25Gbps\", \"S1 S2\", \"d S2\" ); };";
static const uint32_t byte_ps[MEMBERS] = { 80, 160, 320, 80 };

/* Something that happens to the switch from outside, in order. */
struct happening {
	uint64_t time_ps;
	uint16_t port;
	bool is_pause, xoff;
	struct pkt p;
};

/* A frame's last bit left by a member. */
struct departure {
	uint64_t done_ps;
	uint32_t psn;
};

struct log {
	struct departure out[PACKETS];
	uint32_t count;
};

struct scene {
	struct frig rig;
	struct sw *sw;
	struct happening list[PACKETS + MEMBERS * PAUSES];
	uint32_t count;
	uint64_t quantum_ps, memory_ps;
	uint64_t reported; /* digest of the PAUSE and RESUME that hosts were sent */
};

static int
earlier(const void *a, const void *b)
{
	const struct happening *x = a, *y = b;

	if (x->time_ps != y->time_ps)
		return x->time_ps < y->time_ps ? -1 : 1;
	return x->is_pause != y->is_pause ? (x->is_pause ? -1 : 1) : (int)x->port - (int)y->port;
}

/* Frames follow each other by chance, often without a gap, so that queues come and go; and cables are paused by chance. */
static void
invent(struct scene *scene, uint64_t seed)
{
	uint64_t free_ps[HOSTS + MEMBERS] = { 0 };
	struct prng prng;

	prng_init(&prng, seed, 0);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint16_t port = (uint16_t)prng_below(&prng, HOSTS);
		uint32_t bytes = 64 + (uint32_t)prng_below(&prng, 937), gap = prng_below(&prng, 3) == 0 ? 400 : 0;

		free_ps[port] += bytes * 80 + prng_below(&prng, 1 + gap * PS_PER_NS);
		scene->list[scene->count++] = (struct happening){
			.time_ps = free_ps[port] + PS_PER_US,
			.port = port,
			.p = { .flow = port,
			       .psn = i,
			       .wire_bytes = (uint16_t)bytes,
			       .type = PKT_DATA,
			       .ttl = 64,
			       .prio = prng_below(&prng, 5) == 0 ? 0 : CLASS },
		};
	}
	for (uint16_t port = HOSTS; port < HOSTS + MEMBERS; port++)
		for (uint32_t i = 0; i < PAUSES; i++) {
			free_ps[port] += 100 * PS_PER_NS + prng_below(&prng, (i % 2 == 0 ? 8 : 2) * PS_PER_US);
			scene->list[scene->count++] = (struct happening){
				.time_ps = free_ps[port] + PS_PER_US, .port = port, .is_pause = true, .xoff = i % 2 == 0
			};
		}
	qsort(scene->list, scene->count, sizeof(scene->list[0]), earlier);
}

static void
setup(struct scene *scene, const char *group, uint64_t seed)
{
	struct cfg *cfg;

	memset(scene, 0, sizeof(*scene));
	frig_init(&scene->rig, network);
	cfg = cfg_load_string(group, "test.cfg", &scene->rig.err);
	if (cfg == NULL || balance_bind(&scene->rig.config.balance, cfg, &scene->rig.err) < 0)
		fail_msg("%s", scene->rig.err.text);
	cfg_destroy(cfg);
	scene->rig.setup.all.params.buffer_bytes = 1000000000; /* hosts hear PAUSE and send on: headroom holds it */
	scene->rig.setup.all.pfc.model = PFC_STATIC;
	scene->rig.setup.all.pfc.reserve_bytes = 0;
	scene->rig.setup.all.pfc.xoff_bytes = 3000;
	scene->rig.setup.all.pfc.xon_offset_bytes = 1000;
	scene->rig.setup.all.pfc.headroom_bytes = 100000000;
	scene->rig.config.seed = seed;
	frig_flow(&scene->rig, "a", "d", CLASS);
	frig_flow(&scene->rig, "b", "d", CLASS);
	frig_flow(&scene->rig, "c", "d", CLASS);
	if (frig_start(&scene->rig) < 0)
		fail_msg("%s", scene->rig.err.text);
	scene->sw = frig_switch(&scene->rig, "S1");
	invent(scene, seed);
}

/* The switch itself, in windows; what it sends is taken off its cables. */
static void
run_switch(struct scene *scene, uint64_t window_ps, struct log *logs)
{
	struct node *node = &scene->sw->node;
	struct window window = { .end_ps = window_ps };
	uint32_t next = 0;

	for (; next < scene->count || window.index < 4000 * PS_PER_US / window_ps / 4;
	     window.start_ps = window.end_ps, window.end_ps += window_ps, window.index++, window.parity ^= 1) {
		node->ops->run(node, &window);
		for (uint32_t m = 0; m < MEMBERS; m++) {
			struct link *tx = node->tx[HOSTS + m];
			struct link_lane *lane = &tx->lane[window.parity];

			for (uint32_t i = 0; i < lane->npkts; i++)
				logs[m].out[logs[m].count++] =
					(struct departure){ lane->pkts[i].time_ps - tx->delay_ps, lane->pkts[i].psn };
			link_empty_lane(tx, window.parity);
		}
		for (uint32_t h = 0; h < HOSTS; h++) {
			const struct pause_frame *pauses = node->tx[h]->lane_pauses[window.parity];

			for (uint32_t i = 0; i < node->tx[h]->npauses[window.parity]; i++)
				scene->reported += prng_mix(pauses[i].time_ps * 2 + pauses[i].xoff) * (h + 1);
			link_empty_lane(node->tx[h], window.parity);
		}
		for (; next < scene->count && scene->list[next].time_ps - PS_PER_US < window.end_ps; next++) {
			const struct happening *h = &scene->list[next];

			if (h->is_pause)
				link_send_pause(node->rx[h->port], window.parity, 1 << CLASS, h->xoff,
						h->time_ps - PS_PER_US);
			else
				link_send(node->rx[h->port], window.parity, &h->p, h->time_ps - PS_PER_US);
		}
	}
}

/* A member as the simulation has it. */
struct member {
	uint64_t free_ps, ready_ps; /* on the wire until then; something may go since then */
	bool paused;
	struct pkt queue[2][PACKETS]; /* class 0, then the other */
	uint32_t head[2], tail[2];
	uint64_t sent_ps[2];
};

struct sim {
	struct scene *scene;
	struct member member[MEMBERS];
	uint64_t last_ps[2];
	uint32_t next[2]; /* round robin's; 0: unset */
};

static bool
is_ready(const struct member *m)
{
	return m->head[0] != m->tail[0] || (m->head[1] != m->tail[1] && !m->paused);
}

static int64_t
limited(int64_t value, int64_t most)
{
	return value > most ? most : value < -most ? -most : value;
}

/* By the formula, from what stands there now. */
static uint32_t
choose_adaptive(struct sim *sim, const struct pkt *p)
{
	int64_t memory = (int64_t)sim->scene->memory_ps, lead[MEMBERS];
	uint64_t quantum = sim->scene->quantum_ps != 0 ? sim->scene->quantum_ps : 1, load[MEMBERS], least = UINT64_MAX;
	uint32_t class = p->prio != 0, ties = 0, chosen;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		const struct member *m = &sim->member[i];
		uint64_t bytes = 0;

		for (uint32_t c = 0; c <= class; c++)
			for (uint32_t k = m->head[c]; k < m->tail[c]; k++)
				bytes += m->queue[c][k].wire_bytes;
		lead[i] = limited((int64_t)(m->sent_ps[class] - sim->last_ps[class]), memory);
		load[i] = bytes * byte_ps[i] + (m->free_ps > p->time_ps ? m->free_ps - p->time_ps : 0);
		load[i] = (load[i] + (uint64_t)(lead[i] + memory)) / quantum;
		least = load[i] < least ? load[i] : least;
	}
	for (uint32_t i = 0; i < MEMBERS; i++)
		ties += load[i] == least;
	ties = ties > 1 ? balance_draw(&sim->scene->sw->spray.balance, p, ties) : 0;
	for (chosen = 0; load[chosen] != least || ties-- != 0; chosen++)
		;
	sim->last_ps[class] += (uint64_t)lead[chosen];
	sim->member[chosen].sent_ps[class] = sim->last_ps[class] + (uint64_t)p->wire_bytes * byte_ps[chosen];
	return chosen;
}

static uint32_t
choose_in_turn(struct sim *sim, const struct pkt *p)
{
	uint32_t *next = &sim->next[p->prio != 0];
	uint32_t chosen = *next != 0 ? *next - 1 : balance_draw(&sim->scene->sw->spray.balance, p, MEMBERS);

	*next = (chosen + 1) % MEMBERS + 1;
	return chosen;
}

static void
depart(struct member *m, struct log *log)
{
	uint64_t start_ps = m->free_ps > m->ready_ps ? m->free_ps : m->ready_ps;
	uint32_t class = m->head[0] == m->tail[0];
	const struct pkt *p = &m->queue[class][m->head[class]++];

	m->free_ps = start_ps + (uint64_t)p->wire_bytes * byte_ps[p->out_port];
	log->out[log->count++] = (struct departure){ m->free_ps, p->psn };
}

static void
happen(struct sim *sim, const struct happening *h, uint32_t (*choose)(struct sim *sim, const struct pkt *p))
{
	struct pkt p = h->p;
	struct member *m;
	bool was;

	p.time_ps = h->time_ps;
	p.ttl--;
	p.out_port = h->is_pause ? (uint8_t)(h->port - HOSTS) : (uint8_t)choose(sim, &p);
	m = &sim->member[p.out_port];
	was = is_ready(m);
	if (h->is_pause)
		m->paused = h->xoff;
	else
		m->queue[p.prio != 0][m->tail[p.prio != 0]++] = p;
	if (!was && is_ready(m))
		m->ready_ps = h->time_ps;
}

/* Event by event: what happens at an instant comes before departures at that instant. */
static void
simulate(struct scene *scene, uint32_t (*choose)(struct sim *sim, const struct pkt *p), struct log *logs)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	uint32_t next = 0;

	assert_non_null(sim);
	sim->scene = scene;
	for (;;) {
		uint64_t event_ps = next < scene->count ? scene->list[next].time_ps : TIME_NEVER, first_ps = TIME_NEVER;
		uint32_t first = 0;

		for (uint32_t i = 0; i < MEMBERS; i++) {
			const struct member *m = &sim->member[i];
			uint64_t start_ps = m->free_ps > m->ready_ps ? m->free_ps : m->ready_ps;

			if (is_ready(m) && start_ps < first_ps) {
				first_ps = start_ps;
				first = i;
			}
		}
		if (first_ps == TIME_NEVER && event_ps == TIME_NEVER)
			break;
		if (first_ps < event_ps)
			depart(&sim->member[first], &logs[first]);
		else
			happen(sim, &scene->list[next++], choose);
	}
	free(sim);
}

/*
 * Departures of several egresses were put in order: every ingress was charged and released in turn, and holds nothing
 * now.
 */
static void
expect_accounts(const struct sw *sw)
{
	assert_true(sw->node.count.fast_windows < sw->node.count.windows);
	assert_int_equal(sw->node.status, NODE_PASSIVE);
	assert_int_equal(sw->node.count.pause_errors, 0);
	assert_int_equal(sw->node.count.row_errors, 0);
	for (uint16_t port = 0; port < HOSTS; port++) {
		assert_int_equal(account_state_of(&sw->account, port, CLASS).bytes, 0);
		assert_false(account_state_of(&sw->account, port, CLASS).pausing);
	}
}

/* @return what hosts received, as a digest */
static uint64_t
compare(const char *group, uint64_t quantum_bytes, uint64_t memory_bytes, uint64_t window_ps, uint64_t seed,
	uint32_t (*choose)(struct sim *sim, const struct pkt *p))
{
	struct scene *scene = malloc(sizeof(*scene));
	struct log *got = calloc(MEMBERS, sizeof(*got)), *wanted = calloc(MEMBERS, sizeof(*wanted));

	uint64_t reported;

	assert_true(scene != NULL && got != NULL && wanted != NULL);
	setup(scene, group, seed);
	scene->quantum_ps = quantum_bytes * byte_ps[0];
	scene->memory_ps = memory_bytes * byte_ps[0];
	run_switch(scene, window_ps, got);
	simulate(scene, choose, wanted);
	for (uint32_t m = 0; m < MEMBERS; m++) {
		assert_true(got[m].count > PACKETS / 20);
		assert_int_equal(got[m].count, wanted[m].count);
		assert_memory_equal(got[m].out, wanted[m].out, got[m].count * sizeof(got[m].out[0]));
	}
	expect_accounts(scene->sw);
	frig_stop(&scene->rig);
	reported = scene->reported;
	free(scene);
	free(got);
	free(wanted);
	return reported;
}

static void
a_choice_sees_the_queues_at_its_instant(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		compare("load_balancing = { kind = \"adaptive\"; };", 256, 65536, PS_PER_US, seed, choose_adaptive);
		compare("load_balancing = { kind = \"adaptive\"; adaptive = { quantum = \"0\"; memory = \"0\"; }; };", 0, 0,
			PS_PER_US, seed, choose_adaptive);
		compare("load_balancing = { kind = \"adaptive\"; adaptive = { quantum = \"4KB\"; memory = \"2KB\"; }; };",
			4000, 2000, PS_PER_US, seed, choose_adaptive);
	}
}

/* Nor do they change when a host is instructed to stop: departures of all members are accounted for in their order. */
static void
windows_change_nothing(void **state)
{
	static const char group[] = "load_balancing = { kind = \"adaptive\"; };";
	uint64_t reported = compare(group, 256, 65536, PS_PER_US, 5, choose_adaptive);

	assert_true(reported != 0);
	assert_true(compare(group, 256, 65536, 250 * PS_PER_NS, 5, choose_adaptive) == reported);
	assert_true(compare(group, 256, 65536, 1009, 5, choose_adaptive) == reported);
}

static void
packets_take_turns_in_order_of_arrival(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		compare("load_balancing = { kind = \"round-robin\"; };", 0, 0, PS_PER_US, seed, choose_in_turn);
}

UNIT_TEST(group)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_choice_sees_the_queues_at_its_instant),
		cmocka_unit_test(windows_change_nothing),
		cmocka_unit_test(packets_take_turns_in_order_of_arrival),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
