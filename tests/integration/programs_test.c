/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpswitch, dpswitch-forward and analyzer as programs: what their command lines refuse and with which exit code, what a run
 * leaves in its folder, and what a running fabric reports over DPDK's telemetry.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/clock.h"
#include "tests/unit/unit.h"

#define TEXT_BYTES 65536
#define LIMIT_S 120

static char dir[] = "/tmp/rocelab-programs-XXXXXX";

/* Rates of three senders into one host: a queue that pauses its senders for as long as the run goes on, in real time. */
static const char incast[] = "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "
			     "\"200Mbps\"; delay = \"50us\"; };\n"
			     "timing = { clock = \"real\"; };\n"
			     "limits = { virtual_time = \"60s\"; };\n"
			     "host = { cc = \"none\"; window = \"1MB\"; };\n"
			     "switch = { pfc = { model = \"static\"; xoff = \"10KB\"; }; };\n"
			     "flows = ( { src = \"h0\"; dst = \"h2\"; sport = 49152; bytes = \"1GB\"; },\n"
			     "          { src = \"h1\"; dst = \"h2\"; sport = 49153; bytes = \"1GB\"; },\n"
			     "          { src = \"h3\"; dst = \"h2\"; sport = 49154; bytes = \"1GB\"; } );\n";

static const char ring[] = "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 1; rate = "
			   "\"100Gbps\"; delay = \"1us\"; };\n"
			   "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = 100000; } );\n";

/* Frames of two hosts, each to the other, over one switch. */
static const char pairs[] = "topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"20us\"; switches = [ \"s0\" ]; "
			    "hosts = [ \"a\", \"b\" ];\n"
			    "             links = ( \"a s0\", \"s0 b\" ); };\n"
			    "flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1MB\"; } );\n";

