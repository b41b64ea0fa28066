/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat under a network that loses, delays, reorders and doubles packets and ACKs, against what a plain list of
 * all packets says of them.
 */
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/prng.h"
#include "tests/unit/rxe-hosts/selective_rig.h"
#include "tests/unit/unit.h"

#define MAX_PACKETS 20000
#define MAX_FLYING 8192
#define MESSAGES 150
#define OPEN_MESSAGES 8
#define SLOW_BPS 2000000000ULL /* a line where ACKs arrive while a frame leaves */
#define FULL_WINDOW 64         /* packets; larger windows are summed once in CHECK_STEPS */
#define CHECK_STEPS 8

struct flying {
	uint64_t time_ps, order;
	struct pkt p;
};

/* What the network does to a frame. */
struct chances {
	double loss, twice;
	uint64_t jitter_ps; /* on top of half a base RTT each way */
};

/* What a plain list says of every packet, by its place among all. */
static struct {
	struct prng prng;
	struct chances chances;
	struct flying flying[MAX_FLYING]; /* a heap: what arrives first is the first */
	size_t nflying;
	uint64_t order, now_ps, steps;
	uint32_t first, una, expected, max; /* max: behind the newest that was sent */
	uint32_t posted, done, received;    /* messages */
	uint64_t bytes[MESSAGES];
	uint32_t open;     /* messages at most; one alone has a ledger */
	uint64_t begun_ps; /* then that message */
	bool arrived[MAX_PACKETS], known[MAX_PACKETS];
	uint16_t payload[MAX_PACKETS];
	uint64_t sent_ps[MAX_PACKETS];
} net;

static bool
is_earlier(const struct flying *a, const struct flying *b)
{
	return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->order < b->order);
}

static void
push(struct flying added)
{
	size_t at = net.nflying++;

	assert_true(at < MAX_FLYING);
	for (; at != 0 && is_earlier(&added, &net.flying[(at - 1) / 2]); at = (at - 1) / 2)
		net.flying[at] = net.flying[(at - 1) / 2];
	net.flying[at] = added;
}

static struct flying
take_first(void)
{
	struct flying first = net.flying[0], last = net.flying[--net.nflying];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < net.nflying) {
		child += child + 1 < net.nflying && is_earlier(&net.flying[child + 1], &net.flying[child]);
		if (!is_earlier(&net.flying[child], &last))
			break;
		net.flying[at] = net.flying[child];
		at = child;
	}
	net.flying[at] = last;
	return first;
}

static void
fly(const struct pkt *p)
{
	for (int copies = prng_unit(&net.prng) < net.chances.twice ? 2 : 1; copies > 0; copies--) {
		uint64_t jitter_ps = net.chances.jitter_ps != 0 ? prng_below(&net.prng, net.chances.jitter_ps) : 0;

		if (prng_unit(&net.prng) < net.chances.loss)
			continue;
		push((struct flying){ net.now_ps + BASE_RTT_PS / 2 + jitter_ps, net.order++, *p });
	}
}

static void
check_sender(void)
{
	uint32_t waiting = 0;
	uint64_t bytes = 0;

	while (net.una != net.max && net.known[net.una])
		net.una++;
	if (net.max - net.una > FULL_WINDOW && net.steps++ % CHECK_STEPS != 0)
		return;
	for (uint32_t i = net.una; i != net.max; i++) {
		waiting += !net.known[i];
		bytes += net.known[i] ? 0 : net.payload[i];
	}
	assert_int_equal(s.una, net.first + net.una);
	assert_int_equal(s.max, net.first + net.max);
	assert_int_equal(sel_send_waiting(&s), waiting);
	assert_int_equal(rc_send_outstanding_bytes(&s, &params), bytes);
	assert_true(s.max - s.una <= s.sent_mask + 1);
	assert_true(s.nxt_byte - s.una_byte <= bytes);
	assert_true((s.nxt != s.max) == (s.sel->nlost != 0));
}

/* What its NIC charges in front of a frame: no other queue pair sends. */
static void
account_wait(void)
{
	rc_send_account(&s, &s.ledger, net.now_ps, net.now_ps);
}

