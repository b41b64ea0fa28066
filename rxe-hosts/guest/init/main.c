/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rxe-guest-init: process 1 of a guest, or, in a network namespace of the server, the process that holds it. It sets the
 * guest up, then serves commands. Its parameters are words of the kernel's command line, which reach it as its environment
 * (for a network namespace: the environment itself): ROCELAB_NAME is the host's name, ROCELAB_COMMAND and ROCELAB_MANAGE
 * are the two channels to the server.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/stdio_guard.h"
#include "rxe-hosts/guest/frame.h"

/* A host's NIC and its RDMA device. */
#define INIT_NETDEV "eth0"
#define INIT_RDMA_DEVICE "rxe0"

static int mounts_setup(bool namespace_only, struct err *err);
static int modules_load(struct err *err);
static int network_setup(uint32_t *gid_index, struct err *err);
static int channel_open(const char *name, struct err *err);
/* Serves commands until the server requests the guest's stop or is gone. hello_text: the error, or "". */
static void serve(int channel, int manage, int hello_error, uint32_t gid_index, const char *hello_text);

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

/* Disables IPv6: no peer speaks it, and the kernel's neighbour discovery would be noise in the fabric. */
static void
silence_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/" INIT_NETDEV "/disable_ipv6", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1", 1) < 0)
		perror("disable_ipv6");
	if (fd >= 0)
		close(fd);
}

/* @return commands for `ip -batch`, text to free(), or NULL with err set */
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

/* Commands that the server starts, one session each. */

/* One command, between its descriptors and the command channel's frames. */

#define SESSION_POLL_FDS 3 /* input, output, errors */

struct session {
	bool used;
	pid_t pid; /* leads a process group of its own */
	bool ended;
	int status; /* once ended: 0..255, or 128 + signal */
	bool pty;
	bool input_ended;              /* close input when its queue is empty */
	int input, output, errors;     /* -1: none; on a terminal input and output are one */
	uint32_t credit;               /* bytes that may be sent to the server */
	size_t input_begin, input_end; /* input that the command has not read yet */
	uint8_t input_queue[GUEST_WINDOW_BYTES];
};

struct server {
	int channel, manage, children;
	bool stop;
	struct frame_in in;
	struct frame_out out;
	struct session sessions[GUEST_MAX_SESSIONS]; /* 0 is never used */
};

static int session_start(struct session *session, const uint8_t *payload, size_t size, int manage);
static int session_input(struct session *session, const uint8_t *bytes, size_t size);
static void session_resize(struct session *session, uint16_t rows, uint16_t cols);
static void session_kill(struct session *session);
static void session_poll(const struct session *session, struct pollfd fds[SESSION_POLL_FDS]);
static int session_move(struct session *session, uint8_t number, const struct pollfd fds[SESSION_POLL_FDS],
			struct frame_out *out);

static int
start(struct server *server, uint8_t number, const uint8_t *payload, size_t size)
{
	struct guest_exit status = { .status = 125 };
	int rc;

	if (server->sessions[number].used)
		return -EPROTO;
	rc = session_start(&server->sessions[number], payload, size, server->manage);
	if (rc == 0)
		return 0;
	fprintf(stderr, "session %d: %s\n", number, strerror(-rc));
	return frame_put(&server->out, GUEST_EXIT, number, &status, sizeof(status));
}

/* @return 0, or negative errno if the server does not speak our protocol */
static int
take(struct server *server, const struct guest_frame *frame, const uint8_t *payload)
{
	struct session *session = &server->sessions[frame->session % GUEST_MAX_SESSIONS];
	struct guest_credit credit;
	struct guest_run run;

	if (frame->type == GUEST_POWEROFF) {
		server->stop = true;
		return 0;
	}
	if (frame->session == 0 || frame->session >= GUEST_MAX_SESSIONS)
		return -EPROTO;
	if (frame->type == GUEST_RUN)
		return start(server, frame->session, payload, frame->size);
	if (!session->used) /* it ended while this frame was in flight */
		return 0;
	switch (frame->type) {
	case GUEST_STDIN:
		return session_input(session, payload, frame->size);
	case GUEST_CREDIT:
		if (frame->size != sizeof(credit))
			return -EPROTO;
		memcpy(&credit, payload, sizeof(credit));
		if (credit.bytes > GUEST_WINDOW_BYTES - session->credit)
			return -EPROTO;
		session->credit += credit.bytes;
		return 0;
	case GUEST_WINDOW:
		if (frame->size != sizeof(run))
			return -EPROTO;
		memcpy(&run, payload, sizeof(run));
		session_resize(session, run.rows, run.cols);
		return 0;
	case GUEST_HANGUP:
		session_kill(session);
		return 0;
	default:
		return -EPROTO;
	}
}