static void
put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* @return static: the start of a file, "" where there is none */
static const char *
text_of(const char *name)
{
	static char text[TEXT_BYTES];
	char path[256];
	size_t got = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (file != NULL) {
		got = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[got] = '\0';
	return text;
}

static bool
is_there(const char *name)
{
	return text_of(name)[0] != '\0';
}

static int
make(void **state)
{
	char path[256];

	(void)state;
	if (getenv("ROCELAB_BUILD") == NULL || mkdtemp(dir) == NULL)
		return -1;
	put("incast.cfg", incast);
	put("ring.cfg", ring);
	put("pairs.cfg", pairs);
	put("token", "secret\n");
	for (const char *const *name = (const char *const[]){ "run", "piped", "tried", "shared", NULL }; *name != NULL;
	     name++) {
		snprintf(path, sizeof(path), "%s/%s", dir, *name);
		if (mkdir(path, 0700) != 0)
			return -1;
	}
	return 0;
}

static int
clear(void **state)
{
	char line[256];

	(void)state;
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return system(line);
}

/*
 * @param before  of a shell, in front of the program: assignments, or another one that starts it
 * @param words   of a shell, after the program; output to DIR/out and DIR/err
 * @return exit code
 */
static int
run_by(const char *before, const char *program, const char *words)
{
	char line[8192];
	int status;

	snprintf(line, sizeof(line), "cd %s && %s timeout %d '%s/%s' %s >out 2>err </dev/null", dir, before, LIMIT_S,
		 getenv("ROCELAB_BUILD"), program, words);
	status = system(line);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
run(const char *program, const char *words)
{
	return run_by("", program, words);
}

struct call {
	const char *words;
	int code;
	const char *reported; /* on standard error */
};

static void
call_all(const char *program, const struct call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int code = run(program, calls[i].words);

		if (code != calls[i].code || strstr(text_of("err"), calls[i].reported) == NULL)
			fail_msg("%s %s: %d, not %d with \"%s\": %s", program, calls[i].words, code, calls[i].code,
				 calls[i].reported, text_of("err"));
	}
}

static void
dpswitch_refuses(void **state)
{
	static const struct call calls[] = {
		{ "", 2, "which scenario?" },
		{ "nowhere.cfg", 2, "nowhere.cfg" },
		{ "--no-such ring.cfg", 2, "--no-such" },
		{ "--lcores 0 ring.cfg", 2, "--lcores 0: give a number from 1" },
		{ "--capture-bytes 13 ring.cfg", 2, "--capture-bytes 13: give 14 B at least and 65535 B at most" },
		{ "--capture-bytes 64KB1 ring.cfg", 2, "--capture-bytes 64KB1: give a size" },
		{ "--capture-limit 5 ring.cfg", 2, "--capture-limit 5: give 1000 B at least" },
		{ "--capture $(printf '%070000d' 0) ring.cfg", 2, "--capture: more than 65535 B of names" },
		{ "--capture h0:99 ring.cfg --out run", 2, "h0:99" },
		{ "--partition 0 ring.cfg", 2, "\"0\" is no partition: give I/N" },
		{ "--partition 0/2 ring.cfg", 2, "must be given together" },
		{ "--partitions-at ./a,./b ring.cfg", 2, "must be given together" },
		{ "--partition 0/2 --partitions-at ./a,./b --processes ring.cfg", 2, "numbered by mpirun" },
		{ "--processes --status status --token token --management m ring.cfg", 2,
		  "MPI" }, /* no job, or none built in */
		{ "--analyzer nowhere --out run ring.cfg", 3, "no analyzer there" },
		{ "--diagnoser ./nowhere --out run ring.cfg", 2, "./nowhere" },
		{ "--out ring.cfg/absent ring.cfg", 2, "ring.cfg/absent: no files can be written there" },
		{ "--seed x ring.cfg", 2, "--seed:1: seed: found \"x\"; an integer would be right" },
		{ "--seed '' ring.cfg", 2, "--seed: found \"\", which no seed can be" },
		{ "--set seed=x ring.cfg", 2, "seed" },
		{ "--eal --no-such --out run ring.cfg", 2, "DPDK's EAL does not start with" },
		{ "--eal \"$(printf ' -v%.0s' $(seq 70))\" --out run ring.cfg", 2, "--eal: more than 64 words" },
		{ "--eal \"$(printf '%01100d' 0)\" --out run ring.cfg", 2, "or 1024 characters" },
		{ "--partition 0/2 --partitions-at ./a,./b ring.cfg", 2, "real" },
		{ "$(printf ' --diagnoser ./p%.0s' $(seq 9)) --out run ring.cfg", 2, "diagnoser" },
		{ "--processes --status absent/status --out run ring.cfg", 2, "MPI" },
		{ "--processes --status $(printf '%05000d' 0) --out run ring.cfg", 2, "MPI" },
		{ "--try-port nowhere --out tried", 1, "" },
		{ "--calibration absent", 1, "absent/" },
		{ "--calibration tried --eal --no-such", 1, "DPDK's EAL does not start with 64 MB and --no-such" },
		{ "--calibration tried --eal '-m 2 --no-huge'", 1, "for the calibration" },
		{ "--try-port net_null0 --out absent", 1, "absent/" },
	};

	(void)state;
	call_all("dpswitch/dpswitch", calls, ARRAY_LEN(calls));
	assert_string_not_equal(text_of("status"), ""); /* its number, and its end */
	assert_non_null(strstr(text_of("status"), "\n2\n"));
	assert_false(is_there("tried/calibration.json"));
}

/* A misspelt level is refused by each program, before it does anything. */
static void
log_levels_are_known(void **state)
{
	static const char *const programs[] = { "dpswitch/dpswitch", "dpswitch/dpswitch-forward", "diag/analyzer" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		assert_int_equal(run_by("ROCELAB_LOG=loud", programs[i], "--out run ring.cfg"), 2);
		assert_non_null(strstr(text_of("err"), "ROCELAB_LOG=loud: error, warning, info or debug would be right"));
	}
}

static void
a_port_is_tried(void **state)
{
	(void)state;
	assert_int_equal(run("dpswitch/dpswitch", "--try-port nowhere --out tried"), 1);
	assert_non_null(strstr(text_of("tried/port.txt"), "\"nowhere\""));
	assert_int_equal(run("dpswitch/dpswitch", "--try-port net_null0 --eal '--vdev net_null0' --out tried"), 0);
	assert_string_equal(text_of("tried/port.txt"), "");
	assert_int_equal(run("dpswitch/dpswitch", "--try-port net_null0 --eal --no-such --out tried"), 1);
	assert_non_null(strstr(text_of("tried/port.txt"), "DPDK's EAL does not start with"));
}

static void
a_hop_is_calibrated(void **state)
{
	double ns = 0;

	(void)state;
	assert_int_equal(run("dpswitch/dpswitch", "--calibration tried"), 0);
	assert_int_equal(sscanf(text_of("tried/calibration.json"), "{ \"macswap_ns\": %lf }", &ns), 1);
	assert_true(ns > 0.1);
}

/* What the kernel says of hugepages is replaced, in a mount namespace of the program's own. */
#define FREE_HUGEPAGES "unshare --map-root-user --mount sh -c 'mount -t tmpfs none /sys/kernel/mm && %s && exec \"$@\"' sh"

/*
 * Hugepages were counted as free, and EAL gets none: another program was faster. The run goes on without, and so does one
 * on a kernel that has none, or keeps their number to itself.
 */
static void
hugepages_may_be_gone(void **state)
{
	static const char *const kernels[] = {
		"true",
		"mkdir -p /sys/kernel/mm/hugepages/hugepages-2048kB /sys/kernel/mm/hugepages/none",
		"mkdir -p /sys/kernel/mm/hugepages/hugepages-2048kB && echo x "
		">/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
		"mkdir -p /sys/kernel/mm/hugepages/hugepages-2048kB && echo 4096 "
		">/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
	};

	(void)state;
	if (system("unshare --map-root-user --mount mount -t tmpfs none /sys/kernel/mm 2>/dev/null") != 0)
		skip();
	for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
		char before[1024];
		bool without = i == ARRAY_LEN(kernels) - 1;

		snprintf(before, sizeof(before), FREE_HUGEPAGES, kernels[i]);
		if (run_by(before, "dpswitch/dpswitch", "--seed 7 --out run ring.cfg") != 0)
			fail_msg("%s: %s", kernels[i], text_of("err"));
		if ((strstr(text_of("err"), "does not start with hugepages: without them") != NULL) != without)
			fail_msg("%s: %s", kernels[i], text_of("err"));
		assert_non_null(strstr(text_of("run/run.json"), "\"seed\": 7")); /* the same command line */
	}
}

