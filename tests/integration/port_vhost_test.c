/* SPDX-License-Identifier: BSD-3-Clause */
/* A vhost-user port against DPDK's virtio_user in a process of its own. */
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
#include "tests/integration/port_frames.h"
#include "tests/integration/port_guest.h"
#include "tests/integration/port_rig.h"
#include "tests/unit/unit.h"

#define FRAMES 3000
#define TINY 40 /* frames of the second guest */
#define MBUFS 127
#define GIVE_UP_NS (60ull * 1000 * 1000 * 1000)

static char dir[64], socket_path[96], second_path[96];
static pid_t guest, second;

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
		if (starve && !port_pending(port)) { /* the guest has not had its turn on the CPU yet */
			pause_us(50);
			continue;
		}
		if (starve) {
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
	assert_null(port_vhost_create(&(struct port_config){ .name = "another", .mbufs = MBUFS }, file, &err));
	assert_non_null(strstr(err.text, "another program listens there"));
	assert_int_equal(access(file, F_OK), 0);
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

/* Before EAL runs here: processes that will have an EAL of their own. */
static int
prepare_guests(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rocelab-port-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(socket_path, sizeof(socket_path), "%s/vhost", dir);
	snprintf(second_path, sizeof(second_path), "%s/second", dir);
	guest = guest_start(socket_path, FRAMES);
	second = guest_start(second_path, TINY);
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

UNIT_TEST(port_vhost)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vhost_user_guest_loses_nothing),
		cmocka_unit_test(a_stale_socket_is_replaced_and_other_files_are_not),
		cmocka_unit_test(a_path_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, prepare_guests, clean);
}
