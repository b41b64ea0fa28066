/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/testpmd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define PROGRAM "dpdk-testpmd"
#define POLL_MS 20
#define MAX_OUTPUT 65536
#define MAX_ARGS 32
#define TRIES 3 /* the longer of two runs may get less of a busy machine than the shorter */

const struct testpmd_times testpmd_measurement = { .short_ns = 800000000, .long_ns = 2300000000, .end_ns = 10000000000 };

struct testpmd_run {
	double packets, cpu_ns;
};

static bool
is_there(const struct testpmd_ports *ports, unsigned port)
{
	return ports->devices[port][0] != '\0';
}

/* @return how many ports it has when it starts */
static unsigned
early(const struct testpmd_ports *ports)
{
	unsigned count = 0;

	while (count < TESTPMD_PORTS && is_there(ports, count))
		count++;
	return count - ports->late;
}

static noreturn void
become_testpmd(const char *mode, const char *dir, const struct testpmd_ports *ports, const int in[2], const int out[2])
{
	char forward[64], lcores[64];
	long last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	const char *args[MAX_ARGS] = { PROGRAM,       "--no-huge",      "-m",       "256", "--no-pci",
				       "--no-shconf", "--no-telemetry", "--lcores", lcores };
	unsigned count = 9;

	snprintf(lcores, sizeof(lcores), "0@(0-%ld),1@(0-%ld)", last, last); /* one controls, one forwards */
	snprintf(forward, sizeof(forward), "--forward-mode=%s", mode);
	for (unsigned i = 0; i < early(ports); i++) {
		args[count++] = "--vdev";
		args[count++] = ports->devices[i];
	}
	args[count++] = "--";
	args[count++] = forward;
	args[count++] = "--mbuf-size=10490";
	args[count++] = "--total-num-mbufs=8191";
	if (ports->frame_bytes != 0)
		args[count++] = "--interactive";
	else if (ports->goes_round)
		args[count++] = "--tx-first";
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("RUNTIME_DIRECTORY", dir, 1);
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	dup2(out[1], STDERR_FILENO);
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
	execvp(PROGRAM, (char *const *)args);
	_exit(127);
}

/* Commands that start packets of a size. */
static void
begin(const struct testpmd_ports *ports, int in)
{
	dprintf(in, "set txpkts %u\n", ports->frame_bytes);
	for (unsigned i = early(ports); i < early(ports) + ports->late; i++)
		dprintf(in, "port attach %s\n", ports->devices[i]);
	dprintf(in, "port start all\nstart tx_first 2\n");
}

/* A guest ends before its switch. */
static void
end(const struct testpmd_ports *ports, int in)
{
	dprintf(in, "stop\n");
	for (unsigned i = early(ports) + ports->late; i-- > early(ports);)
		dprintf(in, "port stop %u\nport close %u\n", i, i);
	dprintf(in, "quit\n");
}

/* @return bytes that it printed, 0: no more arrive by then, or it prints nothing */
static size_t
receive(int fd, char *to, size_t cap, uint64_t deadline_ns)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n;

	while (clock_now_ns() < deadline_ns)
		if (poll(&wait, 1, POLL_MS) > 0) {
			n = read(fd, to, cap);
			return n > 0 ? (size_t)n : 0;
		}
	return 0;
}

/* Reads its output to the end. @return packets of its last count, that of all ports; negative: none */
static double
read_packets(int fd, uint64_t deadline_ns)
{
	static const char label[] = "TX-packets:";
	char *text = malloc(MAX_OUTPUT), *last = NULL;
	size_t used = 0, n;
	double packets = -1;

	if (text == NULL)
		return -1;
	while (used < MAX_OUTPUT - 1 && (n = receive(fd, text + used, MAX_OUTPUT - 1 - used, deadline_ns)) > 0)
		used += n;
	text[used] = '\0';
	for (char *at = text; (at = strstr(at, label)) != NULL; at++)
		last = at;
	if (last != NULL)
		packets = strtod(last + sizeof(label) - 1, NULL);
	free(text);
	return packets;
}

