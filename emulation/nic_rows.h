/* SPDX-License-Identifier: BSD-3-Clause */
/* A host's NIC ports in the tables that switches use: connects rxe-hosts/device to dpswitch/telemetry. */
#pragma once

#include "dpswitch/fabric/fabric.h"
#include "dpswitch/truth/port_truth.h"
#include "rxe-hosts/device/embedded/nic_telemetry.h"
#include "telemetry/answer.h"
#include "telemetry/epoch.h"

struct nic_rows_port {
	struct telem_port telem;
	struct port_flows flows;
	struct port_truth truth;
	struct truth_window window; /* under way; depth: packets of other flows that one waited for, at most */
};

struct nic_rows {
	const struct fabric *fabric;
	struct telem_config config;
	struct nic_rows_port *ports; /* [config.nports] */
	struct recbuf unkept;        /* what retain_ps discards */
};

/*
 * @param config  of switches' telemetry; nports and host are set here
 * @return 0 or -ENOMEM. rows must not move afterwards.
 */
int nic_rows_init(struct nic_rows *rows, const struct fabric *fabric, const struct telem_config *config,
		  const struct flow_table *flows, uint16_t nports);
void nic_rows_fini(struct nic_rows *rows);

/* The calls that the embedded device makes. */
struct nic_telemetry nic_rows_ops(struct nic_rows *rows);
