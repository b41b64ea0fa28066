/* SPDX-License-Identifier: BSD-3-Clause */
/* How partitions begin and end together: what is said last arrives, and nobody waits for ever. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/units.h"
#include "dpswitch/faults/fault.h"
#include "emulation/emulation.h"
#include "emulation/preflight.h"
#include "tests/integration/partition_rig.h"
#include "tests/unit/unit.h"

#define MS_NS 1000000ULL

static const struct partition_bye complete = { .reason = REC_END_COMPLETE, .node = REC_NONE };

/* A peer that has sent all and is gone is not lost, though nothing can be sent to it any more. */
static void
test_gone_after_bye(void **state)
{
	struct rig rig = rig_open(0, false, "");
	struct partition_peer *peer = &rig.partitions->peers[1];

	(void)state;
	assert_true(rig_send(rig.theirs[1], PARTITION_BYE, &complete, sizeof(complete)));
	rig_send_done(&rig, rig.theirs[1]);
	close(rig.theirs[1]);
	rig.theirs[1] = -1;
	partition_stop(rig.partitions);
	assert_int_equal(peer->channel.error, EPIPE);
	partition_take_in(rig.partitions);
	assert_true(peer->bye && peer->done);
	assert_false(peer->lost);
	assert_false(rig.partitions->over);
	rig_close(&rig);
}

/* One that is gone without a word is lost. */
static void
test_gone(void **state)
{
	struct rig rig = rig_open(0, false, "");

	(void)state;
	close(rig.theirs[1]);
	rig.theirs[1] = -1;
	partition_take_in(rig.partitions);
	assert_true(rig.partitions->peers[1].lost);
	assert_int_equal(rig.partitions->reason, REC_END_PART_LOST);
	rig_close(&rig);
}

/* A peer that reads nothing is lost once 64 MB wait for it, and the reason is reported. */
static void
test_takes_nothing(void **state)
{
	static const uint8_t body[PARTITION_MAX_BODY];
	struct rig rig = rig_open(1, false, "");

	(void)state;
	for (size_t put = 0; put <= CHANNEL_OUT_BYTES + sizeof(body); put += sizeof(body))
		channel_put(&rig.partitions->peers[0].channel, PARTITION_REPORT, body, sizeof(body), NULL, 0);
	partition_take_in(rig.partitions);
	assert_true(rig.partitions->peers[0].lost);
	assert_non_null(strstr(rig.partitions->why, "leaves more than 64 MB unread"));
	rig_close(&rig);
}

/* Somebody has much to take before what is said last. */
static void
fill(struct rig *rig, uint32_t peer, int messages)
{
	const struct partition_promise promise = { 0 };

	for (int i = 0; i < messages; i++)
		channel_put(&rig->partitions->peers[peer].channel, PARTITION_PROMISE, &promise, sizeof(promise), NULL, 0);
}

/* What waits for a partition that is not the first leaves, too, before this one goes. */
static void
test_bye_to_others(void **state)
{
	struct rig rig = rig_open(1, false, "");
	struct rig_peer first = { .fd = rig.theirs[0], .until = PARTITION_DONE };
	struct rig_peer other = { .fd = rig.theirs[2], .until = PARTITION_BYE, .wait_ms = 150 };

	(void)state;
	fill(&rig, 2, 10000); /* more than a socket takes */
	assert_true(rig_send(rig.theirs[0], PARTITION_BYE, &complete, sizeof(complete)));
	partition_stop(rig.partitions);
	assert_true(channel_waits(&rig.partitions->peers[2].channel));
	rig_peer_start(&first);
	rig_peer_start(&other);
	partition_finish(rig.partitions);
	rig_close(&rig);
	rig_peer_join(&first);
	rig_peer_join(&other);
	assert_int_equal(other.types[PARTITION_BYE], 1);
	assert_int_equal(first.types[PARTITION_DONE], 1);
}