static void
check_ledger(void)
{
	uint64_t sum_ps = 0;

	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++)
		sum_ps += sent_times.ledger_ps[i];
	if (s.ledger.on)
		assert_int_equal(sum_ps, net.now_ps - net.begun_ps);
}

static void
send_one(void)
{
	uint32_t at = s.nxt - net.first;
	struct pkt p;

	rc_send_advance(&s, &params, net.now_ps);
	account_wait();
	rc_send_next(&s, &params, net.now_ps, &p);
	s.ledger.until_ps = net.now_ps + units_serialize_ps(p.wire_bytes, s.line_bps, params.quantum_ps);
	assert_int_equal(p.psn, (net.first + at) & PSN_MASK);
	assert_true(at < MAX_PACKETS);
	if (p.flags & PKT_RETRANSMIT) {
		assert_true(at < net.max);
		assert_false(net.known[at]);
		assert_int_equal(p.payload_bytes, net.payload[at]);
		assert_true(net.now_ps - net.sent_ps[at] >= 5 * US);
	} else {
		assert_int_equal(at, net.max);
		net.max++;
		net.payload[at] = p.payload_bytes;
	}
	net.sent_ps[at] = net.now_ps;
	fly(&p);
}

static void
data_arrives(const struct pkt *p)
{
	uint32_t at = net.expected + (uint32_t)psn_diff(p->psn, (net.first + net.expected) & PSN_MASK);
	uint32_t reply = sel_recv_data(&r, sel, &params, p, net.now_ps);
	struct pkt answer = { .type = PKT_ACK, .psn = p->psn };

	assert_int_equal((reply & RC_ACCEPTED) != 0, !net.arrived[at]);
	net.arrived[at] = true;
	while (net.arrived[net.expected])
		net.expected++;
	assert_int_equal(r.expected, (net.first + net.expected) & PSN_MASK);
	for (; sel_recv_pop(&r, sel, &params); net.received++) {
		assert_int_equal(r.imm, net.received);
		assert_int_equal(r.done_bytes, net.bytes[net.received]);
	}
	if (!(reply & RC_ACK))
		return;
	answer.arg = r.expected;
	answer.syndrome = sel_recv_syndrome(&r, sel, p->psn);
	for (uint32_t i = 0; i < AETH_ACK_BEFORE; i++)
		assert_int_equal(answer.syndrome >> i & 1,
				 at + i < AETH_ACK_BEFORE || net.arrived[at + i - AETH_ACK_BEFORE]);
	rc_recv_replied(&r);
	fly(&answer);
}

static void
ack_arrives(const struct pkt *p)
{
	uint32_t at = net.una + (uint32_t)psn_diff(p->psn, s.una), fresh = 0;
	uint32_t end = net.una + (uint32_t)psn_diff(p->arg, s.una);
	struct rc_post post;
	uint64_t rtt_ps;

	if ((int32_t)at >= 0 && !net.known[at]) {
		net.known[at] = true;
		fresh++;
	}
	for (uint32_t i = net.una; (int32_t)(end - i) > 0; i++) {
		fresh += !net.known[i];
		net.known[i] = true;
	}
	for (uint32_t i = 0; i < AETH_ACK_BEFORE && (int32_t)(at - end) >= 0; i++) {
		uint32_t reported = at + i - AETH_ACK_BEFORE;

		if (!(p->syndrome >> i & 1) || (int32_t)(reported - net.una) < 0 || net.known[reported])
			continue;
		net.known[reported] = true;
		fresh++;
	}
	assert_int_equal(sel_send_ack(&s, &params, p, net.now_ps, &rtt_ps), fresh);
	for (; pop(&post); net.done++) {
		assert_int_equal(post.wr_id, net.done);
		check_ledger();
		assert_int_equal(post.bytes, net.bytes[net.done]);
	}
}

