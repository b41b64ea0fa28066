/* SPDX-License-Identifier: BSD-3-Clause */
/* A guest that is stopped: the test is its vhost-user front end, and does not look at what it is called by. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/vhost_types.h>
#include <linux/virtio_ring.h>
#include <rte_mbuf.h>

#include "common/clock.h"
#include "tests/integration/port_rig.h"
#include "tests/unit/unit.h"

#define RING_SIZE 64
#define BUFFER_BYTES 2048
#define MEMORY_BYTES (1 << 20)
#define BUFFERS_AT 65536
#define FEATURES (1ULL << 32 | 1ULL << VIRTIO_RING_F_EVENT_IDX) /* VIRTIO_F_VERSION_1 */
#define STUCK_S 20                                              /* a call that waits for the guest ends the test */
#define FRAMES 2000

/* vhost-user, as its specification has it. */
enum request {
	SET_FEATURES = 2,
	SET_OWNER = 3,
	SET_MEM_TABLE = 5,
	SET_NUM = 8,
	SET_ADDR = 9,
	SET_BASE = 10,
	SET_KICK = 12,
	SET_CALL = 13
};

struct message {
	uint32_t request, flags, size;
	union {
		uint64_t u64;
		struct vhost_vring_state state;
		struct vhost_vring_addr addr;
		struct {
			uint32_t regions, padding;
			uint64_t guest_addr, size, user_addr, offset;
		} memory;
	} body;
} __attribute__((packed));

struct front {
	int socket, memory_fd, call[2]; /* call[1] is the fabric's end, blocking as the guest made it */
	uint8_t *memory;
};

static void
send_request(const struct front *front, enum request request, struct message message, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = &message, .iov_len = offsetof(struct message, body) + size };
	struct msghdr all = { .msg_iov = &part, .msg_iovlen = 1 };

	message.request = request;
	message.flags = 1; /* version */
	message.size = (uint32_t)size;
	if (fd >= 0) {
		all.msg_control = control;
		all.msg_controllen = sizeof(control);
		*CMSG_FIRSTHDR(&all) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
							 .cmsg_type = SCM_RIGHTS,
							 .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&all)), &fd, sizeof(fd));
	}
	assert_int_equal(sendmsg(front->socket, &all, 0), part.iov_len);
}

/* Of a ring; the transmit ring lies behind the receive ring. */
static struct vring
ring_of(const struct front *front, unsigned index)
{
	struct vring ring;

	vring_init(&ring, RING_SIZE, front->memory + index * 16384, 4096);
	return ring;
}

static void
set_call(const struct front *front, unsigned index, int fd)
{
	send_request(front, SET_CALL, (struct message){ .body.u64 = index }, sizeof(uint64_t), fd);
}

static void
set_ring(const struct front *front, unsigned index)
{
	const struct vring ring = ring_of(front, index);
	struct message message = { .body.state = { index, RING_SIZE } };
	int kick = eventfd(0, 0);

	send_request(front, SET_NUM, message, sizeof(message.body.state), -1);
	message.body.state.num = 0;
	send_request(front, SET_BASE, message, sizeof(message.body.state), -1);
	message.body.addr = (struct vhost_vring_addr){
		.index = index,
		.desc_user_addr = (uintptr_t)ring.desc,
		.avail_user_addr = (uintptr_t)ring.avail,
		.used_user_addr = (uintptr_t)ring.used,
	};
	send_request(front, SET_ADDR, message, sizeof(message.body.addr), -1);
	set_call(front, index, front->call[1]);
	send_request(front, SET_KICK, (struct message){ .body.u64 = index }, sizeof(uint64_t), kick);
	close(kick);
}

