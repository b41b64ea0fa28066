/* SPDX-License-Identifier: BSD-3-Clause */
/* The weights of the provenance graph (III-D1) as plain formulas. */
#pragma once

/*
 * w(f_i,f_j) by the replay estimate: packets of each flow are spread evenly over the epoch, so the queue that a packet
 * of f_i meets is made of the flows in proportion of their packets.
 * @param depth_i  packets met in the queue, summed over the packets of f_i
 * @param n_j      packets of f_j in the epoch
 * @param n_port   packets of the port in the epoch; at a NIC, where depth counts other flows' packets only, without
 *                 those of f_i
 */
static inline double
weight_flow_flow(double depth_i, double n_j, double n_port)
{
	return n_port > 0 ? depth_i * n_j / n_port : 0;
}

/* w(p,f): the flow's share of the packets times the summed depth of the port; both sides in packet-waits. */
static inline double
weight_port_flow(double n_f, double n_port, double depth_port)
{
	return n_port > 0 ? n_f / n_port * depth_port : 0;
}

/* w(p_i,p_j): a share of bytes. */
static inline double
weight_port_port(double bytes, double total_bytes)
{
	return total_bytes > 0 ? bytes / total_bytes : 0;
}

/*
 * Summed depth that n_f of the n_queue packets standing in a queue met, were they spread evenly over it: each has
 * (n_queue - 1) / 2 ahead on average. Stands in for the counters of epochs in which nothing moved.
 */
static inline double
weight_standing_depth(double n_f, double n_queue)
{
	return n_queue > 1 ? n_f * (n_queue - 1) / 2 : 0;
}