/* Over TCP, where a socket that is closed with bytes unread takes back what has not arrived. */
static void
test_reported_over_tcp(void **state)
{
	struct rig rig = rig_open(1, true, "");
	struct rig_peer first = { .fd = rig.theirs[0], .until = PARTITION_DONE, .wait_ms = 150, .talks = true };
	struct rig_peer other = { .fd = rig.theirs[2], .until = PARTITION_BYE, .wait_ms = 150, .talks = true };

	(void)state;
	fill(&rig, 0, 500); /* more than is received at once, and less than what can be sent */
	fill(&rig, 2, 500);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p += 2)
		assert_true(rig_send(rig.theirs[p], PARTITION_BYE, &complete, sizeof(complete)));
	partition_stop(rig.partitions);
	rig_peer_start(&first);
	rig_peer_start(&other);
	partition_finish(rig.partitions);
	assert_false(rig.partitions->over);
	emulation_destroy(rig.emulation);
	partition_destroy(rig.partitions);
	rig.emulation = NULL;
	rig.partitions = NULL;
	rig_peer_join(&first);
	rig_peer_join(&other);
	assert_int_equal(first.types[PARTITION_COUNTERS], 2);
	assert_int_equal(first.types[PARTITION_DONE], 1);
	assert_int_equal(other.types[PARTITION_BYE], 1);
	assert_false(first.reset || other.reset);
	rig_close(&rig);
}

/* The first releases each that has sent all. */
static void
test_first_lets_go(void **state)
{
	struct rig rig = rig_open(0, true, "");
	struct rig_peer peers[RIG_PARTITIONS] = { 0 };

	(void)state;
	partition_stop(rig.partitions);
	for (uint32_t p = 1; p < RIG_PARTITIONS; p++) {
		peers[p].fd = rig.theirs[p];
		assert_true(rig_send(rig.theirs[p], PARTITION_BYE, &complete, sizeof(complete)));
		rig_send_done(&rig, rig.theirs[p]);
		rig_peer_start(&peers[p]);
	}
	partition_finish(rig.partitions);
	for (uint32_t p = 1; p < RIG_PARTITIONS; p++) {
		rig_peer_join(&peers[p]); /* it ends, and partitions are there still */
		assert_false(peers[p].reset);
		assert_int_equal(peers[p].types[PARTITION_BYE], 1);
		assert_false(rig.partitions->peers[p].lost);
	}
	rig_close(&rig);
}

#define LIMIT "limits = { connect = \"200ms\"; };"

static uint64_t
begin(struct rig *rig, int *ret)
{
	uint64_t zero_ns, before_ns = clock_now_ns();
	struct err err = { "" };

	*ret = partition_start(rig->partitions, &zero_ns, &err);
	return clock_now_ns() - before_ns;
}

/* Whoever says nothing is waited for as long as said; the first, whom the others hear, gives up first. */
static void
test_silent(void **state)
{
	(void)state;
	for (uint32_t which = 0; which < 2; which++) {
		struct rig rig = rig_open(which, false, LIMIT);
		int ret;
		uint64_t took_ns = begin(&rig, &ret);

		assert_int_equal(ret, -ETIMEDOUT);
		assert_in_range(took_ns, (which + 1) * 200 * MS_NS, ((which + 1) * 200 + 3000) * MS_NS);
		rig_close(&rig);
	}
}

#define AHEAD_NS 3600000000000ULL

/* The first partition, whose clock is an hour ahead, and who is late. */
static void *
start_late(void *ctx)
{
	const int fd = *(int *)ctx;
	struct partition_zero zero;
	struct partition_hdr hdr;
	struct partition_clock clock;

	while (recv(fd, &hdr, sizeof(hdr), MSG_WAITALL) == sizeof(hdr) && hdr.type == PARTITION_CLOCK &&
	       recv(fd, &clock, sizeof(clock), MSG_WAITALL) == sizeof(clock)) {
		clock.received_ns = clock_now_ns() + AHEAD_NS;
		rig_send(fd, PARTITION_CLOCK, &clock, sizeof(clock));
	}
	clock_sleep_until_ns(clock_now_ns() + 300 * MS_NS); /* one and a half of the limit */
	zero.zero_ns = clock_now_ns() + AHEAD_NS;
	rig_send(fd, PARTITION_START, &zero, sizeof(zero));
	return NULL;
}

