/* SPDX-License-Identifier: BSD-3-Clause */
/* PFC frames as bytes; inside the fabric they are struct pause_frame. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/pfc.h"

struct pfc_fields {
	uint8_t src_mac[ETH_ADDR_BYTES];
	uint8_t class_enable;         /* bit i: quanta[i] is meant */
	uint16_t quanta[PFC_CLASSES]; /* PFC_QUANTUM_BITS bit times; 0: resume */
};

/* Writes a frame without FCS. Quanta of classes that are not enabled are written as 0. */
void pfc_frame_build(const struct pfc_fields *fields, uint8_t bytes[ETH_MIN_BYTES]);

/*
 * @param size_bytes  without FCS; longer than 60 bytes is not a PFC frame
 * @return 0; -ENOENT if it is not MAC Control with the PFC opcode; -EBADMSG if it is, but too short or too long, not
 *         to the MAC Control address, or with a bit set in the upper half of the class enable vector
 */
int pfc_frame_parse(const uint8_t *bytes, size_t size_bytes, struct pfc_fields *fields);
