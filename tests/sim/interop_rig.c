/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interop_rig DIR INIT KERNEL PEER FAULTS: an embedded host and a guest with the kernel's soft-RoCE on one switch, in real
 * time. Both send WRITEs and SENDs with immediate and datagrams to each other and verify every byte. Says what happened
 * in one line of JSON; exit code 0 if every message arrived whole.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "dpswitch/edge/external/external.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/lcore/launch.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "rxe-hosts/guest/guest.h"
#include "tests/sim/interop.h"
#include "tests/unit/dpswitch/fabric_rig.h"

#define MTU 1024
#define LARGEST 2000 /* frame on the wire */
#define SPARES 8
#define GIVE_UP_NS (90ull * 1000 * 1000 * 1000)
#define DRAIN_NS (500ull * 1000 * 1000)
#define QPN_FIRST 0x200

static const char star[] = "topology = { kind = \"explicit\"; rate = \"1Gbps\"; delay = \"50us\"; switches = [ \"S\" ]; "
			   "hosts = [ \"g\", \"e\" ]; links = ( \"S g\", \"S e\" ); }; ";

enum { FLOW_IN, FLOW_OUT, FLOW_UD_IN, FLOW_UD_OUT }; /* as the embedded host sees them */
enum state { WAIT_HELLO, WAIT_READY, WORKING, DRAINING, WAIT_UD, DONE, FAILED };

struct interop {
	struct frig f; /* first: the hooks' context */
	struct pacer pacer;
	struct edge *edge;
	struct port *port;
	struct node *guest, *host;
	struct device *dev;
	struct embedded_shared *shared;
	struct roce_params params;
	struct sw *switches[4];
	uint8_t *region;
	enum state state;
	int line;
	char text[256];
	size_t used;
	uint32_t rkey;
	uint64_t va, start_ns, drain_ns;
	uint32_t sent, received, wrong, datagrams;
	uint32_t peer_sent, peer_received, peer_wrong, peer_datagrams_sent, peer_datagrams;
};

static void
completed(void *ctx, const struct wc *wc)
{
	struct interop *t = ctx;

	if (wc->opcode == WC_ERROR)
		t->state = FAILED;
	else if (wc->opcode == WC_SENT)
		t->sent++;
	else
		t->received++;
}

static void
received(void *ctx, const struct datagram *datagram, uint64_t now_ps)
{
	struct interop *t = ctx;

	t->datagrams += datagram->flow == FLOW_UD_IN;
}

static void
accept_bytes(void *ctx, uint32_t flow, uint32_t imm, uint64_t offset, const void *src, uint32_t bytes)
{
	struct interop *t = ctx;
	const uint8_t *at = src;

	t->wrong += imm != t->received || bytes != interop_bytes(imm) || offset != (uint64_t)imm * INTEROP_ROOM;
	for (uint32_t i = 0; i < bytes; i++)
		t->wrong += at[i] != interop_byte(1, imm, i);
}

static bool
describe(void *ctx, const struct pkt *p, struct pkt_message *message)
{
	const struct interop *t = ctx;

	embedded_describe(t->shared, &t->params, p, message);
	message->va += t->va;
	message->rkey = t->rkey;
	message->qkey = INTEROP_QKEY;
	return true;
}

/* The source port of the kernel's unreliable QPs: nobody can choose it (rxe_qp_init_req() of 6.1). */
static uint16_t
ud_sport(uint32_t qpn)
{
	return (uint16_t)(0xc000 + ((qpn * 0x61c88647u) >> 18 & 0x3fff));
}

static void
post_all(struct interop *t)
{
	for (uint32_t i = 0; i < INTEROP_MESSAGES; i++) {
		const struct send_wr wr = {
			.wr_id = i,
			.bytes = interop_bytes(i),
			.local_offset = (uint64_t)i * INTEROP_ROOM,
			.remote_offset = (uint64_t)i * INTEROP_ROOM,
			.imm = i,
			.send = i % 2 != 0,
		};

		for (uint32_t k = 0; k < wr.bytes; k++)
			t->region[i * INTEROP_ROOM + k] = interop_byte(0, i, k);
		if (t->dev->ops->post_send(t->dev, FLOW_OUT, &wr) != 0)
			t->state = FAILED;
	}
	for (uint32_t i = 0; i < INTEROP_DATAGRAMS; i++) {
		const struct datagram datagram = {
			.flow = FLOW_UD_OUT, .arg = i, .bytes = INTEROP_DATAGRAM_BYTES, .type = PKT_UD
		};

		t->dev->ops->post_datagram(t->dev, &datagram);
	}
}