/* An lcore polls a CPU alone: more lcores than CPUs are refused, with the number that there is. */
static void
lcores_have_a_cpu_each(void **state)
{
	cpu_set_t before, one;
	int first = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(first, &before))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(run("dpswitch/dpswitch", "--lcores 2 --out run ring.cfg"), 2);
	assert_non_null(
		strstr(text_of("err"), "this process may use 1 CPUs, and an lcore polls one alone; give at most 1"));
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	if (CPU_COUNT(&before) == 1)
		return;
	assert_int_equal(run("dpswitch/dpswitch", "--lcores 2 --out run ring.cfg"), 0);
	assert_int_equal(run("dpswitch/dpswitch", "--eal '--no-huge --no-pci --' --out run ring.cfg"), 2);
	assert_non_null(strstr(text_of("err"), "lcores, not 1: no \"--\", and no option without its value"));
}

static void
a_run_leaves_its_files(void **state)
{
	(void)state;
	assert_int_equal(run("dpswitch/dpswitch",
			     "--capture h0:1 --capture h1:1,l0:1 --capture-bytes 128 --capture-limit 1MB "
			     "--seed 7 --brief --eal '--log-level lib.eal:error -m 256 --no-huge' --out run "
			     "ring.cfg"),
			 0);
	assert_true(is_there("run/records.bin") && is_there("run/steps.csv") && is_there("run/capture.pcapng"));
	assert_non_null(strstr(text_of("run/run.json"), "\"complete\""));
	assert_non_null(strstr(text_of("run/run.json"), "\"seed\": 7"));
	/* the reader of its output has gone: files are written all the same */
	assert_int_equal(run("dpswitch/dpswitch", "--out piped ring.cfg | true"), 0);
	assert_non_null(strstr(text_of("piped/run.json"), "\"complete\""));
}

