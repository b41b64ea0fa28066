/* SPDX-License-Identifier: BSD-3-Clause */
/* The first file system of a QEMU guest: a cpio archive ("newc", Documentation/driver-api/early-userspace of the kernel). */
#pragma once

#include <stddef.h>

#include "common/err.h"

/* One file of it. */
struct initramfs_file {
	const char *name; /* in the archive, at its root */
	const char *from; /* path of what it is a copy of */
};

/* Writes an archive of executable files. @return 0, or negative errno with err set */
int initramfs_write(const char *path, const struct initramfs_file *files, size_t count, struct err *err);
