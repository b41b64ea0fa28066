/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports that are devices by their arguments: a ring, two ends of a veth pair, a TAP. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_mbuf.h>

#include "tests/integration/port_frames.h"
#include "tests/integration/port_guest.h"
#include "tests/integration/port_rig.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

static bool own_namespace; /* of the network, where nothing but the test sends */

static void
send_frames(struct port *port, uint32_t from, uint16_t count)
{
	struct rte_mbuf *mbufs[PORT_BURST];

	for (uint16_t i = 0; i < count; i++) {
		uint8_t bytes[GUEST_MAX_BYTES];
		uint32_t size = guest_frame(from + i, bytes);

		mbufs[i] = rte_pktmbuf_alloc(port->pool);
		assert_non_null(mbufs[i]);
		memcpy(rte_pktmbuf_append(mbufs[i], (uint16_t)size), bytes, size);
	}
	assert_int_equal(port_transmit(port, mbufs, count), count);
}

static void
expect_frames(struct port *port, uint32_t from, uint32_t count)
{
	struct rte_mbuf *mbufs[PORT_BURST];

	for (uint32_t got = 0, tries = 0; got < count; tries++) {
		uint16_t n;

		if (tries == 20000)
			fail_msg("%u of %u frames came", got, count);
		if (!port_pending(port)) {
			pause_us(100);
			continue;
		}
		n = port_receive(port, mbufs, PORT_BURST);
		assert_true(n != 0);
		for (uint16_t i = 0; i < n; i++) {
			expect_frame(mbufs[i], from + got++);
			rte_pktmbuf_free(mbufs[i]);
		}
	}
}

static void
a_device_is_opened_by_its_arguments(void **state)
{
	const struct port_config config = { .name = "loop", .mbufs = 255 };
	struct err err = { 0 };
	struct port *port = port_ethdev_create(&config, "net_ring0", &err);

	(void)state;
	if (port == NULL)
		fail_msg("%s", err.text);
	assert_true(port_up(port));
	assert_false(port_pending(port));
	for (uint32_t i = 0; i < 10; i++) {
		send_frames(port, i * 20, 20);
		expect_frames(port, i * 20, 20);
	}
	assert_int_equal(port->count.rx_packets, 200);
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
	port_close(port);
}

/* Hosts' names may be longer than those that DPDK takes, and differ at their ends alone. */
static void
long_names_are_distinguished(void **state)
{
	static const char *const names[] = { "rack-01-compute-node-1", "rack-01-compute-node-2", "rack-01-compute-no",
					     "a-name-of-forty-seven-characters-which-is-most1",
					     "a-name-of-forty-seven-characters-which-is-most2" };
	struct port *ports[5];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		const struct port_config config = { .name = names[i], .mbufs = 1023 };
		struct err err = { 0 };
		char device[32];

		snprintf(device, sizeof(device), "net_null%zu", i);
		ports[i] = port_ethdev_create(&config, device, &err);
		if (ports[i] == NULL)
			fail_msg("%s", err.text);
	}
	for (size_t i = 0; i < 5; i++)
		port_close(ports[i]);
}

static void
a_wrong_device_reports_what_is_wrong(void **state)
{
	const struct port_config config = { .name = "h0", .mbufs = 63 };
	struct err err = { 0 };

	(void)state;
	assert_null(port_ethdev_create(&config, "net_nonsense0,iface=x", &err));
	assert_non_null(strstr(err.text, "h0"));
	assert_non_null(strstr(err.text, "net_nonsense0"));
	err = (struct err){ 0 };
	assert_null(port_ethdev_create(&config, "net_pcap0,rx_pcap=/nonexistent.pcap", &err));
	assert_non_null(strstr(err.text, "net_pcap0"));
	err = (struct err){ 0 };
	assert_null(port_ethdev_create(&config, "net_af_packet0,iface=nowhere", &err));
	assert_non_null(strstr(err.text, "the driver refused it"));
	assert_null(strstr(err.text, "not permitted"));
}

/* Two ports on the two ends of a veth pair in a network namespace of this process's own. */
static void
af_packet_carries_frames_over_a_veth_pair(void **state)
{
	const struct port_config left = { .name = "left", .mbufs = 255 }, right = { .name = "right", .mbufs = 255 };
	const char *args = ",framesz=8192,blocksz=65536,framecnt=256,qdisc_bypass=1";
	char devargs[2][160];
	struct err err = { 0 };
	struct port *ports[2];

	(void)state;
	if (!own_namespace || system("ip link add v0 mtu 9000 type veth peer name v1 mtu 9000 2>&1 && "
				     "ip link set v0 up && ip link set v1 up") != 0) {
		print_message("SKIPPED: no network namespace with a veth pair can be made here\n");
		skip();
	}
	snprintf(devargs[0], sizeof(devargs[0]), "net_af_packet0,iface=v0%s", args);
	snprintf(devargs[1], sizeof(devargs[1]), "net_af_packet1,iface=v1%s", args);
	ports[0] = port_ethdev_create(&left, devargs[0], &err);
	if (ports[0] == NULL)
		fail_msg("%s", err.text);
	ports[1] = port_ethdev_create(&right, devargs[1], &err);
	if (ports[1] == NULL)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < 10; i++) {
		send_frames(ports[0], i * 20, 20);
		expect_frames(ports[1], i * 20, 20);
		send_frames(ports[1], 1000 + i * 20, 20);
		expect_frames(ports[0], 1000 + i * 20, 20);
	}
	port_close(ports[0]);
	port_close(ports[1]);
}