static void
test_late_start(void **state)
{
	struct rig rig = rig_open(1, false, LIMIT);
	uint64_t zero_ns, before_ns = clock_now_ns();
	struct err err = { "" };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, start_late, &rig.theirs[0]), 0);
	assert_int_equal(partition_start(rig.partitions, &zero_ns, &err), 0);
	pthread_join(thread, NULL);
	assert_in_range(zero_ns + rig.partitions->clock_error_ns, before_ns + 300 * MS_NS,
			clock_now_ns() + 2 * rig.partitions->clock_error_ns);
	rig_close(&rig);
}

struct drip {
	int fd;
	atomic_bool over;
};

static void *
trickle(void *ctx)
{
	const struct partition_hdr hdr = { .magic = PARTITION_MAGIC,
					   .type = PARTITION_RECORDS,
					   .size = PARTITION_MAX_BODY };
	struct drip *drip = ctx;

	for (size_t i = 0; !atomic_load(&drip->over); i++) {
		if (send(drip->fd, i < sizeof(hdr) ? (const char *)&hdr + i : "", 1, MSG_NOSIGNAL) != 1)
			break;
		clock_sleep_until_ns(clock_now_ns() + 5 * MS_NS);
	}
	return NULL;
}

/* One that says a little, always, is not waited for any longer. */
static void
test_trickle(void **state)
{
	struct rig rig = rig_open(0, false, LIMIT);
	struct drip drip = { .fd = rig.theirs[1] };
	pthread_t thread;
	uint64_t took_ns;
	int ret;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, trickle, &drip), 0);
	took_ns = begin(&rig, &ret);
	assert_int_equal(ret, -ETIMEDOUT);
	assert_in_range(took_ns, 200 * MS_NS, 3200 * MS_NS);
	atomic_store(&drip.over, true);
	pthread_join(thread, NULL);
	rig_close(&rig);
}

/* Another is through with the first phase while the first partition still is in it: what it says of the second waits. */
static void
test_early_for_next_phase(void **state)
{
	struct rig rig = rig_open(0, false, LIMIT);
	const struct partition_clock clock = { .sent_ns = 1 };
	uint64_t zero_ns;
	struct err err = { "" };

	(void)state;
	rig.emulation->phase = EMULATION_PREPARE;
	for (uint32_t p = 1; p < RIG_PARTITIONS; p++) {
		assert_true(rig_send(rig.theirs[p], PARTITION_BYE, &complete, sizeof(complete)));
		assert_true(rig_send(rig.theirs[p], PARTITION_CLOCK, &clock, sizeof(clock)));
		assert_true(rig_send(rig.theirs[p], PARTITION_READY, NULL, 0));
	}
	partition_take_in(rig.partitions);
	if (rig.partitions->over)
		fail_msg("%s", rig.partitions->why);
	partition_stop(rig.partitions);
	assert_int_equal(partition_start(rig.partitions, &zero_ns, &err), 0);
	for (uint32_t p = 1; p < RIG_PARTITIONS; p++)
		assert_false(rig.partitions->peers[p].lost);
	rig_close(&rig);
}