static void
analyzer_refuses(void **state)
{
	static const struct call calls[] = {
		{ "", 2, "give either --listen or --read" },
		{ "--read a --listen b --out report", 2, "give either --listen or --read" },
		{ "--read run/records.bin", 2, "give --out" },
		{ "--listen socket --detection-times --out report", 2, "--detection-times takes a recorded stream" },
		{ "--read run/records.bin --arrivals times --out report", 2, "--arrivals takes a live stream" },
		{ "--read run/records.bin --out report --diagnoser nobody", 2,
		  "--diagnoser nobody: it is none of vedrfolnir, flowpulse, flowtracer, pingmesh" },
		{ "--read run/records.bin --out report --done 2", 2, "--done 2: give a number from 3" },
		{ "--read run/records.bin --out report --degradation x", 2, "--degradation=x" },
		{ "--read run/records.bin --out report --pingmesh-algorithm x", 2, "--pingmesh-algorithm=x" },
		{ "--no-such", 2, "--no-such" },
		{ "--read nowhere --out report", 2, "nowhere" },
		{ "--read ring.cfg --out report", 2, "not a record stream" },
		{ "--read run/records.bin --out report --costs nowhere", 1,
		  "nowhere cannot be read: it has no costs of a twin" },
		{ "--read run/records.bin --out ring.cfg", 1, "ring.cfg" },
		{ "--read run/records.bin --out report --cpu absent/cpu", 1, "absent" },
		{ "--listen absent/socket --out report", 2, "absent/socket" },
		{ "--read run/records.bin --out report --print >/dev/full 2>err; exit $? #", 1,
		  "standard output cannot be written" },
	};

	(void)state;
	assert_true(is_there("run/records.bin"));
	call_all("diag/analyzer", calls, ARRAY_LEN(calls));
}

static void
analyzer_reports(void **state)
{
	static const struct call calls[] = {
		{ "--read run/records.bin --out all --print --detection-times --cpu cpu", 0, "" },
		{ "--read run/records.bin --out one --diagnoser vedrfolnir --port-share senders --quiet --done 3 3>done", 0,
		  "" },
		{ "--read run/records.bin --out other --diagnoser ./absent", 0, "" },
		/* findings of programs: none, damaged */
		{ "--read run/records.bin --out without --plugins absent.json", 0, "" },
		{ "--read run/records.bin --out without --plugins ring.cfg", 0, "the verdict does not include it" },
	};

	(void)state;
	call_all("diag/analyzer", calls, 1);
	assert_non_null(strstr(text_of("out"), "The network is innocent."));
	assert_non_null(strstr(text_of("cpu"), "cpu_s"));
	assert_true(is_there("all/report.html") && is_there("all/report.txt"));
	call_all("diag/analyzer", &calls[1], ARRAY_LEN(calls) - 1);
	assert_string_equal(text_of("out"), "");
	assert_non_null(strstr(text_of("one/verdict.json"), "\"innocent\""));
}

/* A run's records over a socket: the verdict is that of its recording, and its portions have times. */
static void
analyzer_listens(void **state)
{
	char line[1024];
	pid_t pid;
	int status;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		snprintf(line, sizeof(line), "%s/diag/analyzer", getenv("ROCELAB_BUILD"));
		if (chdir(dir) == 0)
			execl(line, line, "--listen", "socket", "--out", "live", "--arrivals", "arrivals", "--quiet", NULL);
		_exit(127);
	}
	for (uint32_t tries = 0; tries < LIMIT_S * 100; tries++) {
		struct stat st;

		snprintf(line, sizeof(line), "%s/socket", dir);
		if (stat(line, &st) == 0)
			break;
		clock_sleep_until_ns(clock_now_ns() + 10000000);
	}
	assert_int_equal(run("dpswitch/dpswitch", "--analyzer socket --quiet --out run ring.cfg"), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_non_null(strstr(text_of("live/verdict.json"), "\"innocent\""));
	assert_int_equal(strncmp(text_of("arrivals"), "end_bytes,read_ns,joined_ns\n", 28), 0);
}

