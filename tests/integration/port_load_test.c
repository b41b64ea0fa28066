/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two lcores, four hosts on devices, and more traffic than the cable between the switches carries, in both directions:
 * the order of each flow, PAUSE to the peers and by its time, headroom, and drops by name. One body over two kinds of
 * devices: rings, and veth pairs.
 */
#include <endian.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/state.h"
#include "tests/integration/kernel_host_rig.h"
#include "tests/unit/unit.h"

enum { A, B, C, D, HOSTS };
#define FLOWS 3      /* a to c, b to c, d to a */
#define FRAMES 1500  /* of each */
#define LOSSY_EACH 2 /* b sends so many others besides one of its flow */
#define AHEAD 96     /* frames that a peer has sent, and that have not entered the fabric */
#define SLOTS 1024
#define LIMIT_PS (20 * PS_PER_S)

static const char net[] =
	"topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"20us\"; switches = [ \"S1\", \"S2\" ]; "
	"hosts = [ \"a\", \"b\", \"c\", \"d\" ]; links = ( \"S1 S2\", \"S1 a\", \"S1 b\", \"S2 c\", \"S2 d\" ); };";
static const char *const names[HOSTS] = { "a", "b", "c", "d" };
static const uint8_t senders[FLOWS] = { A, B, D }, receivers[FLOWS] = { C, C, A };

/* What is behind a port. */
struct peer {
	struct rte_ring *to, *from; /* of a ring device */
	struct port *far;           /* the other end of a veth pair */
	uint64_t sent;
	bool xoff;           /* the last PFC frame for class 3 said so */
	uint32_t xoffs, odd; /* PFC frames with XOFF; XON without XOFF before */
};

struct load {
	struct xrig x; /* first */
	struct peer peers[HOSTS];
	struct rte_mempool *pool; /* of what peers send */
	uint32_t sent[FLOWS], received[FLOWS], gaps;
	uint64_t lossy_sent, lossy_received;
	/* host a within pauses */
	uint64_t paused_since_ps, born_packets, paused_windows, late_frames;
};

static uint16_t
peer_send(struct peer *peer, struct rte_mbuf **mbufs, uint16_t n)
{
	if (peer->far != NULL)
		return port_transmit(peer->far, mbufs, n);
	return (uint16_t)rte_ring_enqueue_burst(peer->to, (void **)mbufs, n, NULL);
}

static uint16_t
peer_receive(struct peer *peer, struct rte_mbuf **mbufs)
{
	if (peer->far != NULL)
		return port_receive(peer->far, mbufs, PORT_BURST);
	return (uint16_t)rte_ring_dequeue_burst(peer->from, (void **)mbufs, PORT_BURST, NULL);
}

/* A data frame of a flow, or, beyond them, one of UDP that has no PFC. */
static struct rte_mbuf *
make(struct load *load, uint32_t flow, uint32_t psn)
{
	const struct flow other = { .src_ip = load->x.f.flows[1].src_ip, .dst_ip = load->x.f.flows[1].dst_ip, .sport = 7 };
	const struct pkt p = { .type = PKT_DATA,
			       .opcode = ROCE_RC_SEND_ONLY,
			       .psn = psn & ROCE_24BIT_MASK,
			       .prio = flow < FLOWS ? 3 : 1,
			       .ttl = PKT_TTL_INIT,
			       .payload_bytes = 900 };
	const struct pkt_message message = { 0 };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(load->pool);
	struct frame f;
	size_t size;

	assert_non_null(mbuf);
	frame_from_pkt(&f, &p, flow < FLOWS ? &load->x.f.flows[flow] : &other, &message, false);
	size = frame_build(&f, rte_pktmbuf_mtod(mbuf, uint8_t *), rte_pktmbuf_tailroom(mbuf));
	assert_int_not_equal(size, 0);
	rte_pktmbuf_append(mbuf, (uint16_t)size);
	return mbuf;
}

static uint64_t
entered(const struct load *load, uint32_t host)
{
	struct kernel_host_counters sum;
	uint64_t frames;

	kernel_host_sum(load->x.nodes[host], &sum);
	frames = sum.in_packets;
	for (uint32_t i = 0; i < EDGE_DROP_REASONS; i++)
		frames += i != EDGE_DROP_MULTICAST && i != EDGE_DROP_REPLY ? sum.dropped[i] : 0;
	return frames;
}