/* The next thing that happens. @return false: nothing will */
static bool
step(void)
{
	uint64_t send_ps = rc_send_ready(&s) ? max_u64(s.next_ps, net.now_ps) : TIME_NEVER;
	uint64_t due_ps = rc_send_deadline(&s, &params);
	struct flying next;

	if (net.nflying != 0 && net.flying[0].time_ps <= send_ps && net.flying[0].time_ps <= due_ps) {
		next = take_first();
		net.now_ps = next.time_ps;
		if (next.p.type == PKT_ACK)
			ack_arrives(&next.p);
		else
			data_arrives(&next.p);
	} else if (due_ps <= send_ps && due_ps != TIME_NEVER) {
		net.now_ps = due_ps;
		assert_true(rc_send_timeout(&s, &params, due_ps));
	} else if (send_ps != TIME_NEVER) {
		net.now_ps = send_ps;
		send_one();
	} else {
		return false;
	}
	return true;
}

static void
post_all(uint64_t most_bytes)
{
	while (net.posted < MESSAGES && net.posted - net.done < net.open) {
		net.bytes[net.posted] = 1 + prng_below(&net.prng, most_bytes);
		post_numbered(net.bytes[net.posted], net.posted);
		net.posted++;
		if (!s.ledger.on)
			continue;
		ledger_begin(&s.ledger, BASE_RTT_PS / 2, BASE_RTT_PS / 2, 0, net.now_ps);
		net.begun_ps = net.now_ps;
	}
}

static void
run(uint64_t seed, const struct chances *chances, const char *window, int timer, uint32_t open)
{
	memset(&net, 0, sizeof(net));
	net.open = open;
	prng_init(&net.prng, seed, 1);
	net.chances = *chances;
	net.first = (uint32_t)(seed % 3 == 0 ? 0xffffff - prng_below(&net.prng, 3000) : prng_below(&net.prng, 1 << 24));
	begin(window, timer, net.first);
	if (open == 1) {
		s.ledger.on = true;
		s.line_bps = SLOW_BPS;
		rc_send_reset(&s, &params);
	}
	params.ack_every = 1 + (uint32_t)(seed % 4);
	params.retry_count = 255; /* chance alone may lose a packet often */
	do {
		post_all(seed % 2 ? 200000 : 3000);
		check_sender();
	} while (step());
	assert_int_equal(net.done, MESSAGES);
	assert_int_equal(net.received, MESSAGES);
	assert_int_equal(net.expected, net.max);
	assert_int_equal(sel->ahead + r.stale + s.sel->nacked + s.sel->nlost + s.sel->lost_bytes, 0);
	assert_int_equal(s.nxt_byte, s.una_byte);
	assert_true(r.duplicates <= s.retransmits || chances->twice > 0);
}

/*
 * However packets and ACKs are lost, doubled and reordered, every one is accepted once, every message is complete, and the
 * ledger of one that is open alone has all of its time.
 */
static void
whatever_the_network_does(void **state)
{
	static const struct chances all[] = {
		{ 0, 0, 3 * US },       { 0.02, 0, 0 },      { 0.02, 0, 4 * US },  { 0.3, 0, 2 * US },
		{ 0.05, 0.1, 30 * US }, { 0, 0.5, 60 * US }, { 0.6, 0.2, 9 * US },
	};
	static const char *const windows[] = { "100KB", "3000", "none" };

	const uint32_t rounds = unit_wide(2, 6, "seeds of each network's chances");

	for (uint64_t seed = 0; seed < rounds * ARRAY_LEN(all); seed++) {
		run(seed, &all[seed % ARRAY_LEN(all)], windows[seed / 2 % 3], seed / 7 % 2 ? SEL_FIXED : SEL_ADAPTIVE,
		    seed / 3 % 2 ? 1 : OPEN_MESSAGES);
		end(state);
	}
}

/* Packets that overtake each other by less than 5 us are not taken for lost. */
static void
order_alone_repeats_nothing(void **state)
{
	static const struct chances reordered = { 0, 0, 2 * US };
	static const int timers[] = { SEL_ADAPTIVE, SEL_FIXED };

	for (uint64_t seed = 0; seed < 8; seed++) {
		run(seed, &reordered, "100KB", timers[seed % 2], OPEN_MESSAGES);
		assert_int_equal(s.retransmits + s.timeouts + r.duplicates,
				 0); /* by packets that wait for one ACK either */
		assert_true(sel->early > 0);
		end(state);
	}
}

UNIT_TEST(selective_chance)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_network_does),
		cmocka_unit_test(order_alone_repeats_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
