/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interop_rig DIR INIT KERNEL PEER FAULTS: an embedded host and a guest with the kernel's soft-RoCE on one switch, in real
 * time. Both send WRITEs and SENDs with immediate and datagrams to each other and verify every byte. Says what happened
 * in one line of JSON; exit code 0 if every message arrived whole.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/lcore/launch.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "rxe-hosts/guest/guest.h"
#include "tests/sim/interop.h"
#include "tests/sim/interop_build.h"
#include "tests/unit/dpswitch/fabric_rig.h"

#define GIVE_UP_NS (90ull * 1000 * 1000 * 1000)
#define DRAIN_NS (500ull * 1000 * 1000)

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
receive(struct interop *t, const char *line)
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
		receive(t, t->text);
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
	return kernel_host_pending(((const struct interop *)ctx)->guest);
}

static uint64_t
hook_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	return pacer_wait(&((struct interop *)ctx)->pacer, earliest_ps, start_ps);
}

/* The switch and the embedded host, in a process of their own. */
static int
switch_main(const char *path, int line, const char *faults)
{
	static struct interop t;
	struct embedded_counters sum;
	struct err err = { 0 };
	bool good;

	t.line = line;
	if (lcore_init(&(struct lcore_config){ .lcores = 1 }, &err) < 0 || interop_build(&t, path, faults, &err) < 0) {
		fprintf(stderr, "interop_rig: %s\n", err.text);
		return 1;
	}
	t.f.fabric->hooks.pace = hook_pace;
	t.f.fabric->hooks.collect = hook_collect;
	t.f.fabric->hooks.interrupted = hook_interrupted;
	t.start_ns = clock_now_ns();
	pacer_init(&t.pacer, t.start_ns, t.f.fabric->window_ps, false);
	t.pacer.pending = hook_pending;
	t.pacer.ctx = &t;
	frig_run(&t.f, 1000 * PS_PER_S);
	embedded_sum(t.host, &sum);
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
	interop_destroy(&t);
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
