/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs started with standard streams closed must not take their own files for them. */
#pragma once

#include <fcntl.h>
#include <unistd.h>

/* Opens what is closed among descriptors 0 to 2. First thing in every main(). */
static inline void
stdio_guard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}