static void
feed(struct load *load, uint32_t flow)
{
	struct peer *peer = &load->peers[senders[flow]];

	while (load->sent[flow] < FRAMES && peer->sent - entered(load, senders[flow]) < AHEAD) {
		uint32_t others = senders[flow] == B ? LOSSY_EACH : 0;
		struct rte_mbuf *mbufs[PORT_BURST] = { make(load, flow, load->sent[flow]) };

		for (uint32_t i = 1; i <= others; i++)
			mbufs[i] = make(load, FLOWS, 0);
		assert_int_equal(peer_send(peer, mbufs, (uint16_t)(1 + others)), 1 + others);
		load->sent[flow]++;
		load->lossy_sent += others;
		peer->sent += 1 + others;
	}
}

static void
receive_pause(struct peer *peer, const struct pfc_fields *pfc)
{
	bool xoff = pfc->quanta[3] != 0;

	if (!(pfc->class_enable >> 3 & 1))
		return;
	peer->odd += !xoff && !peer->xoff;
	peer->xoffs += xoff;
	peer->xoff = xoff;
}

/* A frame comes out at a host. */
static void
receive(struct load *load, uint32_t host, const struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct pfc_fields pfc;
	struct frame f;

	if (pfc_frame_parse(bytes, rte_pktmbuf_data_len(mbuf), &pfc) == 0) {
		receive_pause(&load->peers[host], &pfc);
		return;
	}
	if (frame_parse(bytes, rte_pktmbuf_data_len(mbuf), &f) != FRAME_OK)
		return; /* what kernels say of their own accord */
	load->lossy_received += f.sport == 7;
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		if (receivers[flow] == host && f.sport == load->x.f.flows[flow].sport &&
		    f.src_ip == load->x.f.flows[flow].src_ip)
			load->gaps += f.psn != load->received[flow]++;
}

static void
drain(struct load *load, uint32_t host)
{
	struct rte_mbuf *mbufs[PORT_BURST];
	uint16_t n;

	while ((n = peer_receive(&load->peers[host], mbufs)) != 0) {
		for (uint16_t i = 0; i < n; i++)
			receive(load, host, mbufs[i]);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
}

/* A host that is paused for a whole window has put no frame of that class on its cable: a sends no others. */
static void
watch_pause(struct load *load)
{
	const struct kernel_host *host = kernel_host_of(load->x.nodes[A]);
	const struct kernel_host_nic *nic = &host->nics[0];
	uint64_t born = host->node.count.born_packets;

	if (!(nic->pause.paused >> 3 & 1)) {
		load->paused_since_ps = 0;
		return;
	}
	if (nic->pause.paused_since_ps == load->paused_since_ps) {
		load->paused_windows++;
		load->late_frames += born - load->born_packets;
	}
	load->paused_since_ps = nic->pause.paused_since_ps;
	load->born_packets = born;
}

/* Between windows. */
static void
turn(void *ctx, const struct window *window)
{
	struct load *load = ctx;

	(void)window;
	edge_settle(load->x.edge);
	watch_pause(load);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		feed(load, flow);
	for (uint32_t host = 0; host < HOSTS; host++)
		drain(load, host);
}

static uint64_t
dropped(const struct load *load, enum rec_drop reason)
{
	uint64_t packets = 0;

	for (uint32_t i = 0; i < load->x.f.topo->nnodes; i++) {
		const struct node *node = load->x.f.fabric->nodes[i];

		for (uint16_t port = 0; port < node->nports; port++)
			packets += node->ops->dropped(node, port, reason);
	}
	return packets;
}

static bool
is_over(void *ctx)
{
	const struct load *load = ctx;
	bool over = load->lossy_received + dropped(load, REC_DROP_QUEUE_FULL) == load->lossy_sent;

	for (uint32_t flow = 0; flow < FLOWS; flow++)
		over &= load->received[flow] == FRAMES;
	return over;
}

static void
check_all(const struct load *load)
{
	const struct fabric *fabric = load->x.f.fabric;

	for (uint32_t i = 0; i < load->x.f.topo->nnodes; i++) {
		assert_int_equal(fabric->nodes[i]->count.order_errors, 0);
		assert_int_equal(fabric->nodes[i]->count.pause_errors, 0);
		if (fabric->nodes[i]->status == NODE_NO_BUFFER)
			fail_msg("%s", fabric->nodes[i]->error);
	}
	assert_int_equal(fabric->end_reason, REC_END_INTERRUPT);
	assert_int_equal(load->gaps, 0);
	for (uint32_t reason = 1; reason < REC_DROP_REASONS; reason++)
		if (reason != REC_DROP_QUEUE_FULL)
			assert_int_equal(dropped(load, reason), 0);
	assert_in_range(dropped(load, REC_DROP_QUEUE_FULL), 1, load->lossy_sent - 1);
	/* c's cable takes one of three: a and b are instructed to wait, and wait */
	for (uint32_t host = A; host <= B; host++) {
		assert_true(load->peers[host].xoffs > 5);
		assert_int_equal(load->peers[host].odd, 0);
		assert_false(load->peers[host].xoff);
	}
	assert_true(load->paused_windows > 5);
	assert_int_equal(load->late_frames, 0);
	assert_true(frig_conserves(&load->x.f));
}

static void
run(struct load *load)
{
	struct xrig *x = &load->x;

	frig_init(&x->f, net);
	for (uint32_t i = 0; i < FLOWS; i++)
		assert_int_equal(frig_flow(&x->f, names[senders[i]], names[receivers[i]], 3), i);
	x->f.setup.all.params.lossy_queue_bytes = 8000;
	x->lcores = 2;
	x->pfc = true;
	x->idle_ps = LIMIT_PS;
	xrig_start(x, names, HOSTS, 4);
	for (uint32_t i = 0; i < HOSTS; i++)
		x->nodes[i]->ops->expect_work(x->nodes[i], true);
	x->f.fabric->hooks.ctx = load;
	x->f.fabric->hooks.arriving = turn;
	x->f.fabric->hooks.interrupted = is_over;
	frig_run(&x->f, LIMIT_PS);
	check_all(load);
	xrig_stop(x);
	rte_mempool_free(load->pool);
}

static void
make_pool(struct load *load)
{
	load->pool = rte_pktmbuf_pool_create("peers", 2047, 0, 0, RTE_PKTMBUF_HEADROOM + 2048, SOCKET_ID_ANY);
	assert_non_null(load->pool);
}

static void
rings_under_load(void **state)
{
	static struct load load;
	struct err err = { 0 };

	(void)state;
	make_pool(&load);
	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct port_config config = { .name = names[i], .mbufs = 511 };
		struct peer *peer = &load.peers[i];
		char name[32];

		snprintf(name, sizeof(name), "to_%s", names[i]);
		peer->to = rte_ring_create(name, SLOTS, SOCKET_ID_ANY, 0);
		snprintf(name, sizeof(name), "from_%s", names[i]);
		peer->from = rte_ring_create(name, SLOTS, SOCKET_ID_ANY, 0);
		snprintf(name, sizeof(name), "load_%s", names[i]);
		assert_true(rte_eth_from_rings(name, &peer->to, 1, &peer->from, 1, SOCKET_ID_ANY) >= 0);
		snprintf(name, sizeof(name), "net_ring_load_%s", names[i]);
		load.x.devices[i] = port_ethdev_create(&config, name, &err);
		if (load.x.devices[i] == NULL)
			fail_msg("%s", err.text);
	}
	run(&load);
	for (uint32_t i = 0; i < HOSTS; i++) {
		rte_ring_free(load.peers[i].to);
		rte_ring_free(load.peers[i].from);
	}
}

