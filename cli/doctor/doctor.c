/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab doctor: which kinds of hosts this machine can run, and which kinds of ports it can open, by trying each. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/start/run_hosts.h"
#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/private_dir.h"
#include "common/program.h"

/*
 * The requirements of a kind of ports on this machine, where opening one has failed: the likely reason first, with
 * its remedy.
 */

/* The checks of rocelab doctor, a row each. */
struct checkup {
	const char *name;  /* as a scenario spells it */
	const char *guest; /* a kind of host: as the launcher has it; NULL: part of dpswitch, always there */
	const char *port;  /* a kind of port: opened so, % being a folder; NULL: none */
	bool hugepages;
	unsigned timeout_ms;
	const char *what;
	bool chosen, works;
	uint64_t took_ms;
	struct err err; /* the missing part, and its remedy */
};

#define MAX_MESSAGE sizeof(((struct err *)NULL)->text)
#define OPEN_NS 15000000000ULL /* of them EAL takes a tenth of a second, and the reset of a NIC some */
#define OPEN_POLL_NS 2000000ULL
#define HUGEPAGES "/sys/kernel/mm/hugepages"

/* The requirements of a kind besides dpswitch. */
static const struct need {
	const char *name;   /* of the kind */
	const char *driver; /* of DPDK; NULL: linked */
	const char *device; /* a file; NULL: none */
	int capability;     /* -1: none */
	const char *capability_name;
} needs[] = {
	{ "tap", "tap", "/dev/net/tun", CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ "af_packet", "af_packet", NULL, CAP_NET_RAW, "CAP_NET_RAW" },
	{ "memif", "memif", NULL, -1, NULL },
	{ "pcap", "pcap", NULL, -1, NULL },
	{ "null", "null", NULL, -1, NULL },
};

static bool
has_driver(const char *driver)
{
	static const char *const places[] = { "/usr/lib", "/usr/local/lib" };
	bool found = false;

	for (size_t i = 0; !found && i < ARRAY_LEN(places); i++) {
		char pattern[PATH_MAX];
		glob_t found_files;

		snprintf(pattern, sizeof(pattern), "%s/*/dpdk/pmds-*/librte_net_%s.so", places[i], driver);
		found = glob(pattern, 0, NULL, &found_files) == 0;
		globfree(&found_files);
	}
	return found;
}

static bool
has_capability(int capability)
{
	unsigned long long effective = 0;
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return effective >> capability & 1;
}

/* The package's name has dashes where the driver's has none. */
static void
explain_driver(struct checkup *checkup, const char *driver)
{
	char package[64];

	snprintf(package, sizeof(package), "%s", driver);
	for (char *at = package; *at != '\0'; at++)
		*at = *at == '_' ? '-' : *at;
	err_set(&checkup->err, -ENOENT, "DPDK's driver librte_net_%s is not installed: apt install librte-net-%s23", driver,
		package);
}

/* @param said  dpswitch's message; used where nothing better is known */
static void
explain(struct checkup *checkup, const char *message)
{
	const struct need *need = NULL;

	for (size_t i = 0; i < ARRAY_LEN(needs); i++)
		if (strcmp(needs[i].name, checkup->name) == 0)
			need = &needs[i];
	if (need != NULL && !has_driver(need->driver))
		explain_driver(checkup, need->driver);
	else if (need != NULL && need->device != NULL && access(need->device, R_OK | W_OK) < 0)
		err_set(&checkup->err, -errno, "%s: %s: modprobe tun, as root; in a container, pass the device in",
			need->device, strerror(errno));
	else if (need != NULL && need->capability >= 0 && !has_capability(need->capability))
		err_set(&checkup->err, -EPERM, "takes %s: run as root, or setcap %s+ep on dpswitch", need->capability_name,
			need->capability_name);
	else
		err_set(&checkup->err, -EIO, "%s", message);
}

/* A driver that takes a NIC away from the kernel, for DPDK. */
static const char *const drivers_of_nics[] = { "vfio-pci", "uio_pci_generic", "igb_uio" };

/*
 * @return whether there is a NIC for DPDK; *address is set to the first's, and *nics to how many network devices there
 * are
 */
