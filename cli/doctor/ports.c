/* SPDX-License-Identifier: BSD-3-Clause */
/* What ports of a kind take on this machine, where opening one has failed: the likely reason first, with its remedy. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"

#define MAX_MESSAGE sizeof(((struct err *)NULL)->text)
#define OPEN_NS 15000000000ULL /* of them EAL takes a tenth of a second, and the reset of a NIC some */
#define OPEN_POLL_NS 2000000ULL
#define HUGEPAGES "/sys/kernel/mm/hugepages"

/* What a kind needs besides dpswitch. */
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

/* @param said  what dpswitch has to say; stands where nothing better is known */
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

/* @return whether there is a NIC for DPDK; *address is set to the first's, and *nics to how many network devices there are */
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

/* What dpswitch wrote; how it ended, where it wrote nothing. */
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

/* Opens a port by dpswitch. @param said  what it says where it fails */
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

void
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

void
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
