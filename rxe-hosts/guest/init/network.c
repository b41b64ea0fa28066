/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/init/init.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define GIDS_DIR "/sys/class/infiniband/" INIT_RDMA_DEVICE "/ports/1"
#define MAX_GIDS 16
#define GID_WAIT_NS 5000000000ULL
#define GID_POLL_NS 10000000ULL

/* Runs a program of iproute2 with commands, less than a pipe holds, on its standard input. */
static int
run_with_input(const char *const *argv, const char *input, struct err *err)
{
	int in[2], out[2], status;
	char output[512];
	ssize_t n;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDERR_FILENO);
		execvp(argv[0], (char *const *)argv);
		fprintf(stderr, "%s", strerror(errno));
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	if (pid > 0 && write(in[1], input, strlen(input)) < 0)
		err_set(err, -errno, "%s: %s", argv[0], strerror(errno));
	close(in[1]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_set(err, -errno, "%s: %s", argv[0], strerror(errno));
	n = read(out[0], output, sizeof(output) - 1);
	close(out[0]);
	output[n > 0 ? n : 0] = '\0';
	output[strcspn(output, "\n")] = '\0';
	return status == 0 ? 0 : err_set(err, -EIO, "%s: %s", argv[0], output);
}

/* Nobody here speaks IPv6, and its own greetings would be noise in the fabric. */
static void
silence_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/" INIT_NETDEV "/disable_ipv6", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1", 1) < 0)
		perror("disable_ipv6");
	if (fd >= 0)
		close(fd);
}

/* What `ip -batch` shall do. @return text to free(), or NULL with err set */
static char *
ip_commands(const char *address, struct err *err)
{
	const char *mac = getenv("ROCELAB_MAC"), *mtu = getenv("ROCELAB_MTU");
	size_t size;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL) {
		err_set(err, -errno, "no memory");
		return NULL;
	}
	fputs("link set lo up\n", to);
	if (address != NULL) {
		fputs("link set " INIT_NETDEV, to);
		if (mac != NULL)
			fprintf(to, " address %s", mac);
		if (mtu != NULL)
			fprintf(to, " mtu %s", mtu);
		fprintf(to, " up\naddress add %s dev " INIT_NETDEV "\n", address);
	}
	fclose(to);
	return text;
}

static int
read_line(const char *path, char *line, int cap)
{
	FILE *from = fopen(path, "re");
	char *got;

	if (from == NULL)
		return -errno;
	got = fgets(line, cap, from); /* an empty slot of the table answers EINVAL */
	fclose(from);
	if (got == NULL)
		return -ENOENT;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* @return index of the RoCEv2 GID that holds an IPv4 address, or -ENOENT */
static int
find_gid(struct in_addr ip)
{
	char path[PATH_MAX], text[64], wanted[64];
	const uint8_t *b = (const uint8_t *)&ip;

	snprintf(wanted, sizeof(wanted), "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3]);
	for (int i = 0; i < MAX_GIDS; i++) {
		snprintf(path, sizeof(path), GIDS_DIR "/gids/%d", i);
		if (read_line(path, text, sizeof(text)) < 0 || strcmp(text, wanted) != 0)
			continue;
		snprintf(path, sizeof(path), GIDS_DIR "/gid_attrs/types/%d", i);
		if (read_line(path, text, sizeof(text)) == 0 && strcmp(text, "RoCE v2") == 0)
			return i;
	}
	return -ENOENT;
}

static int
wait_for_gid(const char *address, uint32_t *gid_index, struct err *err)
{
	uint64_t end_ns = clock_now_ns() + GID_WAIT_NS;
	char text[INET_ADDRSTRLEN];
	struct in_addr ip;
	int found;

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(address, "/"), address);
	if (inet_pton(AF_INET, text, &ip) != 1)
		return err_set(err, -EINVAL, "ROCELAB_ADDRESS=%s: not an IPv4 address", address);
	while ((found = find_gid(ip)) < 0) {
		if (clock_now_ns() > end_ns)
			return err_set(err, -ETIMEDOUT, INIT_RDMA_DEVICE " has no RoCEv2 GID for %s after %llu s", text,
				       GID_WAIT_NS / 1000000000ULL);
		clock_sleep_until_ns(clock_now_ns() + GID_POLL_NS);
	}
	*gid_index = (uint32_t)found;
	return 0;
}

int
network_setup(uint32_t *gid_index, struct err *err)
{
	static const char *const ip[] = { "ip", "-batch", "-", NULL };
	static const char *const rdma[] = { "rdma", "-b", "-", NULL };
	const char *address = getenv("ROCELAB_ADDRESS");
	char *commands = ip_commands(address, err);
	int rc;

	*gid_index = UINT32_MAX;
	if (commands == NULL)
		return -EINVAL;
	silence_ipv6();
	rc = run_with_input(ip, commands, err);
	free(commands);
	if (rc < 0 || address == NULL)
		return rc;
	rc = run_with_input(rdma, "link add " INIT_RDMA_DEVICE " type rxe netdev " INIT_NETDEV "\n", err);
	return rc < 0 ? rc : wait_for_gid(address, gid_index, err);
}