/* One that has ended its run may have been a window ahead of one that still waits for a third: that is not why it ended. */
static void
test_ended_a_window_ahead(void **state)
{
	struct rig rig = rig_open(0, false, LIMIT);
	struct partitions *partitions = rig.partitions;
	struct partition_window mark = { .index = rig.emulation->fabric->window.index + 1, .next_ps = 1 };
	const struct channel_message message = { PARTITION_WINDOW, sizeof(mark), (const uint8_t *)&mark };
	struct err err = { "" };

	(void)state;
	partitions->emulation = rig.emulation;
	assert_int_equal(partition_recv_window(partitions, 1, &message, &err), -EPROTO);
	partitions->peers[1].channel.ended = true;
	assert_int_equal(partition_recv_window(partitions, 1, &message, &err), 0);
	mark.index++;
	assert_int_equal(partition_recv_window(partitions, 1, &message, &err), -EPROTO);
	assert_non_null(strstr(err.text, "WINDOW: index = "));
	rig_close(&rig);
}

static uint64_t
cpu_ns(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 * MS_NS +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

/* Who waits for one does not poll busily because another has said something. */
static void
test_waits_asleep(void **state)
{
	struct rig rig = rig_open(0, false, LIMIT);
	const struct partition_clock clock = { .sent_ns = 1 };
	uint64_t before_ns = cpu_ns();
	int ret;

	(void)state;
	assert_true(rig_send(rig.theirs[2], PARTITION_CLOCK, &clock, sizeof(clock)));
	begin(&rig, &ret);
	assert_int_equal(ret, -ETIMEDOUT);
	assert_in_range(cpu_ns() - before_ns, 0, 60 * MS_NS);
	rig_close(&rig);
}

/* One that says for ever that it lives, and never what became of its nodes, is not waited for. */
static void
test_never_done(void **state)
{
	struct rig rig = rig_open(0, false, "");
	struct rig_peer chatters = { .fd = rig.theirs[1], .talks = true };
	uint64_t before_ns = clock_now_ns();

	(void)state;
	close(rig.theirs[2]);
	rig.theirs[2] = -1;
	assert_true(rig_send(rig.theirs[1], PARTITION_BYE, &complete, sizeof(complete)));
	rig_peer_start(&chatters);
	interrupt_catch(NULL);
	raise(SIGTERM); /* it takes 2 s then, instead of 20 */
	partition_stop(rig.partitions);
	partition_finish(rig.partitions);
	assert_true(rig.partitions->peers[1].lost);
	assert_in_range(clock_now_ns() - before_ns, 0, 15000 * MS_NS);
	rig_close(&rig);
	rig_peer_join(&chatters);
}

/* A node of another partition is not built here, and faults act on it there; checks before the run see its switch. */
static void
test_nodes_of_others(void **state)
{
	struct rig rig = rig_open(0, false, "ports = ( { names = [ \"c:1\" ]; mtu = 1000; } ); ");
	struct fabric *fabric = rig.emulation->fabric;
	const struct topo *topo = rig.scenario->topo;
	const struct fault_env env = { .fabric = fabric, .topo = topo };
	struct preflight_finding findings[PREFLIGHT_FINDINGS], again[PREFLIGHT_FINDINGS];
	struct emulation *undivided;
	uint32_t others = 0, found = 0;
	struct err err = { "" };
	int count;

	(void)state;
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		struct node *node = fabric->nodes[i];
		bool here = rig.partitions->partition_of[i] == 0, is_switch = topo->nodes[i].kind == TOPO_SWITCH;
		uint64_t changes = node->count.route_changes;

		assert_true((rig.emulation->switches[i] != NULL) == (here && is_switch));
		others += !here;
		if (is_switch) {
			assert_ptr_equal(fault_switch(&env, i), rig.emulation->switches[i]);
			assert_ptr_equal(fault_switch_reroutes(&env, i), rig.emulation->switches[i]);
			assert_int_equal(node->count.route_changes, changes + !here);
		}
		node->ops->storm(node, 0, 3, true, 0, PS_PER_US);
		assert_int_equal(node->ops->pausing(node, 0), 8);
		node->ops->storm(node, 0, 3, false, 0, PS_PER_US);
		assert_int_equal(node->ops->pausing(node, 0), 0);
		assert_int_equal(node->ops->dropped(node, 0, REC_DROP_LINK_DOWN), 0);
	}
	assert_int_equal(others, 4);
	undivided =
		emulation_create(rig.scenario, &(struct emulation_options){ .lcores = 1, .phase = EMULATION_RUN }, &err);
	assert_non_null(undivided);
	count = preflight(undivided, findings);
	assert_int_equal(preflight(rig.emulation, again), count);
	for (int i = 0; i < count; i++) {
		assert_string_equal(again[i].text, findings[i].text);
		found += strcmp(again[i].check, "mtu-short") == 0 && strstr(again[i].text, "the MTU of c:1 lets") != NULL;
	}
	assert_int_equal(found, 1);
	assert_int_equal(rig.emulation->largest_buffer_bytes, undivided->largest_buffer_bytes);
	emulation_destroy(undivided);
	rig_close(&rig);
}