static bool own_namespace; /* of the network, where nothing but the test sends */

static struct port *
open_end(const char *interface, uint32_t number)
{
	char name[16], devargs[160];
	const struct port_config config = { .name = name, .mbufs = 1023 };
	struct err err = { 0 };
	struct port *port;

	snprintf(name, sizeof(name), "%s", interface);
	snprintf(devargs, sizeof(devargs),
		 "net_af_packet%u,iface=%s,framesz=2048,blocksz=65536,framecnt=1024,qdisc_bypass=1", number, interface);
	port = port_ethdev_create(&config, devargs, &err);
	if (port == NULL)
		fail_msg("%s", err.text);
	return port;
}

static void
veth_pairs_under_load(void **state)
{
	static struct load load;

	(void)state;
	for (uint32_t i = 0; i < HOSTS; i++) {
		char command[256];

		snprintf(command, sizeof(command),
			 "ip link add n%s mtu 1500 type veth peer name p%s mtu 1500 2>&1 && ip link set n%s up && ip link "
			 "set p%s up",
			 names[i], names[i], names[i], names[i]);
		if (!own_namespace || system(command) != 0) {
			print_message("SKIPPED: no network namespace with veth pairs can be made here\n");
			skip();
		}
	}
	make_pool(&load);
	for (uint32_t i = 0; i < HOSTS; i++) {
		char interface[8];

		snprintf(interface, sizeof(interface), "n%s", names[i]);
		load.x.devices[i] = open_end(interface, 2 * i);
		snprintf(interface, sizeof(interface), "p%s", names[i]);
		load.peers[i].far = open_end(interface, 2 * i + 1);
	}
	run(&load);
	for (uint32_t i = 0; i < HOSTS; i++)
		port_close(load.peers[i].far);
}

UNIT_TEST(port_load)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_under_load),
		cmocka_unit_test(veth_pairs_under_load),
	};

	own_namespace = unshare(CLONE_NEWNET) == 0;
	assert_int_equal(port_rig_eal(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
