/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rxe-guest-init: process 1 of a guest, or, in a network namespace of the server, the process that holds it.
 * ROCELAB_NAME is the host's name, ROCELAB_COMMAND and ROCELAB_MANAGE are the two channels to the server; init.h
 * describes the rest.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/stdio_guard.h"
#include "rxe-hosts/guest/init/init.h"

static int mounts_setup(bool namespace_only, struct err *err);
static int modules_load(struct err *err);
static int network_setup(uint32_t *gid_index, struct err *err);
static int channel_open(const char *name, struct err *err);

/* Gives programs the usual environment; they may write below /run. */
static void
set_environment(void)
{
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/run", 1);
	setenv("TMPDIR", "/run", 1);
}

int
main(void)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	const char *name = getenv("ROCELAB_NAME"), *command = getenv("ROCELAB_COMMAND"), *manage = getenv("ROCELAB_MANAGE");
	bool namespace_only = getpid() != 1;
	uint32_t gid_index = UINT32_MAX;
	struct err err = { 0 };
	int rc, channel, manage_fd = -1;

	stdio_guard();
	signal(SIGPIPE, SIG_IGN);
	set_environment();
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	rc = mounts_setup(namespace_only, &err);
	if (rc == 0)
		rc = modules_load(&err);
	if (rc == 0 && !namespace_only && name != NULL && sethostname(name, strlen(name)) < 0)
		perror(name);
	channel = command != NULL ? channel_open(command, &err) : err_set(&err, -1, "ROCELAB_COMMAND is not set");
	if (manage != NULL && channel >= 0)
		manage_fd = channel_open(manage, &err);
	if (rc == 0)
		rc = network_setup(&gid_index, &err);
	if (err.text[0] != '\0')
		fprintf(stderr, "rxe-guest-init: %s\n", err.text);
	if (channel >= 0)
		serve(channel, manage_fd, rc < 0 ? -rc : 0, gid_index, err.text);
	if (manage_fd >= 0)
		tcdrain(manage_fd); /* a serial line sends later than it takes */
	if (!namespace_only)
		reboot(RB_POWER_OFF);
	return channel < 0;
}

/* File systems. */

struct mounted {
	const char *type, *dir, *options;
	bool of_namespace; /* shows the contents of a network namespace */
};

/* /tmp stays the server's: files written there for a guest are visible in it. Scratch space is /run. */
static const struct mounted mounts[] = {
	{ "proc", "/proc", NULL, false },     { "sysfs", "/sys", NULL, true },
	{ "devtmpfs", "/dev", NULL, false },  { "devpts", "/dev/pts", "mode=620,ptmxmode=666", false },
	{ "tmpfs", "/dev/shm", NULL, false }, { "tmpfs", "/run", "mode=755", false },
};

#define NMOUNTS ARRAY_LEN(mounts)

/*
 * Mounts the file systems that a guest needs over the server's read-only one.
 * @param namespace_only  a network namespace of the server: only those that depend on it
 * @return 0, or negative errno with err set
 */
static int
mounts_setup(bool namespace_only, struct err *err)
{
	const char *cpuinfo = getenv("ROCELAB_CPUINFO");

	for (size_t i = 0; i < NMOUNTS; i++) {
		const struct mounted *m = &mounts[i];

		if (namespace_only && !m->of_namespace)
			continue;
		if (strncmp(m->dir, "/dev/", 5) == 0)
			mkdir(m->dir, 0755);
		/* EBUSY: the kernel has mounted it already */
		if (mount(m->type, m->dir, m->type, 0, m->options) < 0 && errno != EBUSY)
			return err_set(err, -errno, "mount %s on %s: %s", m->type, m->dir, strerror(errno));
	}
	/* perftest reads the clock rate there, which a user-mode kernel does not know. */
	if (cpuinfo != NULL && mount(cpuinfo, "/proc/cpuinfo", NULL, MS_BIND, NULL) < 0)
		return err_set(err, -errno, "mount %s on /proc/cpuinfo: %s", cpuinfo, strerror(errno));
	return 0;
}

/* Modules of the kernel. */

#define MAX_MODULES 16

/* Loads the modules that ROCELAB_MODULES lists, separated by commas, if any. @return 0, or negative errno with err set */
static int
modules_load(struct err *err)
{
	const char *list = getenv("ROCELAB_MODULES");
	char words[256], *argv[MAX_MODULES + 3] = { "modprobe", "-a" };
	int count = 2, status;
	pid_t pid;

	if (list == NULL)
		return 0;
	snprintf(words, sizeof(words), "%s", list);
	for (char *word = strtok(words, ","); word != NULL && count < MAX_MODULES + 2; word = strtok(NULL, ","))
		argv[count++] = word;
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_set(err, -errno, "%s: %s", argv[0], strerror(errno));
	return status == 0 ? 0 : err_set(err, -EIO, "modprobe %s failed; see the guest's log", list);
}

/* The network. */

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

/*
 * Brings the network up with ROCELAB_ADDRESS, ROCELAB_MAC and ROCELAB_MTU, and adds soft-RoCE to it. Without
 * ROCELAB_ADDRESS: the loopback device only.
 * @param gid_index  of the RoCEv2 GID of the IPv4 address (UINT32_MAX without an address)
 * @return 0, or negative errno with err set
 */
static int
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

/* Channels to the server. */

#define DEVICE_WAIT_NS 10000000000ULL
#define DEVICE_POLL_NS 10000000ULL

/*
 * Opens a channel to the server: a serial device, in raw mode, for which it waits if it is not there yet, or "fd:N", a
 * descriptor that is open already.
 * @return descriptor, blocking and close-on-exec, or negative errno with err set
 */
static int
channel_open(const char *name, struct err *err)
{
	uint64_t end_ns = clock_now_ns() + DEVICE_WAIT_NS;
	struct termios raw;
	int fd;

	if (strncmp(name, "fd:", 3) == 0) {
		fd = atoi(name + 3);
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_RDWR) < 0)
			return err_set(err, -errno, "%s: %s", name, strerror(errno));
		return fd;
	}
	while ((fd = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENOENT &&
	       clock_now_ns() < end_ns)
		clock_sleep_until_ns(clock_now_ns() + DEVICE_POLL_NS);
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", name, strerror(errno));
	fcntl(fd, F_SETFL, O_RDWR);
	if (isatty(fd)) {
		tcgetattr(fd, &raw);
		cfmakeraw(&raw);
		if (tcsetattr(fd, TCSANOW, &raw) < 0) {
			int rc = err_set(err, -errno, "%s: raw mode: %s", name, strerror(errno));

			close(fd);
			return rc;
		}
	}
	return fd;
}
