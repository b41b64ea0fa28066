/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QEMU with Debian's own kernel, by KVM where it works, else by translation, which is slow. The guest's root is the
 * server's file system over 9p, which also provides the modules that its soft-RoCE needs.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/err.h"
#include "rxe-hosts/guest/kind.h"

/*
 * The first file system of a QEMU guest: a cpio archive ("newc", Documentation/driver-api/early-userspace of the
 * kernel).
 */

/* One file of it. */
struct initramfs_file {
	const char *name; /* in the archive, at its root */
	const char *from; /* path of the original */
};

#define QEMU "/usr/bin/qemu-system-x86_64"
#define KERNELS "/boot/vmlinuz-*"
#define RXE_MODULE "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko"
#define STAGE "rxe-guest-stage"
#define LEAST_MEMORY_MIB 256 /* Debian's kernel does not start in much less */
#define MAX_MODULES 32

/* Modules that the boot stage loads to reach the server's file system, and those that init loads from there. */
static const char *const stage_modules[] = { "virtio_pci.ko", "9pnet_virtio.ko", "9p.ko" };
#define INIT_MODULES "virtio_console,virtio_net,crc32_generic,rdma_rxe,ib_uverbs,rdma_ucm"

struct kernel {
	char image[PATH_MAX];
	char modules_dir[PATH_MAX];
	char *module[MAX_MODULES]; /* below modules_dir, in the order to load them */
	size_t nmodules;
};

static int initramfs_write(const char *path, const struct initramfs_file *files, size_t count, struct err *err);

/* The last of Debian's kernels that has soft-RoCE. */
static int
find_kernel(struct kernel *kernel, struct err *err)
{
	char path[PATH_MAX];
	glob_t images;

	kernel->image[0] = '\0';
	if (glob(KERNELS, 0, NULL, &images) == 0) {
		for (size_t i = 0; i < images.gl_pathc; i++) {
			const char *image = images.gl_pathv[i], *version = image + strlen(KERNELS) - 1;

			snprintf(path, sizeof(path), "/lib/modules/%s/" RXE_MODULE, version);
			if (access(path, R_OK) < 0 || access(image, R_OK) < 0)
				continue;
			snprintf(kernel->image, sizeof(kernel->image), "%s", image);
			snprintf(kernel->modules_dir, sizeof(kernel->modules_dir), "/lib/modules/%s", version);
		}
		globfree(&images);
	}
	if (kernel->image[0] == '\0')
		return err_set(err, -ENOENT,
			       "no readable " KERNELS " with its rdma_rxe in /lib/modules: apt install linux-image-amd64");
	return 0;
}

static int
add_module(struct kernel *kernel, const char *module, struct err *err)
{
	for (size_t i = 0; i < kernel->nmodules; i++)
		if (strcmp(kernel->module[i], module) == 0)
			return 0;
	if (kernel->nmodules == MAX_MODULES)
		return err_set(err, -E2BIG, "%s: more than %d modules for 9p", kernel->modules_dir, MAX_MODULES);
	kernel->module[kernel->nmodules] = strdup(module);
	return kernel->module[kernel->nmodules++] != NULL ? 0 : err_set(err, -ENOMEM, "no memory");
}

/* Adds a line of modules.dep, "MODULE: DEPENDENCIES, the nearest first", from its end. */
static int
add_line(struct kernel *kernel, char *line, struct err *err)
{
	char *words[MAX_MODULES];
	size_t count = 0;
	int rc = 0;

	for (char *word = strtok(line, ": \n"); word != NULL && count < MAX_MODULES; word = strtok(NULL, ": \n"))
		words[count++] = word;
	while (count > 0 && rc == 0)
		rc = add_module(kernel, words[--count], err);
	return rc;
}