static bool
find_nic(char address[NAME_MAX + 1], unsigned *nics)
{
	static const char devices[] = "/sys/bus/pci/devices";
	DIR *dir = opendir(devices);
	struct dirent *entry;
	bool found = false;

	*nics = 0;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char path[PATH_MAX], link[PATH_MAX];
		unsigned class = 0;
		ssize_t size;
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s/class", devices, entry->d_name);
		file = fopen(path, "r");
		if (file == NULL)
			continue;
		if (fscanf(file, "%x", &class) != 1)
			class = 0;
		fclose(file);
		if (class >> 16 != 2) /* network controllers */
			continue;
		++*nics;
		snprintf(path, sizeof(path), "%s/%s/driver", devices, entry->d_name);
		size = readlink(path, link, sizeof(link) - 1);
		link[size > 0 ? size : 0] = '\0';
		for (size_t i = 0; !found && i < ARRAY_LEN(drivers_of_nics); i++) {
			const char *name = strrchr(link, '/');

			found = name != NULL && strcmp(name + 1, drivers_of_nics[i]) == 0;
			if (found)
				snprintf(address, NAME_MAX + 1, "%s", entry->d_name);
		}
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

/* Waits for it to end. @return its status; -1 with the checkup's err set: it did not */
static int
wait_for(struct checkup *checkup, pid_t pid)
{
	uint64_t end_ns = clock_now_ns() + OPEN_NS;
	int status;

	while (!child_poll(pid, &status)) {
		if (clock_now_ns() >= end_ns) {
			child_end(pid);
			return err_set(&checkup->err, -1, "dpswitch was not through with it in %llu s: stuck, or stopped",
				       OPEN_NS / 1000000000ULL);
		}
		clock_sleep_until_ns(clock_now_ns() + OPEN_POLL_NS);
	}
	return status;
}

/* The output of dpswitch; its exit status, where there is no output. */
static void
read_message(const char *path, int status, char message[MAX_MESSAGE])
{
	FILE *file = fopen(path, "r");
	char text[64];

	if (file != NULL) {
		message[fread(message, 1, MAX_MESSAGE - 1, file)] = '\0';
		fclose(file);
	}
	if (message[0] == '\0')
		snprintf(message, MAX_MESSAGE, "dpswitch %s, without a word", child_text(status, text, sizeof(text)));
}

/* Opens a port by dpswitch. @param said  its message where it fails */
static void
open_port(struct checkup *checkup, const char *dir, const char *where, char message[MAX_MESSAGE])
{
	struct child_args args = { .argv = { "dpswitch", "--try-port", where, "--out", dir, "--eal", "--log-level=*:1" },
				   .count = 7 };
	char program[PATH_MAX], path[PATH_MAX];
	int status;
	pid_t pid;

	message[0] = '\0';
	snprintf(path, sizeof(path), "%s/port.txt", dir);
	unlink(path); /* of the port before */
	if (child_find("dpswitch", "dpswitch", program, sizeof(program), &checkup->err) < 0)
		return;
	pid = child_start(program, &args, false, &checkup->err);
	if (pid < 0)
		return;
	status = wait_for(checkup, pid);
	checkup->works = status == 0;
	read_message(path, status, message);
}

/* A file for net_pcap to read: a header without frames. */
static void
write_pcap(const char *dir)
{
	static const uint32_t header[6] = { 0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1 };
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/in.pcap", dir);
	file = fopen(path, "w");
	if (file == NULL)
		return;
	fwrite(header, sizeof(header), 1, file);
	fclose(file);
}

/* @param text  put in the place of every % of a pattern */
static void
place(char *buf, size_t cap, const char *pattern, const char *text)
{
	size_t used = 0;

	buf[0] = '\0';
	for (; *pattern != '\0' && used < cap; pattern++)
		if (*pattern == '%')
			used += (size_t)snprintf(buf + used, cap - used, "%s", text);
		else
			used += (size_t)snprintf(buf + used, cap - used, "%c", *pattern);
}

/* Checks that some hugepages are free for frames. */
static void
doctor_count_hugepages(struct checkup *checkup)
{
	static const char pattern[] = HUGEPAGES "/hugepages-*kB/free_hugepages";
	glob_t files;

	if (glob(pattern, 0, NULL, &files) == 0)
		for (size_t i = 0; i < files.gl_pathc; i++) {
			FILE *file = fopen(files.gl_pathv[i], "r");
			unsigned long long pages;

			checkup->works |= file != NULL && fscanf(file, "%llu", &pages) == 1 && pages != 0;
			if (file != NULL)
				fclose(file);
		}
	globfree(&files);
	if (!checkup->works)
		err_set(&checkup->err, -ENOENT,
			"none is free: frames lie in ordinary pages. For 64 MB and 48 for each port, as root: echo 56 "
			"> " HUGEPAGES "/hugepages-2048kB/nr_hugepages");
}

/* A kind of port is tried: dpswitch opens one, and closes it. @param dir  an empty folder of the doctor's own */
static void
doctor_try_port(struct checkup *checkup, const char *dir)
{
	char where[PATH_MAX], address[NAME_MAX + 1] = "", message[MAX_MESSAGE];
	uint64_t start_ns = clock_now_ns();
	unsigned nics;

	if (strcmp(checkup->name, "nic") == 0 && !find_nic(address, &nics)) {
		err_set(&checkup->err, -ENODEV,
			"of %u network devices on PCI none is DPDK's: dpdk-devbind.py -b vfio-pci ADDRESS, as root; a "
			"machine "
			"without an IOMMU needs hugepages, too",
			nics);
		return;
	}
	write_pcap(dir);
	place(where, sizeof(where), checkup->port, address[0] != '\0' ? address : dir);
	open_port(checkup, dir, where, message);
	checkup->took_ms = (clock_now_ns() - start_ns) / 1000000;
	if (!checkup->works && checkup->err.text[0] == '\0')
		explain(checkup, message);
}

static struct checkup checkups[] = {
	{ .name = "embedded", .what = "a RoCEv2 host inside the fabric, virtual or real time", .works = true },
	{ .name = "guest", .guest = "uml", .timeout_ms = 30000, .what = "user-mode Linux with soft-RoCE" },
	{ .name = "qemu", .guest = "qemu", .timeout_ms = 90000, .what = "QEMU with Debian's kernel; slow without KVM" },
	{ .name = "netns",
	  .guest = "netns",
	  .timeout_ms = 10000,
	  .what = "a network namespace on this machine's own soft-RoCE" },
	{ .name = "vhost", .port = "vhost:%/try.vhost", .what = "a vhost-user socket, for guests and virtual machines" },
	{ .name = "tap", .port = "net_tap_try,iface=rl-try", .what = "a tap of the kernel's" },
	{ .name = "af_packet", .port = "net_af_packet_try,iface=lo", .what = "a network device that stays the kernel's" },
	{ .name = "memif",
	  .port = "net_memif_try,role=server,socket-abstract=no,socket=%/try.memif",
	  .what = "shared memory with another program" },
	{ .name = "pcap", .port = "net_pcap_try,rx_pcap=%/in.pcap,tx_pcap=%/out.pcap", .what = "files of frames" },
	{ .name = "ring", .port = "net_ring_try", .what = "rings inside dpswitch, for measurements" },
	{ .name = "null", .port = "net_null_try", .what = "takes all frames and gives none, for measurements" },
	{ .name = "nic", .port = "%", .what = "a NIC on PCI that is DPDK's" },
	{ .name = "hugepages", .hugepages = true, .what = "where frames lie, if enough are free" },
};

#define NCHECKUPS ARRAY_LEN(checkups)

struct doctor_options {
	bool json, install;
	bool named; /* kinds were, rather than all of them */
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "install", 'i', NULL, 0, "First install what guests need, and build their kernel, once: some minutes", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct doctor_options *given = state->input;
	char names[256];
	size_t used = 0;

	switch (key) {
	case 'j':
		given->json = true;
		return 0;
	case 'i':
		given->install = true;
		return 0;
	case ARGP_KEY_ARG:
		for (size_t i = 0; i < NCHECKUPS; i++)
			if (strcmp(checkups[i].name, arg) == 0) {
				checkups[i].chosen = given->named = true;
				return 0;
			}
		for (size_t i = 0; i < NCHECKUPS; i++)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i != 0 ? ", " : "",
						 checkups[i].name);
		args_error(state, "no kind of host or port \"%s\": there are %s", arg, names);
		return 0;
	case ARGP_KEY_NO_ARGS:
		for (size_t i = 0; i < NCHECKUPS; i++)
			checkups[i].chosen = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[KIND...]",
	.doc = "Reports which kinds of hosts this machine can run, by booting one of each and adding a soft-RoCE device to "
	       "it; which kinds of ports it can open, by opening one of each; and the missing parts of the others. Exit "
	       "code 3 if a named kind does not work or, where none is named, no kernel host does.",
};

static void
check(struct checkup *checkup, const struct guests_paths *paths, const char *dir)
{
	struct guest_config config = {
		.kind = checkup->guest, .dir = dir, .init = paths->init, .kernel = paths->kernel, .hold_fd = -1
	};
	uint64_t start_ns = clock_now_ns();

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "trying %s, for at most %u s\n", checkup->name, checkup->timeout_ms / 1000);
	checkup->works = guest_probe(&config, checkup->timeout_ms, &checkup->err) == 0;
	checkup->took_ms = (clock_now_ns() - start_ns) / 1000000;
}