static void
forward_refuses(void **state)
{
	static const struct call calls[] = {
		{ "", 2, "which scenario?" },
		{ "--frame-bytes 1 pairs.cfg", 2, "--frame-bytes 1" },
		{ "--seconds 0 pairs.cfg", 2, "--seconds 0: give a number above 0" },
		{ "--seconds 1000 pairs.cfg", 2, "--seconds 1000: give a number above 0" },
		{ "--seconds 1x pairs.cfg", 2, "--seconds 1x" },
		{ "--round wheel pairs.cfg", 2, "--round wheel: ring, memif, vhost and af_packet are there" },
		{ "--lcores 0 pairs.cfg", 2, "--lcores 0" },
		{ "nowhere.cfg", 1, "nowhere.cfg" },
		{ "--eal --no-such pairs.cfg", 1, "DPDK's EAL does not start with" },
	};

	(void)state;
	call_all("dpswitch/dpswitch-forward", calls, ARRAY_LEN(calls));
	assert_int_equal(
		run("dpswitch/dpswitch-forward", "--round ring --seconds 0.01 --frame-bytes 256 --out run pairs.cfg"), 0);
	assert_true(is_there("run/forward.json"));
	assert_int_equal(run("dpswitch/dpswitch-forward", "--paced --seconds 0.01 --out run pairs.cfg"), 0);
	assert_non_null(strstr(text_of("run/forward.json"), "\"late"));
}

/* A connection of DPDK's telemetry, whose replies are one packet each. */
static int
greet(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char greeting[1024];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	for (uint32_t tries = 0; connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0; tries++) {
		assert_true(tries < LIMIT_S * 100);
		clock_sleep_until_ns(clock_now_ns() + 10000000);
	}
	assert_true(recv(fd, greeting, sizeof(greeting), 0) > 0);
	return fd;
}

/* @return static: a reply without blanks */
static const char *
ask(int fd, const char *command)
{
	static char reply[TEXT_BYTES];
	ssize_t got;
	size_t used = 0;

	assert_int_equal(send(fd, command, strlen(command), 0), (ssize_t)strlen(command));
	got = recv(fd, reply, sizeof(reply) - 1, 0);
	assert_true(got > 0);
	for (ssize_t i = 0; i < got; i++)
		if (reply[i] != ' ')
			reply[used++] = reply[i];
	reply[used] = '\0';
	return reply;
}

/* Asks until a reply has the text, as it will once the run has begun. */
static void
await(int fd, const char *command, const char *text)
{
	for (uint32_t tries = 0; strstr(ask(fd, command), text) == NULL; tries++) {
		if (tries >= LIMIT_S * 100)
			fail_msg("%s: no \"%s\": %s", command, text, ask(fd, command));
		clock_sleep_until_ns(clock_now_ns() + 10000000);
	}
}

/* A run in real time with DPDK's telemetry, and a connection to it. */
struct served {
	pid_t pid;
	int fd;
};

static struct served
serve(const char *scenario)
{
	struct served run;
	char program[1024], socket_path[100];

	snprintf(program, sizeof(program), "%s/dpswitch/dpswitch", getenv("ROCELAB_BUILD"));
	snprintf(socket_path, sizeof(socket_path), "%s/dpdk/rte/dpdk_telemetry.v2", dir);
	run.pid = fork();
	assert_true(run.pid >= 0);
	if (run.pid == 0) {
		setenv("RUNTIME_DIRECTORY", dir, 1);
		if (chdir(dir) == 0)
			execl(program, program, "--eal", "--telemetry", "--quiet", "--out", "run", scenario, NULL);
		_exit(127);
	}
	run.fd = greet(socket_path);
	return run;
}

