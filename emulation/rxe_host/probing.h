/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's agent on this host: its controller is at the other end of the management channel. */
#pragma once

#include "emulation/rxe_host/session_state.h"

/* Makes the agent, over a device that exists, and opens its QPs. Nothing where R-Pingmesh is off. @return 0 or negative errno with err */
int probing_start(struct session *session, struct err *err);
/* struct verbs_config's interface_of. @param ctx  struct topo */
uint32_t probing_interface(const void *ctx, uint32_t ip);
/* Sends what the agent asks. @return 0 or negative errno with err */
int probing_ask(struct session *session, struct err *err);
/* Gives it the controller's reply. @return 0 or negative errno with err */
int probing_reply(struct session *session, const struct manage_message *message, struct err *err);