static int
check_all(struct err *err)
{
	struct guests_paths paths;
	struct private_dir dir;
	int rc = guests_find(&paths, err);

	if (rc == 0)
		rc = private_dir_create(&dir, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < NCHECKUPS; i++)
		if (checkups[i].chosen && checkups[i].guest != NULL)
			check(&checkups[i], &paths, dir.path);
		else if (checkups[i].chosen && checkups[i].port != NULL)
			doctor_try_port(&checkups[i], dir.path);
		else if (checkups[i].chosen && checkups[i].hugepages)
			doctor_count_hugepages(&checkups[i]);
	private_dir_remove(&dir);
	return 0;
}

static int
print_table(void)
{
	struct libscols_table *table = scols_new_table();

	if (table == NULL || scols_table_new_column(table, "KIND", 0, 0) == NULL ||
	    scols_table_new_column(table, "WORKS", 0, 0) == NULL ||
	    scols_table_new_column(table, "TOOK (ms)", 0, SCOLS_FL_RIGHT) == NULL ||
	    scols_table_new_column(table, "WHAT IT IS, OR WHAT IT MISSES", 0, SCOLS_FL_WRAP) == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < NCHECKUPS; i++) {
		const struct checkup *checkup = &checkups[i];
		struct libscols_line *line;
		char took[24] = "";

		if (!checkup->chosen)
			continue;
		line = scols_table_new_line(table, NULL);
		if (checkup->works && checkup->took_ms != 0)
			snprintf(took, sizeof(took), "%llu", (unsigned long long)checkup->took_ms);
		if (line == NULL || scols_line_set_data(line, 0, checkup->name) < 0 ||
		    scols_line_set_data(line, 1, checkup->works ? "yes" : "no") < 0 ||
		    scols_line_set_data(line, 2, took) < 0 ||
		    scols_line_set_data(line, 3, checkup->works ? checkup->what : checkup->err.text) < 0)
			return -ENOMEM;
	}
	scols_print_table(table);
	scols_unref_table(table);
	return 0;
}

