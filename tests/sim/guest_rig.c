/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guest_rig DIR KIND INIT KERNEL MEMORY_MIB GUEST... [-- PROGRAM [ARG...]]: boots guests and says what becomes of them, a
 * line an event, until its input ends; then stops them. GUEST is NAME, or NAME,SOCKET,ADDRESS,MAC for one with a NIC.
 * PROGRAM runs in each with a management channel: 256 KiB of a pattern come out of it, and what the guest writes is counted
 * and summed. A byte of input closes these channels.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "rxe-hosts/guest/guest.h"

#define MAX_GUESTS 32
#define PATTERN_BYTES (256 * 1024)
#define PREFIX_BITS 24
#define MTU_BYTES 4500

struct rig_guest {
	struct guest *guest;
	const char *name;
	enum guest_state reported;
	int manage;
	size_t sent, received;
	uint64_t sum; /* of each byte received times its position, from 1 */
};

static struct rig_guest guests[MAX_GUESTS];
static int nguests;
static uint64_t start_ns;

static int
start(struct guest_config config, char *description)
{
	struct rig_guest *new = &guests[nguests++];
	struct err err = { 0 };
	char *socket_path, *address, *mac;
	int ends[2] = { -1, -1 };

	config.name = new->name = strtok(description, ",");
	socket_path = strtok(NULL, ",");
	if (socket_path != NULL) {
		address = strtok(NULL, ",");
		mac = strtok(NULL, ",");
		config.nic = socket_path;
		config.prefix_bits = PREFIX_BITS;
		config.mtu_bytes = MTU_BYTES;
		if (mac == NULL || inet_pton(AF_INET, address, &config.ip) != 1 ||
		    sscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &config.mac[0], &config.mac[1], &config.mac[2],
			   &config.mac[3], &config.mac[4], &config.mac[5]) != 6)
			return 2;
	}
	if (config.argv != NULL && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	config.manage_fd = ends[1];
	new->manage = ends[0];
	if (guest_start(&config, &new->guest, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	if (ends[1] >= 0)
		close(ends[1]);
	return 0;
}

/* One turn of a management channel. */
static void
move(struct rig_guest *guest, short events)
{
	uint8_t bytes[4096];
	ssize_t n;

	if (events & POLLOUT) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)((guest->sent + i) * 7 >> 3);
		n = send(guest->manage, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
		guest->sent += n > 0 ? (size_t)n : 0;
	}
	if (events & (POLLIN | POLLHUP)) {
		n = recv(guest->manage, bytes, sizeof(bytes), MSG_DONTWAIT);
		for (ssize_t i = 0; i < n; i++)
			guest->sum += ++guest->received * bytes[i];
		if (n == 0) {
			close(guest->manage);
			guest->manage = -1;
		}
	}
}

static void
send_state(struct rig_guest *guest)
{
	static const char *const names[] = { "booting", "up", "exited", "ended" };
	const struct guest_status *status = guest_poll(guest->guest);

	if (status->state == guest->reported)
		return;
	guest->reported = status->state;
	printf("%s %s %.3f gid %d exit %d %s\n", guest->name, names[status->state],
	       (double)(clock_now_ns() - start_ns) / 1e9, (int)status->gid_index, status->exit_status, status->text);
}

static void
watch(void)
{
	struct pollfd fds[1 + 2 * MAX_GUESTS];
	char byte;

	for (;;) {
		fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
		for (int i = 0; i < nguests; i++) {
			struct rig_guest *guest = &guests[i];
			bool out = guest->sent < PATTERN_BYTES;

			fds[1 + 2 * i] =
				(struct pollfd){ .fd = guest->reported == GUEST_ENDED ? -1 : guest_fd(guest->guest),
						 .events = POLLIN };
			fds[2 + 2 * i] =
				(struct pollfd){ .fd = guest->manage, .events = (short)(POLLIN | (out ? POLLOUT : 0)) };
		}
		if (poll(fds, (nfds_t)(1 + 2 * nguests), -1) < 0)
			return;
		for (int i = 0; i < nguests; i++) {
			if (fds[2 + 2 * i].fd >= 0)
				move(&guests[i], fds[2 + 2 * i].revents);
			send_state(&guests[i]);
		}
		if (fds[0].revents == 0)
			continue;
		if (read(STDIN_FILENO, &byte, 1) <= 0)
			return;
		for (int i = 0; i < nguests; i++) {
			close(guests[i].manage);
			guests[i].manage = -1;
		}
	}
}

int
main(int argc, char **argv)
{
	struct guest_config config = { 0 };
	int rc = 0, i;

	if (argc < 7)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	start_ns = clock_now_ns();
	config.dir = argv[1];
	config.kind = argv[2];
	config.init = argv[3];
	config.kernel = argv[4];
	config.memory_mib = (unsigned)atoi(argv[5]);
	for (i = 6; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			config.argv = (const char *const *)argv + i + 1;
	for (i = 6; i < argc && strcmp(argv[i], "--") != 0 && nguests < MAX_GUESTS && rc == 0; i++)
		rc = start(config, argv[i]);
	if (rc == 0)
		watch();
	for (i = 0; i < nguests; i++)
		if (guests[i].guest != NULL)
			guest_ask_stop(guests[i].guest);
	for (i = 0; i < nguests; i++)
		if (guests[i].guest != NULL)
			guest_stop(guests[i].guest);
	for (i = 0; i < nguests; i++) {
		while (guests[i].manage >= 0)
			move(&guests[i], POLLIN);
		printf("%s received %zu %llu\n", guests[i].name, guests[i].received, (unsigned long long)guests[i].sum);
	}
	return rc;
}
