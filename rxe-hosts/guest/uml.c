/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User-mode Linux: a kernel that is an ordinary program, on the server's own file system. Its memory is a file without a
 * name in /dev/shm; its NIC is a vhost-user client.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "rxe-hosts/guest/kind.h"

#define VIRTIO_ID_NET 1

static int
add_channels(const struct guest_boot *boot, struct guest_words *args, struct err *err)
{
	int rc = guest_word(args, err, "ssl1=fd:%d", boot->command_fd);

	if (rc == 0 && boot->manage_fd >= 0)
		rc = guest_word(args, err, "ssl0=fd:%d", boot->manage_fd);
	return rc;
}

static int
command(const struct guest_boot *boot, struct guest_words *args, struct guest_words *env, struct err *err)
{
	static const char *const fixed[] = {
		"root=/dev/root", "rootfstype=hostfs",   "rootflags=/",  "ro",
		"quiet",          "random.trust_cpu=on", /* else programs wait minutes for random numbers */
		"con=null",       "con0=null,fd:1",      "console=tty0", "ssl=null",
	};
	const struct guest_config *config = boot->config;
	int rc;

	if (config->kernel == NULL || access(config->kernel, X_OK) < 0)
		return err_set(
			err, -ENOENT,
			"%s: no kernel there for guests; `rocelab doctor --install` (scripts/rxe-kernel) builds it, once",
			config->kernel != NULL ? config->kernel : "(none)");
	if (config->nic != NULL && access(config->nic, F_OK) < 0)
		return err_set(err, -ENOENT, "%s: no switch listens there; it has to run before its guests", config->nic);
	rc = guest_word(args, err, "%s", config->kernel);
	for (size_t i = 0; i < ARRAY_LEN(fixed) && rc == 0; i++)
		rc = guest_word(args, err, "%s", fixed[i]);
	if (rc == 0)
		rc = guest_word(args, err, "mem=%uM", config->memory_mib != 0 ? config->memory_mib : GUEST_MEMORY_MIB);
	if (rc == 0)
		rc = guest_word(args, err, "umid=%s", config->name);
	if (rc == 0)
		rc = guest_word(args, err, "uml_dir=%s/", boot->private_dir);
	if (rc == 0)
		rc = guest_word(args, err, "init=%s", config->init);
	if (rc == 0 && config->nic != NULL)
		rc = guest_word(args, err, "virtio_uml.device=%s:%d", config->nic, VIRTIO_ID_NET);
	if (rc == 0)
		rc = add_channels(boot, args, err);
	if (rc == 0)
		rc = guest_word(args, err, "ROCELAB_CPUINFO=%s/cpuinfo", boot->guest_dir);
	return rc < 0 ? rc : guest_parameters(boot, "/dev/ttyS1", "/dev/ttyS0", args, err);
}

const struct guest_kind guest_kind_uml = { .name = "uml", .command = command };
