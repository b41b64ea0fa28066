/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports with real peers: vhost-user against DPDK's virtio_user in a process of its own, devices by their arguments. */
#include <arpa/inet.h>
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
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_mbuf.h>

#include "common/clock.h"
#include "tests/unit/dpswitch/port_guest.h"
#include "tests/unit/dpswitch/port_rig.h"

#define FRAMES 3000
#define TINY 40 /* frames of the second guest */
#define MBUFS 127
#define GIVE_UP_NS (60ull * 1000 * 1000 * 1000)

static char dir[64], socket_path[96], second_path[96];
static pid_t guest, second;
static bool own_namespace; /* of the network, where nothing but the test sends */

static void
pause_us(uint64_t us)
{
	clock_sleep_until_ns(clock_now_ns() + us * 1000);
}

static bool
wait_until(struct port *port, bool up)
{
	for (uint32_t i = 0; i < 30000 && port_up(port) != up; i++)
		pause_us(1000);
	return port_up(port) == up;
}

static int
end_of(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
expect_frame(const struct rte_mbuf *m, uint32_t n)
{
	uint8_t want[GUEST_MAX_BYTES];
	uint32_t size = guest_frame(n, want);

	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(rte_pktmbuf_pkt_len(m), size);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), want, size);
}

/*
 * Every frame of the guest comes in whole and in order and goes back. The guest looks rarely, so its ring is full most
 * of the time: held and offered again. All mbufs are taken for a while: the guest's frames wait in its ring.
 */
static void
echo(struct port *port, uint32_t frames, bool starve)
{
	struct rte_mbuf *held[MBUFS];
	uint64_t give_up_ns = clock_now_ns() + GIVE_UP_NS;
	uint32_t got = 0, back = 0;
	uint16_t nheld = 0;

	while (back < frames && clock_now_ns() < give_up_ns) {
		uint16_t room = (uint16_t)(MBUFS - nheld < PORT_BURST ? MBUFS - nheld : PORT_BURST), n, taken;

		n = port_receive(port, held + nheld, room);
		for (uint16_t i = 0; i < n; i++)
			expect_frame(held[nheld + i], got + i);
		got += n;
		nheld += n;
		port_tend(port);
		if (starve && nheld < MBUFS) {
			if (n == 0)
				pause_us(50);
			continue;
		}
		if (starve) {
			assert_true(port_pending(port));
			assert_int_equal(port_receive(port, held, 1), 0);
			starve = false;
		}
		taken = port_transmit(port, held, nheld < PORT_BURST ? nheld : PORT_BURST);
		nheld -= taken;
		memmove(held, held + taken, nheld * sizeof(*held));
		back += taken;
		if (n == 0 && taken == 0)
			pause_us(50);
	}
	assert_int_equal(got, frames);
	assert_int_equal(back, frames);
}

static void
a_vhost_user_guest_loses_nothing(void **state)
{
	const struct port_config config = { .name = "guest", .mbufs = MBUFS };
	struct err err = { 0 };
	struct rte_mbuf *m;
	struct port *port;

	(void)state;
	port = port_vhost_create(&config, socket_path, &err);
	if (port == NULL)
		fail_msg("%s", err.text);
	assert_true(wait_until(port, true));
	echo(port, FRAMES, true);
	assert_true(port->count.tx_refused != 0);
	assert_true(port->count.rx_starved != 0);
	assert_int_equal(port->count.rx_packets, FRAMES);
	assert_int_equal(port->count.tx_packets, FRAMES);
	assert_int_equal(port->count.rx_bytes, port->count.tx_bytes);
	assert_int_equal(end_of(guest), 0);
	assert_true(wait_until(port, false)); /* it has gone */
	m = rte_pktmbuf_alloc(port->pool);
	assert_non_null(m);
	assert_int_equal(port_transmit(port, &m, 1), 0);
	assert_false(port_pending(port));
	rte_pktmbuf_free(m);
	port_tend(port);
	assert_int_equal(port->count.connects, 1);
	assert_int_equal(rte_mempool_in_use_count(port->pool), 0);
	port_close(port);
	assert_int_equal(access(socket_path, F_OK), -1);
}

static void
leave_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

/* A second guest in one run; the socket of a switch that was killed is in the way. */
static void
a_stale_socket_is_replaced_and_other_files_are_not(void **state)
{
	const struct port_config config = { .name = "second", .mbufs = MBUFS };
	char file[128];
	struct err err = { 0 };
	struct port *port;
	FILE *f;

	(void)state;
	snprintf(file, sizeof(file), "%s/file", dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	assert_null(port_vhost_create(&config, file, &err));
	assert_non_null(strstr(err.text, file));
	assert_int_equal(access(file, F_OK), 0);
	unlink(file);
	leave_socket(file);
	err = (struct err){ 0 };
	port = port_vhost_create(&config, file, &err);
	if (port == NULL)
		fail_msg("%s", err.text);
	port_close(port);
	assert_int_equal(access(file, F_OK), -1);
	port = port_vhost_create(&config, second_path, &err);
	if (port == NULL)
		fail_msg("%s", err.text);
	assert_true(wait_until(port, true));
	echo(port, TINY, false);
	assert_int_equal(end_of(second), 0);
	port_close(port);
}

static void
a_path_too_long_is_refused(void **state)
{
	const struct port_config config = { .name = "long" };
	char path[200];
	struct err err = { 0 };

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_null(port_vhost_create(&config, path, &err));
	assert_non_null(strstr(err.text, "107 characters"));
}

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

static void
a_wrong_device_says_what_is_wrong(void **state)
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

/* Before EAL runs here: processes that will have an EAL of their own. */
static int
prepare(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rocelab-port-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(socket_path, sizeof(socket_path), "%s/vhost", dir);
	snprintf(second_path, sizeof(second_path), "%s/second", dir);
	guest = guest_start(socket_path, FRAMES);
	second = guest_start(second_path, TINY);
	own_namespace = unshare(CLONE_NEWNET) == 0 && system("sysctl -qw net.ipv6.conf.default.disable_ipv6=1 "
							     "net.ipv6.conf.all.disable_ipv6=1") == 0;
	return port_rig_eal();
}

static int
clean(void **state)
{
	char file[128];

	(void)state;
	snprintf(file, sizeof(file), "%s/file", dir);
	unlink(file);
	unlink(socket_path);
	unlink(second_path);
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vhost_user_guest_loses_nothing),
		cmocka_unit_test(a_stale_socket_is_replaced_and_other_files_are_not),
		cmocka_unit_test(a_path_too_long_is_refused),
		cmocka_unit_test(a_device_is_opened_by_its_arguments),
		cmocka_unit_test(a_wrong_device_says_what_is_wrong),
		cmocka_unit_test(af_packet_carries_frames_over_a_veth_pair),
		cmocka_unit_test(a_tap_joins_the_kernel),
	};

	return cmocka_run_group_tests(tests, prepare, clean);
}