/* Waits for its end, and forces it at the limit. @return did it end by itself, and well? */
static bool
wait_for(pid_t pid, uint64_t deadline_ns, struct rusage *usage)
{
	bool killed = false;
	int status;
	pid_t got;

	while ((got = wait4(pid, &status, killed ? 0 : WNOHANG, usage)) == 0) {
		if (clock_now_ns() >= deadline_ns)
			killed = kill(pid, SIGKILL) == 0;
		else
			poll(NULL, 0, POLL_MS);
	}
	return got == pid && !killed && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Runs a started testpmd, whose input and output are open, for a length of time, and waits for its end. */
static int
follow(pid_t pid, const struct testpmd_ports *ports, const int ends[2], uint64_t length_ns, uint64_t end_ns,
       struct testpmd_run *run)
{
	struct rusage usage;
	uint64_t deadline_ns;

	if (ports->frame_bytes != 0)
		begin(ports, ends[0]);
	clock_sleep_until_ns(clock_now_ns() + length_ns);
	if (ports->frame_bytes != 0)
		end(ports, ends[0]);
	close(ends[0]); /* the end of its input is its own */
	deadline_ns = clock_now_ns() + end_ns;
	run->packets = read_packets(ends[1], deadline_ns);
	close(ends[1]);
	if (!wait_for(pid, deadline_ns, &usage) || run->packets < 0)
		return -EIO;
	run->cpu_ns = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
		      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
	return 0;
}

static int
run_once(const char *mode, const char *dir, const struct testpmd_ports *ports, uint64_t length_ns, uint64_t end_ns,
	 struct testpmd_run *run, struct err *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int in[2], out[2], ret;
	pid_t pid;

	if (pipe(in) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	if (pipe(out) < 0) {
		ret = err_set(err, -errno, "pipe: %s", strerror(errno));
		close(in[0]);
		close(in[1]);
		return ret;
	}
	pid = fork();
	if (pid == 0)
		become_testpmd(mode, dir, ports, in, out);
	close(in[0]);
	close(out[1]);
	if (pid < 0) {
		ret = err_set(err, -errno, "fork: %s", strerror(errno));
		close(in[1]);
		close(out[0]);
		return ret;
	}
	sigaction(SIGPIPE, &ignore, &before); /* a write to one that has ended must not end this program */
	ret = follow(pid, ports, (int[2]){ in[1], out[0] }, length_ns, end_ns, run);
	sigaction(SIGPIPE, &before, NULL);
	return ret == 0 ? 0
			: err_set(err, ret, PROGRAM " --forward-mode=%s failed, or did not end within %.1f s of the signal",
				  mode, (double)end_ns / 1e9);
}

double
testpmd_packet_ns(const char *mode, const char *dir, const struct testpmd_ports *ports, const struct testpmd_times *times,
		  struct err *err)
{
	double sends = is_there(ports, 2) ? 2 : 1; /* a round of four ports */

	if (system("command -v " PROGRAM " >/dev/null 2>&1") != 0)
		return 0;
	for (int i = 0; i < TRIES; i++) {
		struct testpmd_run brief = { 0 }, more = { 0 };

		if (run_once(mode, dir, ports, times->short_ns, times->end_ns, &brief, err) < 0 ||
		    run_once(mode, dir, ports, times->long_ns, times->end_ns, &more, err) < 0)
			return -1;
		if (more.packets > brief.packets && more.cpu_ns > brief.cpu_ns)
			return sends * (more.cpu_ns - brief.cpu_ns) / (more.packets - brief.packets);
	}
	return err_set(err, -EIO,
		       PROGRAM " had no more of the CPUs in %.1f s than in %.1f s, %d times: this machine is too busy",
		       (double)times->long_ns / 1e9, (double)times->short_ns / 1e9, TRIES);
}