static void
reap(struct server *server)
{
	struct signalfd_siginfo info;
	int raw;
	pid_t pid;

	while (read(server->children, &info, sizeof(info)) > 0)
		continue;
	while ((pid = waitpid(-1, &raw, WNOHANG)) > 0)
		for (int i = 1; i < GUEST_MAX_SESSIONS; i++) {
			struct session *session = &server->sessions[i];

			if (!session->used || session->pid != pid)
				continue;
			session->ended = true;
			session->status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
		}
}

static int
receive(struct server *server)
{
	struct guest_frame frame;
	const uint8_t *payload;
	int rc = frame_fill(&server->in, server->channel), more = 0;

	if (rc <= 0)
		return rc < 0 ? rc : -EPIPE;
	while ((more = frame_next(&server->in, &frame, &payload)) > 0) {
		rc = take(server, &frame, payload);
		if (rc < 0)
			return rc;
	}
	return more;
}

/* Waits once and handles the events. */
static int
turn(struct server *server)
{
	struct pollfd fds[2 + GUEST_MAX_SESSIONS * SESSION_POLL_FDS];
	bool draining = false;
	int rc = 0;

	fds[0] = (struct pollfd){ .fd = server->channel,
				  .events = (short)(POLLIN | (frame_pending(&server->out) > 0 ? POLLOUT : 0)) };
	fds[1] = (struct pollfd){ .fd = server->children, .events = POLLIN };
	for (int i = 0; i < GUEST_MAX_SESSIONS; i++) {
		struct pollfd *own = &fds[2 + i * SESSION_POLL_FDS];

		memset(own, 0xff, SESSION_POLL_FDS * sizeof(*own));
		if (server->sessions[i].used) {
			session_poll(&server->sessions[i], own);
			draining |= server->sessions[i].ended && server->sessions[i].credit > 0;
		}
	}
	if (poll(fds, ARRAY_LEN(fds), draining ? 0 : -1) < 0 && errno != EINTR)
		return -errno;
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		rc = receive(server);
	if (fds[1].revents != 0)
		reap(server);
	for (uint8_t i = 1; i < GUEST_MAX_SESSIONS && rc == 0; i++) {
		struct pollfd *own = &fds[2 + i * SESSION_POLL_FDS];

		if (server->sessions[i].used)
			rc = session_move(&server->sessions[i], i, own, &server->out);
	}
	return rc < 0 ? rc : frame_flush(&server->out, server->channel);
}

static int
send_hello(struct server *server, int error, uint32_t gid_index, const char *text)
{
	struct guest_hello hello = { .magic = GUEST_MAGIC, .error = (uint32_t)error, .gid_index = gid_index };
	uint8_t bytes[sizeof(hello) + 1024];
	size_t length = strnlen(text, sizeof(bytes) - sizeof(hello));

	memcpy(bytes, &hello, sizeof(hello));
	memcpy(bytes + sizeof(hello), text, length);
	return frame_put(&server->out, GUEST_HELLO, 0, bytes, sizeof(hello) + length);
}

static void
serve(int channel, int manage, int hello_error, uint32_t gid_index, const char *hello_text)
{
	static struct server server;
	sigset_t children;
	int rc;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	fcntl(channel, F_SETFL, O_RDWR | O_NONBLOCK);
	server.channel = channel;
	server.manage = manage;
	server.children = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
	rc = server.children < 0 ? -errno : send_hello(&server, hello_error, gid_index, hello_text);
	while (rc == 0 && !server.stop)
		rc = turn(&server);
	if (rc < 0)
		fprintf(stderr, "command channel: %s\n", strerror(-rc));
	for (int i = 1; i < GUEST_MAX_SESSIONS; i++)
		if (server.sessions[i].used)
			session_kill(&server.sessions[i]);
	frame_out_fini(&server.out);
}

/* One command that runs in the guest. */

#define MAX_ARGS 256

/* GUEST_RUN, taken apart. */
struct command {
	struct guest_run run;
	char text[GUEST_MAX_PAYLOAD + 1];
	const char *term, *dir;
	char *argv[MAX_ARGS + 1];
};