static void
hear(struct interop *t, const char *line)
{
	struct flow *flows = t->f.flows;
	unsigned long long va;
	uint32_t a, b, c, d;

	if (t->state == WAIT_HELLO && sscanf(line, "hello %u %u %u %u %llu", &a, &b, &c, &d, &va) == 5) {
		flows[FLOW_IN].src_qpn = a;
		flows[FLOW_OUT].dst_qpn = b;
		flows[FLOW_UD_IN].src_qpn = flows[FLOW_UD_OUT].dst_qpn = c;
		t->rkey = d;
		t->va = va;
		dprintf(t->line, "go %u %u %u %u\n", flows[FLOW_OUT].src_ip, flows[FLOW_IN].dst_qpn,
			flows[FLOW_OUT].src_qpn, flows[FLOW_UD_IN].dst_qpn);
		t->state = WAIT_READY;
	} else if (t->state == WAIT_READY && strcmp(line, "ready") == 0) {
		t->state = WORKING;
		post_all(t);
	} else if (t->state == WORKING && sscanf(line, "rc %u %u %u", &a, &b, &c) == 3) {
		t->peer_sent = a;
		t->peer_received = b;
		t->peer_wrong = c;
		t->drain_ns = clock_now_ns() + DRAIN_NS;
		t->state = DRAINING;
	} else if (t->state == WAIT_UD && sscanf(line, "ud %u %u", &a, &b) == 2) {
		t->peer_datagrams_sent = a;
		t->peer_datagrams = b;
		t->state = DONE;
	} else {
		fprintf(stderr, "the guest says: %s\n", line);
		t->state = FAILED;
	}
}

/* Lines of the guest's program, as they come. */
static void
hook_collect(void *ctx, uint64_t now_ps)
{
	struct interop *t = ctx;
	ssize_t n = read(t->line, t->text + t->used, sizeof(t->text) - 1 - t->used);
	char *end;

	(void)now_ps;
	t->host->records.used_bytes = t->guest->records.used_bytes = 0;
	if (n == 0)
		t->state = FAILED;
	if (n > 0)
		t->used += (size_t)n;
	t->text[t->used] = '\0';
	while ((end = strchr(t->text, '\n')) != NULL) {
		*end = '\0';
		hear(t, t->text);
		t->used -= (size_t)(end + 1 - t->text);
		memmove(t->text, end + 1, t->used + 1);
	}
	if (t->state == DRAINING && clock_now_ns() > t->drain_ns && t->sent == INTEROP_MESSAGES &&
	    t->received == INTEROP_MESSAGES) {
		t->state = WAIT_UD;
		dprintf(t->line, "end\n");
	}
}

static bool
hook_interrupted(void *ctx)
{
	const struct interop *t = ctx;

	return t->state == DONE || t->state == FAILED || clock_now_ns() - t->start_ns > GIVE_UP_NS;
}

static bool
hook_pending(void *ctx)
{
	return external_pending(((const struct interop *)ctx)->guest);
}

static uint64_t
hook_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	return pacer_wait(&((struct interop *)ctx)->pacer, earliest_ps, start_ps);
}

static void
make_flows(struct interop *t)
{
	static const uint16_t sports[] = { INTEROP_SPORT_IN, INTEROP_SPORT_OUT, 0, 0xd000 };

	for (uint32_t i = 0; i < 4; i++) {
		frig_flow(&t->f, i % 2 == 0 ? "g" : "e", i % 2 == 0 ? "e" : "g", INTEROP_PRIO);
		t->f.flows[i].sport = sports[i];
		t->f.flows[i].src_qpn = QPN_FIRST + i;
		t->f.flows[i].dst_qpn = QPN_FIRST + 16 + i;
	}
	/* The first QPs of a fresh kernel are 17, 18 and 19. */
	t->f.flows[FLOW_UD_IN].sport = ud_sport(19);
	t->f.table.spares = SPARES;
	for (uint32_t i = 0; i < SPARES; i++)
		t->f.flows[4 + i].kind = FLOW_FOREIGN;
}

