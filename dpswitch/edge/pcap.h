/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes frames as a classic pcap file with nanosecond times (magic 0xa1b23c4d, link type Ethernet). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pcap;

/* @return NULL with errno */
struct pcap *pcap_create(const char *path);
/* @param time_ps  rounded down to nanoseconds. @return 0; -EINVAL over 65535 bytes; -EIO */
int pcap_write(struct pcap *pcap, uint64_t time_ps, const uint8_t *bytes, size_t size_bytes);
/* @return 0, or -EIO if something could not be written */
int pcap_destroy(struct pcap *pcap);