static int
parse(struct command *command, const uint8_t *payload, size_t size)
{
	const char *strings[MAX_ARGS + 2];
	size_t count = 0, length;

	if (size <= sizeof(command->run))
		return -EPROTO;
	memcpy(&command->run, payload, sizeof(command->run));
	length = size - sizeof(command->run);
	memcpy(command->text, payload + sizeof(command->run), length);
	if (command->text[length - 1] != '\0')
		return -EPROTO;
	for (char *p = command->text; p < command->text + length; p += strlen(p) + 1) {
		if (count == MAX_ARGS + 2)
			return -E2BIG;
		strings[count++] = p;
	}
	if (count < 3)
		return -EPROTO;
	command->term = strings[0];
	command->dir = strings[1];
	for (size_t i = 2; i < count; i++)
		command->argv[i - 2] = (char *)strings[i];
	command->argv[count - 2] = NULL;
	return 0;
}

/* Runs the command in the new process. */
static void __attribute__((noreturn)) execute(const struct command *command, int manage)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a namespace, other than a kernel, does not end with its init */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (command->term[0] != '\0')
		setenv("TERM", command->term, 1);
	if (chdir(command->dir) < 0 && chdir("/") < 0)
		fprintf(stderr, "%s: %s\n", command->dir, strerror(errno));
	if (command->run.flags & GUEST_RUN_MANAGE)
		dup2(manage, GUEST_MANAGE_FD); /* the copy is not close-on-exec */
	execvp(command->argv[0], command->argv);
	fprintf(stderr, "%s: %s\n", command->argv[0], strerror(errno));
	_exit(errno == EACCES ? 126 : 127);
}

static int
start_on_terminal(struct session *session, const struct command *command)
{
	struct winsize size = { .ws_row = command->run.rows, .ws_col = command->run.cols };
	int master;

	session->pid = forkpty(&master, NULL, NULL, &size);
	if (session->pid == 0)
		execute(command, -1);
	if (session->pid < 0)
		return -errno;
	session->input = session->output = master;
	return 0;
}

static int
start_on_pipes(struct session *session, const struct command *command, int manage)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }, rc = 0;

	for (int i = 0; i < 3 && rc == 0; i++)
		rc = pipe2(pipes[i], O_CLOEXEC) < 0 ? -errno : 0;
	if (rc == 0) {
		session->pid = fork();
		rc = session->pid < 0 ? -errno : 0;
	}
	if (rc == 0 && session->pid == 0) {
		setsid();
		dup2(pipes[0][0], STDIN_FILENO);
		dup2(pipes[1][1], STDOUT_FILENO);
		dup2(pipes[2][1], STDERR_FILENO);
		execute(command, manage);
	}
	for (int i = 0; i < 3; i++) {
		close(pipes[i][i == 0 ? 0 : 1]);
		if (rc < 0)
			close(pipes[i][i == 0 ? 1 : 0]);
	}
	session->input = pipes[0][1];
	session->output = pipes[1][0];
	session->errors = pipes[2][0];
	return rc;
}

/*
 * Starts a command. A program that cannot be executed ends with 127 and an error message on its standard error.
 * @param payload  of GUEST_RUN
 * @param manage   descriptor for GUEST_RUN_MANAGE, or -1
 * @return 0, or negative errno
 */
static int
session_start(struct session *session, const uint8_t *payload, size_t size, int manage)
{
	static struct command command; /* too large for the stack of a small guest */
	int rc = parse(&command, payload, size);

	if (rc < 0)
		return rc;
	*session = (struct session){ .input = -1, .output = -1, .errors = -1, .credit = GUEST_WINDOW_BYTES };
	session->pty = command.run.flags & GUEST_RUN_PTY;
	rc = session->pty ? start_on_terminal(session, &command) : start_on_pipes(session, &command, manage);
	if (rc < 0)
		return rc;
	fcntl(session->input, F_SETFL, O_RDWR | O_NONBLOCK);
	fcntl(session->output, F_SETFL, O_RDWR | O_NONBLOCK);
	if (session->errors >= 0)
		fcntl(session->errors, F_SETFL, O_RDWR | O_NONBLOCK);
	session->used = true;
	return 0;
}

/* Queues input; an empty one is its end. @return 0, or -ENOBUFS when the server overspends its credit */
static int
session_input(struct session *session, const uint8_t *bytes, size_t size)
{
	size_t queued = session->input_end - session->input_begin;

	if (size == 0)
		session->input_ended = true;
	if (queued + size > sizeof(session->input_queue))
		return -ENOBUFS;
	if (session->input_end + size > sizeof(session->input_queue)) {
		memmove(session->input_queue, session->input_queue + session->input_begin, queued);
		session->input_begin = 0;
		session->input_end = queued;
	}
	memcpy(session->input_queue + session->input_end, bytes, size);
	session->input_end += size;
	return 0;
}