static void
end(const struct served *run)
{
	int status;

	close(run->fd);
	assert_int_equal(kill(run->pid, SIGTERM), 0);
	assert_int_equal(waitpid(run->pid, &status, 0), run->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 130);
	assert_non_null(strstr(text_of("run/run.json"), "\"interrupt\""));
}

static void
telemetry_answers(void **state)
{
	static const char *const bad[] = { "/rocelab/port",
					   "/rocelab/port,99",
					   "/rocelab/port,x",
					   "/rocelab/port,4294967296",
					   "/rocelab/port,-1",
					   "/rocelab/pfc,1x",
					   "/rocelab/ports,99999999999999999999" };
	struct served run = serve("incast.cfg");
	int fd = run.fd;

	(void)state;
	await(fd, "/rocelab/ports", "\"l0:1\"");
	assert_non_null(strstr(ask(fd, "/rocelab/ports"), "\"s1:2\""));
	assert_null(strstr(ask(fd, "/rocelab/ports,1"), "\"l0:1\""));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (strstr(ask(fd, bad[i]), ":null") == NULL)
			fail_msg("%s: %s", bad[i], ask(fd, bad[i]));
	await(fd, "/rocelab/port,4", "\"fresh\":1");
	assert_non_null(strstr(ask(fd, "/rocelab/port,4"), "\"oper_status\":\"up\""));
	assert_non_null(strstr(ask(fd, "/rocelab/port,4"), "\"speed_bps\":200000000"));
	/* three senders, one link: its leaf pauses those that send to it */
	await(fd, "/rocelab/pfc", "PFC_3_TX_PKTS");
	assert_non_null(strstr(ask(fd, "/rocelab/ecmp"), "\"destinations\":2"));
	assert_null(strstr(ask(fd, "/rocelab/ecmp,9"), "\"destinations\""));
	end(&run);
}

/* @return how often a text is in another one */
static unsigned
count(const char *text, const char *of)
{
	unsigned times = 0;

	for (; (text = strstr(text, of)) != NULL; text += strlen(of))
		times++;
	return times;
}

/* Processes that mpirun has started: one fabric, whose first process alone reports and has the run's own folder. */
static void
processes_are_one_run(void **state)
{
	static const char job[] =
		"env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --quiet --oversubscribe "
		"--bind-to none --enable-recovery -np 2";

	(void)state;
	if (system("command -v mpirun >/dev/null") != 0)
		skip();
	(void)run_by(job, "dpswitch/dpswitch", "--processes --status job --out shared ring.cfg");
	if (strstr(text_of("err"), "has no Open MPI") != NULL)
		skip(); /* built without it */
	assert_non_null(strstr(text_of("shared/run.json"), "\"complete\""));
	assert_non_null(strstr(text_of("job"), "\n0\n"));
	assert_true(is_there("shared/partitions/1/run.json"));
	assert_false(is_there("job.failed"));
	(void)run_by(job, "dpswitch/dpswitch", "--processes --status job --out shared nowhere.cfg"); /* mpirun's code */
	assert_int_equal(count(text_of("err"), "dpswitch: nowhere.cfg"), 1);
	assert_non_null(strstr(text_of("job"), "\n2\n"));
}

UNIT_TEST(programs)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dpswitch_refuses),       cmocka_unit_test(log_levels_are_known),
		cmocka_unit_test(a_port_is_tried),        cmocka_unit_test(a_hop_is_calibrated),
		cmocka_unit_test(lcores_have_a_cpu_each), cmocka_unit_test(hugepages_may_be_gone),
		cmocka_unit_test(a_run_leaves_its_files), cmocka_unit_test(analyzer_refuses),
		cmocka_unit_test(analyzer_reports),       cmocka_unit_test(analyzer_listens),
		cmocka_unit_test(forward_refuses),        cmocka_unit_test(telemetry_answers),
		cmocka_unit_test(processes_are_one_run),
	};

	return cmocka_run_group_tests(tests, make, clear);
}