static int
make_embedded(struct interop *t, struct err *err)
{
	const struct roce_cfg cfg = {
		.mtu_bytes = MTU,
		.control_bytes = 84,
		.ack_every = 1,
		.window = "16KB",
		.data_prio = INTEROP_PRIO,
		.timeout_ps = 200 * PS_PER_MS,
		.timeout_doublings = 3,
		.retry_count = 7,
		.rnr_delay_ps = PS_PER_MS,
		.rnr_retry = ROCE_RNR_UNLIMITED,
		.nak = true,
	};
	const struct device_client client = {
		.ctx = t, .completed = completed, .received = received, .accept = accept_bytes
	};
	struct embedded_config config = {
		.node = topo_find(t->f.topo, "e"),
		.topo = t->f.topo,
		.flows = &t->f.table,
		.sertables = &t->f.sertables,
		.params = &t->params,
	};

	if (roce_params_init(&t->params, &cfg, NULL, 0, err) < 0)
		return -EINVAL;
	t->params.real_payload = true;
	t->shared = embedded_shared_create(t->f.topo, &t->f.table, err);
	t->region = malloc(INTEROP_MESSAGES * INTEROP_ROOM);
	if (t->shared == NULL || t->region == NULL)
		return -ENOMEM;
	config.shared = t->shared;
	t->host = embedded_host_create(&config, err);
	if (t->host == NULL)
		return -errno;
	fabric_attach(t->f.fabric, t->host);
	t->dev = embedded_device(t->host);
	t->dev->ops->set_client(t->dev, &client);
	t->dev->ops->register_region(t->dev, t->region, INTEROP_MESSAGES * INTEROP_ROOM);
	for (uint32_t i = 0; i < INTEROP_ROUNDS; i++)
		t->dev->ops->post_receive(t->dev, FLOW_IN, (uint64_t)(2 * i + 1) * INTEROP_ROOM, INTEROP_ROOM);
	for (uint32_t i = 0; i < INTEROP_DATAGRAMS; i++)
		t->dev->ops->post_receive(t->dev, FLOW_UD_IN, 0, INTEROP_ROOM);
	t->host->ops->expect_work(t->host, true);
	return 0;
}

static int
make_external(struct interop *t, const char *path, struct err *err)
{
	const struct port_config config = { .name = "g", .mbufs = 1023 };
	struct external_nic_config nic = { 0 };
	const struct external_config host = {
		.node = topo_find(t->f.topo, "g"),
		.topo = t->f.topo,
		.nics = &nic,
		.edge = t->edge,
		.sertables = &t->f.sertables,
		.window_ps = t->f.fabric->window_ps,
		.mtu_bytes = LARGEST,
		.min_frame_bytes = t->f.config.min_frame_bytes,
	};

	nic.port = t->port = port_vhost_create(&config, path, err);
	if (t->port == NULL)
		return -errno;
	t->guest = external_host_create(&host, err);
	if (t->guest == NULL)
		return -errno;
	fabric_attach(t->f.fabric, t->guest);
	t->guest->ops->expect_work(t->guest, true);
	return 0;
}

static int
build(struct interop *t, const char *path, const char *faults, struct err *err)
{
	struct edge_config edge = {
		.flows = &t->f.table,
		.switches = t->switches,
		.source = { t, describe },
		.idle_ps = PS_PER_S,
		.data_prio = INTEROP_PRIO,
		.lossy_prio = 1,
		.lossless = 1 << INTEROP_PRIO,
	};
	char text[1024];

	snprintf(text, sizeof(text), "%s%s", star, faults);
	frig_init(&t->f, text);
	t->f.ecn.enabled = false;
	t->f.config.mtu_bytes = LARGEST;
	make_flows(t);
	edge.topo = t->f.topo;
	t->edge = edge_create(&edge, err);
	if (t->edge == NULL)
		return -errno;
	t->f.fabric_config.bodies = edge_bodies(t->edge);
	if (frig_start(&t->f) < 0)
		return err_set(err, -EINVAL, "%s", t->f.err.text);
	memcpy(t->switches, t->f.switches, t->f.topo->nnodes * sizeof(*t->switches));
	t->f.fabric->hooks.pace = hook_pace;
	t->f.fabric->hooks.collect = hook_collect;
	t->f.fabric->hooks.interrupted = hook_interrupted;
	return make_embedded(t, err) < 0 ? -EINVAL : make_external(t, path, err);
}

