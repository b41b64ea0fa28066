/* SPDX-License-Identifier: BSD-3-Clause */
/* What hosts with their own kernel went through, for run.json. */
#include "emulation/kernel_host/attach.h"

static json_t *
port_json(const struct port_counters *port)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "from_host_packets", (json_int_t)port->rx_packets,
			 "from_host_bytes", (json_int_t)port->rx_bytes, "to_host_packets", (json_int_t)port->tx_packets,
			 "to_host_bytes", (json_int_t)port->tx_bytes, "ring_full", (json_int_t)port->tx_refused,
			 "wakeups_repeated", (json_int_t)port->wakeups, "wakeups_refused",
			 (json_int_t)port->wakeups_refused, "connects", (json_int_t)port->connects);
}

static json_t *
nic_json(const struct kernel_host_counters *nic)
{
	json_t *dropped = json_object(), *json;

	for (int r = 0; r < EDGE_DROP_REASONS; r++)
		json_object_set_new(dropped, edge_drop_name((enum edge_drop)r), json_integer((json_int_t)nic->dropped[r]));
	json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "entered_packets", (json_int_t)nic->in_packets,
			 "left_packets", (json_int_t)nic->out_packets, "undeliverable", (json_int_t)nic->undeliverable,
			 "held_max_bytes", (json_int_t)nic->held_max_bytes, "pauses_sent", (json_int_t)nic->pauses_sent,
			 "pauses_received", (json_int_t)nic->pauses_received, "paused_ms",
			 (double)nic->paused_ps / (double)PS_PER_MS);
	json_object_set_new(json, "refused", dropped);
	return json;
}

static json_t *
program_json(const struct manage_result *result)
{
	return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cpu_s",
			 (double)result->cpu_ns / 1e9, "peak_rss_bytes", (json_int_t)result->peak_rss_bytes, "naks",
			 (json_int_t)result->naks, "timeouts", (json_int_t)result->timeouts, "lost_records",
			 (json_int_t)result->lost_records, "probe_packets", (json_int_t)result->probe_packets,
			 "probe_bytes", (json_int_t)result->probe_bytes, "polling_packets",
			 (json_int_t)result->polling_packets, "notification_packets",
			 (json_int_t)result->notification_packets, "manage_bytes", (json_int_t)result->manage_bytes,
			 "unexpected", (json_int_t)result->unexpected, "qp_error", (json_int_t)result->failed);
}

json_t *
attach_json(const struct attach *attach, const struct topo *topo)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < attach_hosts(attach); i++) {
		struct attach_host host = attach_host(attach, i);
		json_t *json = json_pack(
			"{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "host", topo->nodes[host.node].name, "kind",
			host.kind, "device", host.manage.device, "up_s", (double)host.up_ns / 1e9, "connected_s",
			(double)host.ready_ns / 1e9, "clock_error_us", (double)host.manage.clock_error_ns / 1e3,
			"base_rtt_us", (double)host.manage.base_rtt_ns / 1e3, "rtt_noise_us",
			(double)host.manage.rtt_noise_ns / 1e3, "manage_bytes", (json_int_t)host.manage.bytes,
			"refused_records", (json_int_t)host.manage.refused_records);

		if (host.refused[0] != '\0')
			json_object_set_new(json, "refused", json_string(host.refused));
		json_object_set_new(json, "port", port_json(&host.port));
		json_object_set_new(json, "nic", nic_json(&host.nic));
		if (host.result != NULL)
			json_object_set_new(json, "program", program_json(host.result));
		json_array_append_new(list, json);
	}
	return list;
}