static int
print_json(void)
{
	json_t *kinds = json_array();
	int rc;

	for (size_t i = 0; i < NCHECKUPS; i++) {
		const struct checkup *checkup = &checkups[i];
		json_t *kind;

		if (!checkup->chosen)
			continue;
		kind = json_pack("{s:s, s:b, s:s}", "kind", checkup->name, "works", checkup->works, "what", checkup->what);

		if (checkup->works && checkup->took_ms != 0)
			json_object_set_new(kind, checkup->guest != NULL ? "boot_ms" : "open_ms",
					    json_integer((json_int_t)checkup->took_ms));
		if (!checkup->works)
			json_object_set_new(kind, "missing", json_string(checkup->err.text));
		json_array_append_new(kinds, kind);
	}
	rc = json_dumpf(kinds, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(kinds);
	return rc;
}

/* @return whether the machine has every kind that was named, or, where none was, a kernel host */
static bool
has_requested(bool named)
{
	bool all = true, guest = false;

	for (size_t i = 0; i < NCHECKUPS; i++) {
		all &= !checkups[i].chosen || checkups[i].works;
		guest |= checkups[i].guest != NULL && checkups[i].works;
	}
	return named ? all : guest;
}

int
command_doctor(int argc, char **argv)
{
	struct doctor_options given = { 0 };
	struct guests_paths paths;
	struct err err = { 0 };

	argv[0] = "rocelab doctor";
	if (args_parse(&argp, argc, argv, 0, &given) != 0)
		return EXIT_USAGE;
	if (given.install && (guests_find(&paths, &err) < 0 || guests_install(&paths, &err) < 0)) {
		log_error("%s", err.text);
		return EXIT_NOT_BEGUN;
	}
	if (check_all(&err) < 0 || (given.json ? print_json() : print_table()) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	return has_requested(given.named) ? EXIT_DONE : EXIT_NOT_BEGUN;
}
