/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without Open MPI: a run over several processes is refused, with the remedy. */
#include <errno.h>
#include <stdlib.h>

#include "emulation/partition/processes.h"

bool
processes_are_here(void)
{
	return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

int
processes_begin(uint32_t *which, uint32_t *count, const struct transport **transport, struct err *err)
{
	*which = *count = 0;
	*transport = NULL;
	return err_set(err, -ENOTSUP,
		       "this build has no Open MPI, which a run over several processes needs: install libopenmpi-dev and "
		       "openmpi-bin (scripts/setup does), and build again: meson setup --reconfigure BUILD");
}