/* The switch and the embedded host, in a process of their own. */
static int
switch_main(const char *path, int line, const char *faults)
{
	static struct interop t;
	struct embedded_counters sum;
	struct edge_counters edge;
	struct err err = { 0 };
	bool good;

	t.line = line;
	if (lcore_init(&(struct lcore_config){ .lcores = 1 }, &err) < 0 || build(&t, path, faults, &err) < 0) {
		fprintf(stderr, "interop_rig: %s\n", err.text);
		return 1;
	}
	t.start_ns = clock_now_ns();
	pacer_init(&t.pacer, t.start_ns, t.f.fabric->window_ps, false);
	t.pacer.pending = hook_pending;
	t.pacer.ctx = &t;
	frig_run(&t.f, 1000 * PS_PER_S);
	embedded_sum(t.host, &sum);
	edge_sum(t.edge, &edge);
	good = t.state == DONE && t.wrong == 0 && t.peer_wrong == 0 && frig_conserves(&t.f);
	printf("{ \"good\": %s, \"received\": %u, \"sent\": %u, \"wrong\": %u, \"datagrams\": %u, \"retransmits\": %llu, "
	       "\"naks_received\": %llu, \"naks_sent\": %llu, \"duplicates\": %llu, \"corrupt\": %llu, "
	       "\"peer\": { \"received\": %u, \"sent\": %u, \"wrong\": %u, \"datagrams\": %u }, "
	       "\"injected\": %llu, \"corrupted_to_guest\": %llu, \"corrupted_to_host\": %llu, \"conserves\": %s, "
	       "\"state\": %d }\n",
	       good ? "true" : "false", t.received, t.sent, t.wrong, t.datagrams, (unsigned long long)sum.retransmits,
	       (unsigned long long)sum.naks_received, (unsigned long long)sum.naks_sent, (unsigned long long)sum.duplicates,
	       (unsigned long long)t.host->ops->dropped(t.host, 0, REC_DROP_CORRUPT), t.peer_received, t.peer_sent,
	       t.peer_wrong, t.peer_datagrams,
	       (unsigned long long)(frig_link(&t.f, "S:1")->injected_packets + frig_link(&t.f, "S:2")->injected_packets),
	       (unsigned long long)frig_link(&t.f, "S:1")->corrupted_packets,
	       (unsigned long long)frig_link(&t.f, "S:2")->corrupted_packets, frig_conserves(&t.f) ? "true" : "false",
	       t.state);
	fflush(stdout);
	node_destroy(t.guest);
	node_destroy(t.host);
	frig_stop(&t.f);
	edge_destroy(t.edge);
	port_close(t.port);
	embedded_shared_destroy(t.shared);
	free(t.region);
	lcore_fini();
	return good ? 0 : 1;
}

static int
start_guest(const char *dir, const char *socket_path, char **argv, int line, struct guest **guest, struct err *err)
{
	const char *program[] = { argv[4], NULL };
	struct guest_config config = {
		.kind = "uml",
		.name = "g",
		.dir = dir,
		.init = argv[2],
		.kernel = argv[3],
		.nic = socket_path,
		.ip = htonl(topo_nic_ip(0, 0)),
		.prefix_bits = 8,
		.mtu_bytes = 1500,
		.argv = program,
		.manage_fd = line,
	};

	topo_nic_mac(0, 0, config.mac);
	return guest_start(&config, guest, err);
}

int
main(int argc, char **argv)
{
	char path[108];
	struct guest *guest = NULL;
	struct err err = { 0 };
	int ends[2], status = 1;
	pid_t pid;

	if (argc != 6)
		return 2;
	snprintf(path, sizeof(path), "%s/g.vhost", argv[1]);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		_exit(switch_main(path, ends[0], argv[5]));
	}
	close(ends[0]);
	for (int tries = 0; access(path, F_OK) != 0 && tries < 3000; tries++)
		clock_sleep_until_ns(clock_now_ns() + 10000000);
	if (start_guest(argv[1], path, argv, ends[1], &guest, &err) < 0)
		fprintf(stderr, "interop_rig: %s\n", err.text);
	close(ends[1]);
	waitpid(pid, &status, 0);
	if (guest != NULL)
		guest_stop(guest);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
