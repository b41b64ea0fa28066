/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab doctor: which kinds of hosts this machine can run, and which kinds of ports it can open, by trying each. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <libsmartcols/libsmartcols.h>

#include "cli/command.h"
#include "cli/doctor/doctor.h"
#include "cli/start/guests.h"
#include "common/args.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/private_dir.h"

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
				checkups[i].chosen = true;
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
	.doc = "Says which kinds of hosts this machine can run, by booting one of each and adding a soft-RoCE device in "
	       "it; "
	       "which kinds of ports it can open, by opening one of each; and what the others miss. Exit status 0 if a "
	       "host "
	       "with a kernel of its own works, of the kinds asked about; where no such are, a port; where no ports are, "
	       "either, whatever else was asked about; else 1.",
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

/* Of hosts with a kernel of their own, if any was asked about; else of ports; else of the others. */
static bool
any_works(void)
{
	bool guests = false, guest_works = false, ports = false, port_works = false, other_works = false;

	for (size_t i = 0; i < NCHECKUPS; i++) {
		const struct checkup *checkup = &checkups[i];

		guests |= checkup->chosen && checkup->guest != NULL;
		guest_works |= checkup->chosen && checkup->guest != NULL && checkup->works;
		ports |= checkup->chosen && checkup->port != NULL;
		port_works |= checkup->chosen && checkup->port != NULL && checkup->works;
		other_works |= checkup->chosen && checkup->works;
	}
	if (guests)
		return guest_works;
	return ports ? port_works : other_works;
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
	return any_works() ? EXIT_DONE : EXIT_FAILED;
}