/* A socket of user-mode Linux's kind, that holds as little as sockets may. */
static void
make_call(struct front *front)
{
	int least = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, front->call), 0);
	assert_int_equal(setsockopt(front->call[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
}

static void
connect_front(struct front *front, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct message message = { .body.memory = { .regions = 1, .size = MEMORY_BYTES } };

	snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", path);
	front->socket = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(front->socket, (struct sockaddr *)&address, sizeof(address)), 0);
	front->memory_fd = memfd_create("guest", 0);
	assert_int_equal(ftruncate(front->memory_fd, MEMORY_BYTES), 0);
	front->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, front->memory_fd, 0);
	assert_true(front->memory != MAP_FAILED);
	make_call(front);
	message.body.memory.user_addr = (uintptr_t)front->memory;
	send_request(front, SET_OWNER, (struct message){ 0 }, 0, -1);
	send_request(front, SET_FEATURES, (struct message){ .body.u64 = FEATURES }, sizeof(uint64_t), -1);
	send_request(front, SET_MEM_TABLE, message, sizeof(message.body.memory), front->memory_fd);
	set_ring(front, 0);
	set_ring(front, 1);
}

static void
disconnect(struct front *front)
{
	close(front->socket);
	close(front->memory_fd);
	close(front->call[0]);
	close(front->call[1]);
	munmap(front->memory, MEMORY_BYTES);
}

/* The guest's ring has room for every frame, and the guest has asked to be called for each. */
static void
give_buffers(const struct front *front)
{
	struct vring ring = ring_of(front, 0);

	for (uint16_t i = 0; i < RING_SIZE; i++) {
		ring.desc[i] = (struct vring_desc){ .addr = BUFFERS_AT + i * BUFFER_BYTES,
						    .len = BUFFER_BYTES,
						    .flags = VRING_DESC_F_WRITE };
		ring.avail->ring[i] = i;
	}
	__atomic_store_n(&ring.avail->idx, (uint16_t)(ring.used->idx + RING_SIZE), __ATOMIC_RELEASE);
	vring_used_event(&ring) = ring.used->idx;
}

static void
send_frame(struct port *port, const struct front *front)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(port->pool);

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, 100), 7, 100);
	give_buffers(front);
	assert_int_equal(port_transmit(port, &m, 1), 1);
}

static void
wait_until_up(struct port *port)
{
	for (uint32_t i = 0; i < 30000 && !port_up(port); i++)
		clock_sleep_until_ns(clock_now_ns() + 1000000);
	assert_true(port_up(port));
}

/* Whether the fabric made its end a descriptor that does not wait. Waits for the library's thread. */
static bool
may_not_block(int fd)
{
	for (uint32_t i = 0; i < 5000; i++) {
		if (fcntl(fd, F_GETFL) & O_NONBLOCK)
			return true;
		clock_sleep_until_ns(clock_now_ns() + 1000000);
	}
	return false;
}

/* Tends the port until the guest, who does not look, has been called again in vain. */
static void
expect_refused(struct port *port)
{
	uint64_t refused = port->count.wakeups_refused;

	for (uint32_t i = 0; i < 5000 && port->count.wakeups_refused == refused; i++) {
		port_tend(port);
		clock_sleep_until_ns(clock_now_ns() + 1000000);
	}
	assert_true(port->count.wakeups_refused > refused);
}

static void
a_guest_that_does_not_look_is_called_in_vain(void **state)
{
	const struct port_config config = { .name = "frozen", .mbufs = 127 };
	char dir[] = "/tmp/rocelab-frozen-XXXXXX", path[64];
	struct err err = { 0 };
	struct front front;
	struct port *port;
	int old[2];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/vhost", dir);
	port = port_vhost_create(&config, path, &err);
	if (port == NULL)
		fail_msg("%s", err.text);
	connect_front(&front, path);
	wait_until_up(port);
	alarm(STUCK_S);
	for (uint32_t i = 0; i < FRAMES; i++)
		send_frame(port, &front);
	expect_refused(port);
	assert_int_equal(port->count.tx_packets, FRAMES);

	/* Another descriptor, while it runs. */
	memcpy(old, front.call, sizeof(old));
	make_call(&front);
	set_call(&front, 0, front.call[1]);
	assert_true(may_not_block(front.call[1]));
	for (uint32_t i = 0; i < FRAMES; i++)
		send_frame(port, &front);
	expect_refused(port);
	alarm(0);
	close(old[0]);
	close(old[1]);
	disconnect(&front);
	port_close(port);
	assert_int_equal(rmdir(dir), 0);
}

static int
prepare(void **state)
{
	(void)state;
	return port_rig_eal();
}

UNIT_TEST(port_frozen)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_that_does_not_look_is_called_in_vain),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
