/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeds of fuzz targets: a file each, written into a folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One seed. @return false, with a message on stderr, where it cannot be written */
bool write_seed(const char *folder, const char *name, const void *data, size_t size_bytes);

/* All seeds of a target. @return false where one cannot be written */
bool answer_seeds(const char *folder);
bool cfg_seeds(const char *folder);
bool controller_seeds(const char *folder);
bool guest_seeds(const char *folder);
bool manage_seeds(const char *folder);
bool plugin_seeds(const char *folder);
bool partition_seeds(const char *folder);
bool record_seeds(const char *folder);
bool roce_seeds(const char *folder);
bool msccl_seeds(const char *folder);
bool goal_seeds(const char *folder);
bool chakra_seeds(const char *folder);
bool hpcc_seeds(const char *folder);
bool sonic_seeds(const char *folder);