/* Sets the new size of the terminal. */
static void
session_resize(struct session *session, uint16_t rows, uint16_t cols)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };

	if (session->pty && session->output >= 0)
		ioctl(session->output, TIOCSWINSZ, &size);
}

/* Ends the command and all that it started in its process group. */
static void
session_kill(struct session *session)
{
	if (!session->ended)
		kill(-session->pid, SIGKILL);
}

static bool
wants_input(const struct session *session)
{
	return session->input >= 0 && session->input_end > session->input_begin;
}

/* Fills the descriptors to poll; unused ones are -1. */
static void
session_poll(const struct session *session, struct pollfd fds[SESSION_POLL_FDS])
{
	bool may_send = session->credit > 0;

	fds[0] = (struct pollfd){ .fd = wants_input(session) ? session->input : -1, .events = POLLOUT };
	fds[1] = (struct pollfd){ .fd = may_send ? session->output : -1, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = may_send ? session->errors : -1, .events = POLLIN };
}

static void
close_input(struct session *session)
{
	static const char end_of_file = 4; /* the character that a user would type at a terminal */

	if (session->pty && session->input >= 0) {
		if (write(session->input, &end_of_file, 1) < 0)
			return; /* its queue is full: at the next turn */
	} else if (session->input >= 0) {
		close(session->input);
	}
	session->input = -1;
	session->input_ended = false;
}

static int
move_input(struct session *session, uint8_t number, struct frame_out *out)
{
	ssize_t n = write(session->input, session->input_queue + session->input_begin,
			  session->input_end - session->input_begin);
	struct guest_credit credit;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0) /* the reader is gone: further output is discarded */
		n = (ssize_t)(session->input_end - session->input_begin);
	session->input_begin += (size_t)n;
	credit.bytes = (uint32_t)n;
	return frame_put(out, GUEST_CREDIT, number, &credit, sizeof(credit));
}

/* Reads one of the outputs; closes it at its end. @return whether there was something or may be more: 1, 0, or error */
static int
move_output(struct session *session, uint8_t number, int *fd, enum guest_frame_type type, struct frame_out *out)
{
	uint8_t bytes[4096];
	size_t cap = session->credit < sizeof(bytes) ? session->credit : sizeof(bytes);
	ssize_t n;
	int rc;

	if (*fd < 0 || cap == 0)
		return *fd >= 0;
	n = read(*fd, bytes, cap);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* a terminal ends with EIO */
		if (session->input == *fd)
			session->input = -1;
		close(*fd);
		*fd = -1;
		return 0;
	}
	session->credit -= (uint32_t)n;
	rc = frame_put(out, type, number, bytes, (size_t)n);
	return rc < 0 ? rc : 1;
}

static int
finish(struct session *session, uint8_t number, struct frame_out *out)
{
	struct guest_exit status = { .status = (uint32_t)session->status };

	if (session->input >= 0 && session->input != session->output)
		close(session->input);
	if (session->output >= 0)
		close(session->output);
	if (session->errors >= 0)
		close(session->errors);
	session->used = false;
	return frame_put(out, GUEST_EXIT, number, &status, sizeof(status));
}

/*
 * Moves bytes by the results of poll(); queues frames for the server, GUEST_EXIT last, which frees the session.
 * @return 0, or negative errno of frame_put()
 */
static int
session_move(struct session *session, uint8_t number, const struct pollfd fds[SESSION_POLL_FDS], struct frame_out *out)
{
	int rc = 0, output = 0, errors = 0;

	if (fds[0].revents != 0)
		rc = move_input(session, number, out);
	if (session->input_ended && !wants_input(session))
		close_input(session);
	if (rc == 0 && (fds[1].revents != 0 || session->ended))
		output = move_output(session, number, &session->output, GUEST_STDOUT, out);
	if (rc == 0 && (fds[2].revents != 0 || session->ended))
		errors = move_output(session, number, &session->errors, GUEST_STDERR, out);
	if (rc < 0 || output < 0 || errors < 0)
		return rc < 0 ? rc : output < 0 ? output : errors;
	/*
	 * The program's children may keep its outputs open: the session is over when the program has ended and both are
	 * empty.
	 */
	return session->ended && output == 0 && errors == 0 ? finish(session, number, out) : 0;
}