/* Frames that a program of the kernel's side sends and reads on a raw socket. */
static void
a_tap_joins_the_kernel(void **state)
{
	const struct port_config config = { .name = "tap", .mbufs = 1023, .mtu = 1500 };
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	uint8_t want[GUEST_MAX_BYTES], got[GUEST_MAX_BYTES];
	struct err err = { 0 };
	struct port *port;
	int fd;

	(void)state;
	if (!own_namespace || access("/dev/net/tun", R_OK | W_OK) != 0) {
		print_message("SKIPPED: no network namespace, or no /dev/net/tun here\n");
		skip();
	}
	port = port_ethdev_create(&config, "net_tap0,iface=rocelab-tap", &err);
	if (port == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(system("ip link set rocelab-tap up"), 0);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
	address.sll_ifindex = (int)if_nametoindex("rocelab-tap");
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	for (uint32_t i = 0, size; i < 50; i++) {
		ssize_t n = -1;

		if (guest_frame(i, want) > 1500 || guest_frame(1000 + i, want) > 1500)
			continue;
		size = guest_frame(i, want);

		assert_int_equal(send(fd, want, size, 0), size);
		expect_frames(port, i, 1);
		assert_int_equal(recv(fd, got, sizeof(got), MSG_TRUNC) > 0, false); /* its own is not looped back */
		send_frames(port, 1000 + i, 1);
		size = guest_frame(1000 + i, want);
		for (uint32_t tries = 0; n < 0 && tries < 10000; tries++) {
			n = recv(fd, got, sizeof(got), 0);
			if (n < 0)
				pause_us(100);
		}
		assert_int_equal(n, size);
		assert_memory_equal(got, want, size);
	}
	close(fd);
	port_close(port);
}

/* Frames leave by one port with the time in them, and the other measures how long ago that was. */
static void
a_stopwatch_measures_what_returns(void **state)
{
	static const uint8_t frame[64] = { 1, 2, 3 };
	const struct port_config config = { .name = "watch", .mbufs = 7 }, other = { .name = "other", .mbufs = 7 };
	struct probe *probe = calloc(1, sizeof(*probe));
	struct rte_mbuf *mbufs[8], *odd;
	struct port *from, *to;
	struct err err = { 0 };
	uint16_t n = 0;

	(void)state;
	assert_non_null(probe);
	*probe = (struct probe){ .frame = frame, .frame_bytes = sizeof(frame), .stamp_at = 56 };
	alloc_refuse(1);
	assert_null(port_probe_create(&config, probe, true, &err));
	assert_true(alloc_was_refused());
	from = port_probe_create(&config, probe, true, &err);
	to = port_probe_create(&other, probe, false, &err);
	assert_true(from != NULL && to != NULL && port_up(from));
	assert_true(port_pending(from));
	assert_false(port_pending(to)); /* it only takes */
	assert_int_equal(port_receive(to, mbufs, 8), 0);
	assert_int_equal(port_receive(from, mbufs, 0), 0);
	while (n < 7 && port_receive(from, &mbufs[n], 8) == 1)
		n++;
	assert_int_equal(n, 7);
	assert_int_equal(port_receive(from, &mbufs[7], 1), 0); /* all its mbufs are in use */
	assert_int_equal(from->count.rx_bytes, 7 * sizeof(frame));
	assert_memory_equal(rte_pktmbuf_mtod(mbufs[0], uint8_t *), frame, 56);
	odd = mbufs[3];
	rte_pktmbuf_trim(odd, 1);
	pause_us(1000);
	assert_int_equal(port_transmit(to, mbufs, 7), 7);
	assert_int_equal(probe->taken, 6); /* none of another length */
	for (uint32_t i = 0; i < probe->taken; i++)
		assert_true(probe->taken_ns[i] >= 1000 * 1000);
	assert_int_equal(to->count.tx_packets, 7);
	assert_int_equal(rte_mempool_in_use_count(from->pool), 0);
	probe->interval_ns = UINT64_MAX / 4;
	assert_int_equal(port_receive(from, mbufs, 1), 1);
	assert_false(port_pending(from)); /* the next is not due */
	probe->taken = PROBE_SAMPLES;
	assert_int_equal(port_transmit(to, mbufs, 1), 1);
	assert_int_equal(probe->taken, PROBE_SAMPLES);
	port_close(NULL);
	port_close(from);
	port_close(to);
	free(probe);
}

/* What no port can be. */
static void
a_port_has_a_name_and_frames(void **state)
{
	const struct port_config longest = { .name = "a-name-of-forty-eight-characters-that-is-too-long", .mbufs = 7 };
	const struct port_config much = { .name = "much", .mbufs = 262143 };
	struct err err = { 0 };

	(void)state;
	assert_null(port_probe_create(&longest, NULL, false, &err));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err.text, "at most 47 characters"));
	err = (struct err){ 0 };
	assert_null(port_probe_create(&much, NULL, false, &err));
	assert_non_null(strstr(err.text, "much"));
}

static int
prepare_devices(void **state)
{
	(void)state;
	own_namespace = unshare(CLONE_NEWNET) == 0 && system("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 "
							     "net.ipv6.conf.all.disable_ipv6=1") == 0;
	return port_rig_eal();
}

UNIT_TEST(port_device)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_is_opened_by_its_arguments),
		cmocka_unit_test(long_names_are_distinguished),
		cmocka_unit_test(a_wrong_device_reports_what_is_wrong),
		cmocka_unit_test(af_packet_carries_frames_over_a_veth_pair),
		cmocka_unit_test(a_tap_joins_the_kernel),
		cmocka_unit_test(a_stopwatch_measures_what_returns),
		cmocka_unit_test(a_port_has_a_name_and_frames),
	};

	return cmocka_run_group_tests(tests, prepare_devices, NULL);
}