/* Adds a module after all its dependencies; a built-in one adds nothing. */
static int
add_with_needs(struct kernel *kernel, const char *wanted, struct err *err)
{
	char path[PATH_MAX + 16], line[4096];
	FILE *deps;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/modules.dep", kernel->modules_dir);
	deps = fopen(path, "re");
	if (deps == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while (rc == 0 && fgets(line, sizeof(line), deps) != NULL) {
		size_t length = strcspn(line, ":"), tail = strlen(wanted);

		if (length > tail && line[length - tail - 1] == '/' && strncmp(line + length - tail, wanted, tail) == 0)
			rc = add_line(kernel, line, err);
	}
	fclose(deps);
	return rc;
}

/* Writes the guest's first file system: our first stage, which is beside init, and the modules. */
static int
write_initramfs(const struct guest_boot *boot, const struct kernel *kernel, struct err *err)
{
	struct initramfs_file files[MAX_MODULES + 1];
	char path[PATH_MAX + 16], stage[PATH_MAX + 32], from[MAX_MODULES][PATH_MAX + 256], names[MAX_MODULES][32];
	int folder = (int)(strrchr(boot->config->init, '/') - boot->config->init);

	snprintf(stage, sizeof(stage), "%.*s/" STAGE, folder, boot->config->init);
	files[0] = (struct initramfs_file){ .name = "init", .from = stage };
	for (size_t i = 0; i < kernel->nmodules; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu.ko", i);
		snprintf(from[i], sizeof(from[i]), "%s/%s", kernel->modules_dir, kernel->module[i]);
		files[i + 1] = (struct initramfs_file){ .name = names[i], .from = from[i] };
	}
	snprintf(path, sizeof(path), "%s/initramfs", boot->private_dir);
	return initramfs_write(path, files, kernel->nmodules + 1, err);
}

static int
prepare(const struct guest_boot *boot, struct kernel *kernel, struct err *err)
{
	int rc;

	if (access(QEMU, X_OK) < 0)
		return err_set(err, -ENOENT, QEMU " is missing: apt install qemu-system-x86");
	rc = find_kernel(kernel, err);
	for (size_t i = 0; i < ARRAY_LEN(stage_modules) && rc == 0; i++)
		rc = add_with_needs(kernel, stage_modules[i], err);
	return rc == 0 ? write_initramfs(boot, kernel, err) : rc;
}

/* The kernel's command line is one word of ours. */
static int
add_kernel_line(const struct guest_boot *boot, struct guest_words *args, struct err *err)
{
	static struct guest_words words;
	char line[sizeof(words.text) + 128];
	size_t used;
	int rc = guest_parameters(boot, "/dev/vport0p1", "/dev/vport0p2", &words, err);

	if (rc < 0)
		return rc;
	used = (size_t)snprintf(line, sizeof(line),
				"console=ttyS0 quiet panic=-1 ROCELAB_INIT=%s ROCELAB_MODULES=" INIT_MODULES,
				boot->config->init);
	for (size_t i = 0; i < words.count && used < sizeof(line); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", words.word[i]);
	rc = guest_word(args, err, "-append");
	return rc == 0 ? guest_word(args, err, "%s", line) : rc;
}

static int
add_channel(struct guest_words *args, const char *name, int number, int fd, struct err *err)
{
	int rc = guest_word(args, err, "-chardev");

	if (rc == 0)
		rc = guest_word(args, err, "socket,id=%s,fd=%d,server=off", name, fd);
	if (rc == 0)
		rc = guest_word(args, err, "-device");
	return rc == 0 ? guest_word(args, err, "virtserialport,chardev=%s,nr=%d", name, number) : rc;
}

/* The NIC. With MSI-X, QEMU 7.2 crashes on vhost-user when it translates. */
static int
add_nic(struct guest_words *args, const char *socket_path, struct err *err)
{
	int rc = guest_word(args, err, "-chardev");

	if (rc == 0)
		rc = guest_word(args, err, "socket,id=switch,path=%s", socket_path);
	if (rc == 0)
		rc = guest_word(args, err, "-netdev");
	if (rc == 0)
		rc = guest_word(args, err, "vhost-user,id=nic,chardev=switch");
	if (rc == 0)
		rc = guest_word(args, err, "-device");
	if (rc == 0)
		rc = guest_word(args, err, "virtio-net-pci,netdev=nic,csum=off,guest_csum=off,gso=off,vectors=0");
	return rc;
}

/* A KVM without the processor's help runs kernels that were made for it, and no other: those just hang. */
static bool
kvm_works(void)
{
	char line[8192];
	FILE *cpuinfo = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (cpuinfo != NULL && !found && fgets(line, sizeof(line), cpuinfo) != NULL)
		found = strncmp(line, "flags", 5) == 0 && (strstr(line, " vmx") != NULL || strstr(line, " svm") != NULL);
	if (cpuinfo != NULL)
		fclose(cpuinfo);
	return found && access("/dev/kvm", R_OK | W_OK) == 0;
}

static int
add_machine(const struct guest_boot *boot, const struct kernel *kernel, struct guest_words *args, struct err *err)
{
	static const char *const fixed[] = {
		QEMU,
		"-nodefaults",
		"-no-user-config",
		"-no-reboot",
		"-display",
		"none",
		"-monitor",
		"none",
		"-cpu",
		"max",
		"-machine",
		"q35,memory-backend=memory",
		"-chardev",
		"stdio,id=log,signal=off",
		"-serial",
		"chardev:log",
		"-device",
		"virtio-serial-pci,addr=1", /* the first virtio device: its ports are vport0p* */
		"-virtfs",
		"local,path=/,mount_tag=server,security_model=none,readonly=on,multidevs=remap",
		"-kernel",
	};
	unsigned memory_mib = boot->config->memory_mib > LEAST_MEMORY_MIB ? boot->config->memory_mib : LEAST_MEMORY_MIB;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(fixed) && rc == 0; i++)
		rc = guest_word(args, err, "%s", fixed[i]);
	if (rc == 0)
		rc = guest_word(args, err, "%s", kernel->image);
	if (rc == 0)
		rc = guest_word(args, err, "-accel");
	if (rc == 0)
		rc = guest_word(args, err, "%s", kvm_works() ? "kvm" : "tcg");
	if (rc == 0)
		rc = guest_word(args, err, "-initrd");
	if (rc == 0)
		rc = guest_word(args, err, "%s/initramfs", boot->private_dir);
	if (rc == 0)
		rc = guest_word(args, err, "-m");
	if (rc == 0)
		rc = guest_word(args, err, "%uM", memory_mib);
	if (rc == 0)
		rc = guest_word(args, err, "-object");
	if (rc == 0)
		rc = guest_word(args, err, "memory-backend-memfd,id=memory,size=%uM,share=on", memory_mib);
	return rc;
}

static int
command(const struct guest_boot *boot, struct guest_words *args, struct guest_words *env, struct err *err)
{
	static struct kernel kernel;
	int rc = prepare(boot, &kernel, err);

	(void)env;
	if (rc == 0)
		rc = add_machine(boot, &kernel, args, err);
	if (rc == 0)
		rc = add_channel(args, "command", 1, boot->command_fd, err);
	if (rc == 0 && boot->manage_fd >= 0)
		rc = add_channel(args, "manage", 2, boot->manage_fd, err);
	if (rc == 0 && boot->config->nic != NULL)
		rc = add_nic(args, boot->config->nic, err);
	for (size_t i = 0; i < kernel.nmodules; i++)
		free(kernel.module[i]);
	return rc == 0 ? add_kernel_line(boot, args, err) : rc;
}

const struct guest_kind guest_kind_qemu = { .name = "qemu", .command = command };

/* The first file system. */

#define MODE_EXECUTABLE 0100755U
#define TRAILER "TRAILER!!!"

static void
pad(FILE *to, size_t written)
{
	static const char zeros[4];

	fwrite(zeros, 1, (4 - written % 4) % 4, to);
}

static void
write_header(FILE *to, unsigned number, const char *name, unsigned mode, size_t bytes)
{
	/* magic, inode, mode, uid, gid, links, mtime, size, device major and minor twice, length of the name, checksum */
	int n = fprintf(to, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X%s", number, mode, 0, 0, 1, 0,
			bytes, 0, 0, 0, 0, strlen(name) + 1, 0, name);

	fputc('\0', to);
	pad(to, (size_t)n + 1);
}

static int
write_file(FILE *to, unsigned number, const struct initramfs_file *file, struct err *err)
{
	FILE *from = fopen(file->from, "re");
	char bytes[65536];
	struct stat status;
	size_t n, left;

	if (from == NULL || fstat(fileno(from), &status) < 0) {
		int rc = err_set(err, -errno, "%s: %s", file->from, strerror(errno));

		if (from != NULL)
			fclose(from);
		return rc;
	}
	left = (size_t)status.st_size;
	write_header(to, number, file->name, MODE_EXECUTABLE, left);
	while (left > 0 && (n = fread(bytes, 1, left < sizeof(bytes) ? left : sizeof(bytes), from)) > 0) {
		fwrite(bytes, 1, n, to);
		left -= n;
	}
	fclose(from);
	pad(to, (size_t)status.st_size);
	return left == 0 ? 0 : err_set(err, -EIO, "%s: it shrank while it was read", file->from);
}

/* Writes an archive of executable files. @return 0, or negative errno with err set */
static int
initramfs_write(const char *path, const struct initramfs_file *files, size_t count, struct err *err)
{
	FILE *to = fopen(path, "we");
	int rc = 0;

	if (to == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = write_file(to, (unsigned)i + 1, &files[i], err);
	write_header(to, 0, TRAILER, 0, 0);
	if (ferror(to) || fclose(to) != 0)
		return err_set(err, -EIO, "%s: cannot be written", path);
	return rc;
}