/* The port of a node that leads to another. */
static uint32_t
port_between(const struct topo *topo, const char *node, const char *peer)
{
	for (uint32_t i = 0; i < topo->nports; i++)
		if (topo->ports[i].node == topo_find(topo, node) && topo->ports[i].peer == topo_find(topo, peer))
			return i;
	fail_msg("no cable from %s to %s", node, peer);
	return 0;
}

struct lane {
	struct partition_lane head;
	struct partition_packet packets[3];
};

static void
refuse_lane(struct rig *rig, const struct lane *lane, uint32_t size, const char *why)
{
	struct channel_message message = { PARTITION_LANE, size, (const uint8_t *)lane };
	struct err err = { "" };

	assert_int_equal(boundary_on_lane(&rig->partitions->boundary, 1, 0, &message, &err), -EPROTO);
	if (strstr(err.text, why) == NULL)
		fail_msg("\"%s\" in place of \"%s\"", err.text, why);
}

/* Packets of a cable that come together are in its order, and of planned flows; others are refused. */
static void
test_lanes(void **state)
{
	struct rig rig = rig_open(0, false, "");
	const struct topo *topo = rig.scenario->topo;
	const struct partition_packet packet = {
		.time_ps = PS_PER_MS, .wire_bytes = 1090, .payload_bytes = 1024, .prio = 3, .ttl = 64
	};
	const struct lane good = { { .port = port_between(topo, "b", "a") }, { packet, packet, packet } };
	struct channel_message message = { PARTITION_LANE, sizeof(good), (const uint8_t *)&good };
	struct err err = { "" };
	struct lane lane = good;

	(void)state;
	assert_int_equal(boundary_on_lane(&rig.partitions->boundary, 1, 0, &message, &err), 0);
	assert_int_equal(boundary_next_ps(&rig.partitions->boundary), PS_PER_MS);
	refuse_lane(&rig, &good, sizeof(good) - 1, "LANE of 103 B");
	lane.head.port = port_between(topo, "c", "b");
	refuse_lane(&rig, &lane, sizeof(lane), "not at a cable between its partition and this one");
	lane = good;
	lane.packets[2].time_ps--;
	refuse_lane(&rig, &lane, sizeof(lane), "LANE: time_ps = 999999999; right would be 1000000000 at least");
	lane = good;
	lane.packets[1].flow = rig.scenario->plan->flows.count;
	refuse_lane(&rig, &lane, sizeof(lane), "LANE: flow cannot be");
	lane = good;
	lane.packets[1].ttl = 0;
	refuse_lane(&rig, &lane, sizeof(lane), "LANE: ttl cannot be");
	rig_close(&rig);
}

UNIT_TEST(partition_ends)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gone_after_bye),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_takes_nothing),
		cmocka_unit_test(test_bye_to_others),
		cmocka_unit_test(test_reported_over_tcp),
		cmocka_unit_test(test_first_lets_go),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_late_start),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_early_for_next_phase),
		cmocka_unit_test(test_ended_a_window_ahead),
		cmocka_unit_test(test_waits_asleep),
		cmocka_unit_test(test_nodes_of_others),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_never_done), /* the last: it has been interrupted */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
