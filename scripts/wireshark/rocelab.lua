-- SPDX-License-Identifier: BSD-3-Clause
-- Wireshark dissector of what rocelab speaks beside RoCEv2 and PFC: polling packets (UDP 47910), notification packets
-- (UDP 47911), tags of measured data (DSCP xxxx11) and the telemetry record stream, over TCP (known by its magic, or by Decode As) and as a file: records.bin
-- opens like a capture.
--
--   wireshark -X lua_script:scripts/wireshark/rocelab.lua out/case-study/capture.pcapng
--   tshark -X lua_script:scripts/wireshark/rocelab.lua -r out/case-study/records.bin
--
-- or copy it into the folder "Personal Lua Plugins" of Wireshark's Help > About > Folders. Wireshark 3.6 or later.
-- The formats are docs/wire-formats.md and docs/wire-records.md; the tables of records and of values below are made of common/wire by
-- tests/wire/record_tables.py.

local POLL_PORT, NOTIFY_PORT = 47910, 47911
local MAGIC, VERSION, STREAM_BYTES, HEADER_BYTES = "ROCELAB1", 23, 16, 24
local FRAME, FRAME_TUPLES, ROCE_PORT = 64, 64, 4791
local PS_PER_S, PS_PER_NS = 1000000000000, 1000

-- Of each record: name, size, fields behind the header. Types: u8 u16 u32 u64, s32 and s96 (a text of that many bytes), ip, ps (a time),
-- tuple (a flow). A field "reserved" is skipped. In frames those with + are counts, those with - end what the field before
-- begins.
local RECORDS = {
  [1] = { "run", 120, "name:s32 policy:u32 detections:u32 rtt_percent:u32 epochs_kept:u32 epoch_ps:ps budget_bps:u64 " ..
          "frame_bytes:u32 payload_bytes:u32 ack_bytes:u32 exact_contention:u16 strict_classes:u16 jitter_ps:ps " ..
          "window_bytes:u64" },
  [2] = { "node", 64, "name:s32 kind:u32 nports:u32" },
  [3] = { "port", 56, "port:u16 peer_port:u16 peer:u32 ip:ip reserved:u32 rate_bps:u64 delay_ps:ps" },
  [4] = { "collective", 152, "id:u32 iteration:u32 algorithm:u32 op:u32 ranks:u32 steps:u32 rank_steps:u32 job:u32 " ..
          "bytes:u64 ideal_ps:ps expect_ps:ps name:s32 job_name:s32 group_ranks:u32 reserved:u32" },
  [5] = { "schedule", 120, "collective:u32 iteration:u32 step:u32 rank:u32 flow:tuple bytes:u64 peer:u32 channel:u32 " ..
          "own_step:u32 depends_rank:u32 depends_step:u32 depends:u32 ideal_ps:ps expect_ps:ps base_rtt_ps:ps " ..
          "prio:u32 spread_ns:u32" },
  [6] = { "route", 48, "flow:tuple hop:u16 port:u16 reverse:u16 ecmp:u16" },
  [7] = { "ecmp", 48, "set:u32 sprayed:u16 first:u16 ports_0:u64 ports_1:u64" },
  [8] = { "follow", 32, "collective:u32 after:u32" },
  [9] = { "depend", 56, "collective:u32 iteration:u32 step:u32 rank:u32 on_collective:u32 on_rank:u32 on_step:u32 " ..
          "reserved:u32" },
  [10] = { "monitor", 80, "prediction:u32 detector:u32 threshold_ppm:u32 tolerance_ppm:u32 learn:u32 counts:u32 " ..
           "ports_alone:u32 rate_ppb:u32 runs:u32 iterations:u32 virtual_ps:ps in_order:u32 reserved:u32" },
  [11] = { "known_fault", 96, "kind:s32 port:u16 reserved:u16 rate_ppb:u32 extra_ps:ps start_ps:ps duration_ps:ps " ..
           "period_ps:ps" },
  [12] = { "pingmesh", 88, "time_factor_ppm:u32 software_times:u16 algorithm:u16 tor_mesh_ps:ps inter_tor_ps:ps " ..
           "service_ps:ps timeout_ps:ps upload_ps:ps period_ps:ps pinglist_ps:ps" },
  [13] = { "tracer", 48, "rtt_ps:ps period_ps:ps connections:u16 first_hop:u16 processes:u16 threads:u16" },
  [14] = { "setting", 128, "text:s96 continued:u32 reserved:u32" },
  [16] = { "step", 232, "collective:u32 iteration:u32 step:u32 rank:u32 waited_collective:u32 waited_rank:u32 " ..
           "waited_step:u32 retransmits:u32 bytes:u64 acked_bytes:u64 start_ps:ps end_ps:ps open:u32 waited_ns:u32 " ..
           "rtt_min_ps:ps rtt_mean_ps:ps rtt_samples:u32 naks:u32 wire_ps:ps there_ps:ps back_ps:ps paced_ps:ps " ..
           "window_ps:ps late_ps:ps paused_ps:ps nak_ps:ps timeout_ps:ps early_ps:ps reordered_ps:ps nic_ps:ps " ..
           "peer_ps:ps behind_ps:ps" },
  [17] = { "trigger", 80, "flow:tuple collective:u32 iteration:u32 step:u32 cause:u32 rtt_ps:ps threshold_ps:ps " ..
           "remaining:u32 rank:u32" },
  [18] = { "notify", 48, "to:u32 collective:u32 iteration:u32 step:u32 detections:u32 rank:u32" },
  [19] = { "probe", 88, "nic:u16 kind:u16 result:u16 reserved:u16 tuple:tuple target_qpn:u32 seq:u32 sent_ps:ps " ..
           "rtt_ps:ps prober_ps:ps responder_ps:ps" },
  [20] = { "probe_hop", 72, "tuple:tuple hop:u16 back:u16 at:u32 port:u16 last:u16 trace:u32 sent_ps:ps count:u32 " ..
           "reserved:u32" },
  [21] = { "rnic", 40, "nic:u16 reserved:u16 ip:ip qpn:u32 tor:u32" },
  [22] = { "upload", 40, "probes:u32 timeouts:u32 dropped:u32 late_us:u32" },
  [23] = { "connection", 48, "nic:u16 open:u16 collective:u32 tuple:tuple" },
  [24] = { "traced", 80, "tuple:tuple set_low:u64 set_high:u64 reported_ps:ps messages:u64 round:u32 nic:u16 " ..
           "result:u16" },
  [25] = { "responder", 64, "tuple:tuple nic:u16 chained:u16 first_seq:u32 last_seq:u32 after_seq:u32 count:u32 " ..
           "qpn:u32" },
  [26] = { "lateness", 80, "kind:u32 lcore:u32 partition:u32 measured:u32 from_ps:ps to_ps:ps- late_ps:ps most_ps:ps " ..
           "windows:u32 late_windows:u32" },
  [32] = { "poll", 56, "victim:tuple in_port:u16 out_port:u16 flags:u16 out_paused:u8 repeated:u8 ttl:u32 " ..
           "reserved:u32" },
  [33] = { "port_row", 160, "port:u16 prio:u16 host:u8 paused:u8 depth_max:u32 epoch_first:u32 epoch_last:u32- " ..
           "from_ps:ps to_ps:ps- packets:u64+ bytes:u64+ depth_sum:u64+ paused_packets:u64+ pause_ps:ps " ..
           "paused_since_ps:ps queue_packets:u64+ queue_bytes:u64+ ingress_bytes:u64+ ingress_xoff_bytes:u64 " ..
           "pausing_since_ps:ps pausing:u32 pauses_received:u32 pauses_sent:u32 state_only:u16" },
  [34] = { "flow_row", 88, "flow:tuple port:u16 in_port:u16 epoch_first:u32 epoch_last:u32- queue_packets:u32 " ..
           "packets:u64+ bytes:u64+ depth_sum:u64+ paused_packets:u64+" },
  [35] = { "meter_row", 56, "in_port:u16 port:u16 prio:u16 epoch_first:u32 epoch_last:u32- reserved:u16 bytes:u64+ " ..
           "held_bytes:u64+" },
  [36] = { "matrix_row", 80, "flow:tuple other:tuple port:u16 reserved16:u16 epoch_first:u32 epoch_last:u32- " ..
           "reserved:u32 ahead:u64+" },
  [37] = { "drop_row", 80, "last:tuple port:u16 reason:u16 reserved:u32 packets:u64+ bytes:u64+ first_ps:ps " ..
           "last_ps:ps-" },
  [38] = { "overtake_row", 72, "flow:tuple port:u16 acks:u16 epoch_first:u32 epoch_last:u32- prio:u32 packets:u64+ " ..
           "bytes:u64+" },
  [39] = { "passage", 96, "flow:tuple in_port:u16 out_port:u16 waiting:u32 in_frames:u64+ sent_frames:u64+ " ..
           "flow_packets:u64+ resent:u32 timeouts:u32 duplicates:u32 out_of_sequence:u32 most_missing:u32 naks:u32" },
  [40] = { "volume", 64, "port:u16 flaws:u16 sender:u32 iteration:u32 learned:u32 predicted:u64+ seen:u64+ " ..
           "packets:u64+" },
  [41] = { "volume_alarm", 112, "port:u16 place:u16 sender:u32 iteration:u32 pooled:u32 predicted:u64+ seen:u64+ " ..
           "expected:u64+ got:u64+ packets:u64+ drop_ppm:u32 low_ppm:u32 high_ppm:u32 dispersion_ppm:u32 noise:u32 " ..
           "reserved:u32 reference_packets:u64+" },
  [42] = { "volume_flaw", 56, "sender:u32 iteration:u32 flaw:u32 reserved:u32 predicted:u64+ seen:u64+" },
  [43] = { "monitored", 72, "ports:u32 senders:u32 compared:u32 learned:u32 relearned:u32 flawed:u32 alarms:u32 " ..
           "bytes:u32 late_packets:u64+ lost_packets:u64+" },
  [44] = { "traced_hop", 72, "tuple:tuple set_low:u64 set_high:u64 round:u32 hop:u16 in_port:u16 out_port:u16 " ..
           "result:u16 first:u16 reserved:u16" },
  [45] = { "trace_round", 72, "start_ps:ps sent_bytes:u64 received_bytes:u64 round:u32 flows:u32 traced:u32 " ..
           "questions:u32 connections:u32 complete:u16 reserved:u16" },
  [46] = { "watchdog", 48, "port:u16 prio:u16 event:u16 action:u16 since_ps:ps packets:u64+" },
  [47] = { "link_rate", 40, "port:u16 reserved16:u16 reserved:u32 rate_bps:u64" },
  [48] = { "gap", 56, "kind:u32 dropped:u32 dropped_bytes:u64+ from_ps:ps to_ps:ps" },
  [49] = { "end", 168, "reason:u16 recording_errno:u16 at_node:u32 end_ps:ps offered_bytes:u64 sent_bytes:u64 " ..
           "offered_records:u64 sent_records:u64 deferred_records:u64 dropped_records:u64 polling_packets:u64 " ..
           "polling_bytes:u64 notification_packets:u64 notification_bytes:u64 detections:u64 kept_reports:u64 " ..
           "kept_bytes:u64 collected_reports:u64 collected_bytes:u64 clock_error_ps:ps" },
  [50] = { "flow_seen", 80, "flow:tuple port:u16 reserved16:u16 reserved:u32 first_ps:ps last_ps:ps packets:u64+ " ..
           "bytes:u64+" },
}

local POLL_FLAGS = { [1] = "victim path", [2] = "PFC spreading path", [3] = "victim and PFC spreading path" }
for bit, what in ipairs({ ", quiet", ", to be sent back", ", sent back" }) do
  local flag = 2 ^ (bit + 1)
  for flags = flag, 2 * flag - 1 do
    POLL_FLAGS[flags] = POLL_FLAGS[flags - flag] and POLL_FLAGS[flags - flag] .. what
  end
end
local VALUES = {
  ["run.policy"] = { [0] = "off", "vedrfolnir", "vedrfolnir-poster", "hawkeye-minr", "hawkeye-maxr", "full-polling", "vedrfolnir-paper" },
  ["node.kind"] = { [0] = "switch", "host" },
  ["collective.algorithm"] = { [0] = "ring", "halving-doubling", "linear", "pairwise", "bruck", "binomial-tree", "double-binary-tree", "pipeline", "file" },
  ["collective.op"] = { [0] = "allgather", "reducescatter", "allreduce", "alltoall", "alltoallv", "broadcast", "reduce", "sendrecv", "custom", "flows" },
  ["trigger.cause"] = { [0] = "rtt", "stall", "throttle", "resent", "lag" },
  ["poll.flags"] = POLL_FLAGS,
  ["drop_row.reason"] = { [0] = "injected", "corrupt", "link_down", "ttl", "no_route", "blackhole", "queue_full", "no_buffer", "mtu", "watchdog" },
  ["probe.kind"] = { [0] = "tor-mesh", "inter-tor", "service", "rail" },
  ["probe.result"] = { [0] = "ok", "timeout", "second-lost", "first-lost", "late" },
  ["end.reason"] = { [0] = "complete", "qp_error", "stall", "virtual_time", "invariant", "interrupt", "host_lost", "partition_lost" },
}
local WIDTHS = { u8 = 1, u16 = 2, u32 = 4, u64 = 8, s32 = 32, s96 = 96, ip = 4, ps = 8, tuple = 16 }

-- Polling and notification packets: network byte order.

local poll = Proto("rocelab_poll", "rocelab polling packet")
poll.fields.magic = ProtoField.string("rocelab_poll.magic", "Magic")
poll.fields.version = ProtoField.uint8("rocelab_poll.version", "Version")
poll.fields.flags = ProtoField.uint8("rocelab_poll.flags", "Flags", base.DEC, POLL_FLAGS)
poll.fields.protocol = ProtoField.uint8("rocelab_poll.protocol", "Victim's protocol")
poll.fields.event = ProtoField.uint32("rocelab_poll.event", "Event", base.HEX)
poll.fields.src = ProtoField.ipv4("rocelab_poll.src", "Victim's source")
poll.fields.dst = ProtoField.ipv4("rocelab_poll.dst", "Victim's destination")
poll.fields.sport = ProtoField.uint16("rocelab_poll.sport", "Victim's source port")
poll.fields.dport = ProtoField.uint16("rocelab_poll.dport", "Victim's destination port")
poll.experts.bad = ProtoExpert.new("rocelab_poll.bad", "No polling packet of version 1", expert.group.MALFORMED,
                                   expert.severity.ERROR)

function poll.dissector(tvb, pinfo, tree)
  local f, t = poll.fields, tree:add(poll, tvb())

  pinfo.cols.protocol = "Polling"
  if tvb:reported_length_remaining() ~= 24 or tvb(0, 4):string() ~= "RLPL" or tvb(4, 1):uint() ~= 1 then
    t:add_proto_expert_info(poll.experts.bad)
    return
  end
  t:add(f.magic, tvb(0, 4))
  t:add(f.version, tvb(4, 1))
  t:add(f.flags, tvb(5, 1))
  t:add(f.protocol, tvb(6, 1))
  t:add(f.event, tvb(8, 4))
  t:add(f.src, tvb(12, 4))
  t:add(f.dst, tvb(16, 4))
  t:add(f.sport, tvb(20, 2))
  t:add(f.dport, tvb(22, 2))
  pinfo.cols.info = string.format("Event 0x%08x, %s, of %s:%d > %s:%d", tvb(8, 4):uint(),
                                  POLL_FLAGS[tvb(5, 1):uint()] or "no known flags", tostring(tvb(12, 4):ipv4()),
                                  tvb(20, 2):uint(), tostring(tvb(16, 4):ipv4()), tvb(22, 2):uint())
  return 24
end

local notify = Proto("rocelab_notify", "rocelab notification packet")
notify.fields.magic = ProtoField.string("rocelab_notify.magic", "Magic")
notify.fields.version = ProtoField.uint8("rocelab_notify.version", "Version")
notify.fields.step = ProtoField.uint32("rocelab_notify.step", "Step that the sender finished")
notify.fields.detections = ProtoField.uint32("rocelab_notify.detections", "Detections handed over")
notify.experts.bad = ProtoExpert.new("rocelab_notify.bad", "No notification packet of version 1", expert.group.MALFORMED,
                                     expert.severity.ERROR)

function notify.dissector(tvb, pinfo, tree)
  local f, t = notify.fields, tree:add(notify, tvb())

  pinfo.cols.protocol = "Notification"
  if tvb:reported_length_remaining() ~= 16 or tvb(0, 4):string() ~= "RLNT" or tvb(4, 1):uint() ~= 1 then
    t:add_proto_expert_info(notify.experts.bad)
    return
  end
  t:add(f.magic, tvb(0, 4))
  t:add(f.version, tvb(4, 1))
  t:add(f.step, tvb(8, 4))
  t:add(f.detections, tvb(12, 4))
  pinfo.cols.info = string.format("Step %d finished, %d detections handed over", tvb(8, 4):uint(), tvb(12, 4):uint())
  return 16
end

-- The tag of measured data, beside what Wireshark says of the frame: a DSCP whose low two bits are 11, of RC data.

local tag = Proto("rocelab_tag", "rocelab tag of measured data")
tag.fields.iteration = ProtoField.uint8("rocelab_tag.iteration", "Iteration, modulo 16")
local tag_dscp, tag_dscp6 = Field.new("ip.dsfield.dscp"), Field.new("ipv6.tclass.dscp")
local tag_opcode = Field.new("infiniband.bth.opcode")

function tag.dissector(tvb, pinfo, tree)
  local dscp, opcode = tag_dscp() or tag_dscp6(), tag_opcode()

  if dscp and opcode and dscp.value % 4 == 3 and opcode.value <= 0x0b then
    tree:add(tag):add(tag.fields.iteration, math.floor(dscp.value / 4)):set_generated()
  end
end

register_postdissector(tag)

-- A selective ACK (docs/transport.md), beside what Wireshark says of the frame: the MSN field has the PSN that is expected.

local sack = Proto("rocelab_sack", "rocelab selective ACK")
sack.fields.psn = ProtoField.uint32("rocelab_sack.psn", "Packet that it acknowledges (PSN)")
sack.fields.before = ProtoField.uint8("rocelab_sack.before", "Of the five packets before have come", base.HEX)
sack.fields.expected = ProtoField.uint32("rocelab_sack.expected", "PSN that the receiver expects")
local sack_syndrome, sack_psn = Field.new("infiniband.aeth.syndrome"), Field.new("infiniband.bth.psn")
local sack_expected = Field.new("infiniband.aeth.msn")

function sack.dissector(tvb, pinfo, tree)
  local syndrome, psn, expected = sack_syndrome(), sack_psn(), sack_expected()

  if syndrome and psn and expected and math.floor(syndrome.value / 32) == 2 then
    local told = tree:add(sack)
    told:add(sack.fields.psn, psn.value):set_generated()
    told:add(sack.fields.before, syndrome.value % 32):set_generated()
    told:add(sack.fields.expected, expected.value):set_generated()
  end
end

register_postdissector(sack)
DissectorTable.get("udp.port"):add(POLL_PORT, poll)
DissectorTable.get("udp.port"):add(NOTIFY_PORT, notify)

-- The record stream: little-endian.

local stream = Proto("rocelab", "rocelab telemetry record")
local names = {}
for number, record in pairs(RECORDS) do
  names[number] = record[1]:upper()
end
stream.fields.magic = ProtoField.string("rocelab.magic", "Magic")
stream.fields.version = ProtoField.uint32("rocelab.version", "Version")
stream.fields.type = ProtoField.uint16("rocelab.type", "Type", base.DEC, names)
stream.fields.size = ProtoField.uint16("rocelab.size", "Size")
stream.fields.node = ProtoField.uint32("rocelab.node", "Node")
stream.fields.time = ProtoField.uint64("rocelab.time_ps", "Time", base.UNIT_STRING, { " ps" })
stream.fields.seq = ProtoField.uint32("rocelab.seq", "Sequence number of the node")
stream.fields.event = ProtoField.uint32("rocelab.event", "Polling event", base.HEX)
stream.fields.frame = ProtoField.uint16("rocelab.frame.size", "Frame", base.UNIT_STRING, { " B of packed records" })
stream.fields.sent = ProtoField.uint64("rocelab.frame.sent_ps", "Sent", base.UNIT_STRING, { " ps" })
stream.fields.frame_node = ProtoField.uint32("rocelab.frame.node", "Node")
stream.experts.bad = ProtoExpert.new("rocelab.bad", "No record of this version", expert.group.MALFORMED,
                                     expert.severity.ERROR)

-- One field of Wireshark's for a field of a record.
local function make_field(record, name, kind)
  local filter, label = "rocelab." .. record .. "." .. name, name:gsub("_ps$", ""):gsub("_", " ")

  if kind:sub(1, 1) == "s" then
    return ProtoField.stringz(filter, label)
  elseif kind == "ip" then
    return ProtoField.ipv4(filter, label)
  elseif kind == "ps" then
    return ProtoField.uint64(filter, label, base.UNIT_STRING, { " ps" })
  end
  return ProtoField["uint" .. kind:sub(2)](filter, label, base.DEC, VALUES[record .. "." .. name])
end

local layouts, packs = {}, {}
for number, record in pairs(RECORDS) do
  local layout, packed, at = {}, {}, HEADER_BYTES

  for name, kind, mark in record[3]:gmatch("(%S+):(%w+)(%p?)") do
    local key = record[1] .. "_" .. name

    packed[#packed + 1] = { at = at, bytes = WIDTHS[kind], tuple = kind == "tuple", mark = mark }

    if not name:match("^reserved") then
      if kind == "tuple" then
        local parts = {}

        for i, part in ipairs({ "src_ip:ip", "dst_ip:ip", "sport:u16", "dport:u16" }) do
          local part_name, part_kind = part:match("(.*):(.*)")

          parts[i] = make_field(record[1], name .. "." .. part_name, part_kind)
          stream.fields[key .. "_" .. part_name] = parts[i]
        end
        layout[#layout + 1] = { at = at, name = name, parts = parts }
      else
        local field = make_field(record[1], name, kind)

        stream.fields[key] = field
        layout[#layout + 1] = { at = at, bytes = WIDTHS[kind], field = field }
      end
    end
    at = at + WIDTHS[kind]
  end
  assert(at == record[2], record[1] .. ": fields and size disagree")
  layouts[number], packs[number] = layout, packed
end

local function tuple_text(range)
  return string.format("%s:%d > %s:%d", tostring(range(0, 4):le_ipv4()), range(8, 2):le_uint(),
                       tostring(range(4, 4):le_ipv4()), range(10, 2):le_uint())
end

local function add_tuple(tree, part, range)
  local t = tree:add(range, part.name .. ": " .. tuple_text(range))

  t:add_le(part.parts[1], range(0, 4))
  t:add_le(part.parts[2], range(4, 4))
  t:add_le(part.parts[3], range(8, 2))
  t:add_le(part.parts[4], range(10, 2))
end

-- What the list of packets says of a record.
local function summary(tvb, number)
  local node, text = tvb(4, 4):le_uint(), names[number]

  if node ~= 0xffffffff then
    text = text .. " node " .. node
  end
  if layouts[number][1].parts ~= nil then
    text = text .. ", " .. tuple_text(tvb(HEADER_BYTES, 16))
  end
  return text
end

local function dissect_record(tvb, tree)
  local f, number, size = stream.fields, tvb(0, 2):le_uint(), tvb(2, 2):le_uint()
  local t = tree:add(stream, tvb())

  t:add_le(f.type, tvb(0, 2))
  t:add_le(f.size, tvb(2, 2))
  if RECORDS[number] == nil or RECORDS[number][2] ~= size or tvb:len() < size then
    t:add_proto_expert_info(stream.experts.bad)
    return "record of unknown type " .. number
  end
  t:add_le(f.node, tvb(4, 4))
  t:add_le(f.time, tvb(8, 8))
  t:add_le(f.seq, tvb(16, 4))
  t:add_le(f.event, tvb(20, 4))
  for _, part in ipairs(layouts[number]) do
    if part.parts ~= nil then
      add_tuple(t, part, tvb(part.at, 16))
    else
      t:add_le(part.field, tvb(part.at, part.bytes))
    end
  end
  local text = summary(tvb, number)
  t:append_text(": " .. text)
  return text
end

-- A frame of packed records (common/record/frame.h). Numbers are UInt64.

local function number(frame)
  local value, shift, byte = UInt64(0), 0, nil

  repeat
    byte = frame.tvb(frame.at, 1):uint()
    frame.at = frame.at + 1
    value = value:bor(UInt64(byte % 128):lshift(shift))
    shift = shift + 7
  until byte < 128
  return value
end

local function change(frame)
  local told = number(frame)
  local half = told:rshift(1)

  return told:band(1) == UInt64(0) and half or half:bnot()
end

local function to_bytes(value, width)
  return Struct.pack("<E", value):sub(1, width)
end

local function from_bytes(bytes)
  return (Struct.unpack("<E", bytes .. string.rep("\0", 8 - #bytes)))
end

local function tuple(frame)
  local index = number(frame):tonumber()

  if index > 0 then
    return frame.tuples[index]
  end
  frame.src = frame.src:bxor(number(frame))
  local dst, sport, dport = number(frame):bxor(frame.src), number(frame), number(frame):bxor(UInt64(ROCE_PORT))
  local told = to_bytes(frame.src, 4) .. to_bytes(dst, 4) .. to_bytes(sport, 2) .. to_bytes(dport, 2) ..
               to_bytes(number(frame), 4)

  if #frame.tuples < FRAME_TUPLES then
    frame.tuples[#frame.tuples + 1] = told
  end
  return told
end

local function one_of_frame(frame)
  local type = frame.tvb(frame.at, 1):uint()
  frame.at, frame.seq = frame.at + 1, frame.seq + 1
  if type >= 128 then
    type = type - 128
    frame.time, frame.seq, frame.event = frame.time + change(frame), frame.seq + change(frame), frame.event + change(frame)
  end
  local size, parts, before = RECORDS[type][2], {}, frame.latest[type]
  local map = number(frame):tonumber()
  local last, last_before = UInt64(0), UInt64(0)

  for i, field in ipairs(packs[type]) do
    local told, old = math.floor(map / 2 ^ (i - 1)) % 2 == 1, before and before[i] or string.rep("\0", field.bytes)

    if field.tuple then
      parts[i] = told and tuple(frame) or old
    else
      local value = field.mark == "+" and UInt64(0) or from_bytes(old)

      if field.mark == "-" then
        value = value + last - last_before
      end
      if told then
        value = value + (field.mark == "+" and number(frame) or change(frame))
      end
      parts[i] = to_bytes(value, field.bytes)
      last, last_before = from_bytes(parts[i]), from_bytes(old)
    end
  end
  frame.latest[type] = parts
  return Struct.pack("<I2I2I4E", type, size, frame.node, frame.time) .. to_bytes(frame.seq, 4) .. to_bytes(frame.event, 4) ..
         table.concat(parts)
end

local function dissect_frame(tvb, tree)
  local t, count = tree:add(stream, tvb()), 0
  local frame = { tvb = tvb, at = HEADER_BYTES, node = tvb(4, 4):le_uint(), time = tvb(8, 8):le_uint64(),
                  seq = UInt64(tvb(16, 4):le_uint()) - 1, event = UInt64(tvb(20, 4):le_uint()), src = UInt64(0),
                  latest = {}, tuples = {} }

  t:add_le(stream.fields.frame, tvb(2, 2))
  t:add_le(stream.fields.frame_node, tvb(4, 4))
  t:add_le(stream.fields.sent, tvb(8, 8))
  while frame.at < tvb:len() do
    local fits, record = pcall(one_of_frame, frame)

    if not fits then
      t:add_proto_expert_info(stream.experts.bad)
      break
    end
    dissect_record(ByteArray.new(record, true):tvb("Record"), t)
    count = count + 1
  end
  local text = string.format("%d of node %d", count, frame.node)
  t:append_text(": " .. text)
  return text
end

local function is_stream_header(range)
  return range(0, 8):string() == MAGIC
end

local function dissect_stream_header(tvb, tree)
  local t = tree:add(stream, tvb())

  t:add(stream.fields.magic, tvb(0, 8))
  t:add_le(stream.fields.version, tvb(8, 4))
  if tvb(8, 4):le_uint() ~= VERSION then
    t:add_proto_expert_info(stream.experts.bad)
  end
  return "stream of version " .. tvb(8, 4):le_uint()
end

-- One record, a frame of some, or the header of the stream, from a segment or a file.
local function dissect_piece(tvb, pinfo, tree)
  local text = is_stream_header(tvb) and dissect_stream_header(tvb, tree) or
               tvb(0, 2):le_uint() == FRAME and dissect_frame(tvb, tree) or dissect_record(tvb, tree)

  pinfo.cols.protocol = "rocelab"
  pinfo.cols.info:append((tostring(pinfo.cols.info) ~= "" and "; " or "") .. text)
  return tvb:len()
end

local function piece_bytes(tvb, pinfo, offset)
  if is_stream_header(tvb:range(offset, 8)) then
    return STREAM_BYTES
  end
  local size = tvb:range(offset + 2, 2):le_uint()
  -- what cannot be a record ends the walk through this segment
  return size >= HEADER_BYTES and size < 2048 and size or tvb:len() - offset
end

local function dissect_segment(tvb, pinfo, tree)
  pinfo.cols.info = ""
  dissect_tcp_pdus(tvb, tree, 8, piece_bytes, dissect_piece)
  return tvb:len()
end

function stream.dissector(tvb, pinfo, tree)
  local tcp = pinfo.port_type == 2

  return (tcp and dissect_segment or dissect_piece)(tvb, pinfo, tree)
end

stream:register_heuristic("tcp", function(tvb, pinfo, tree)
  if tvb:len() < 8 or not is_stream_header(tvb) then
    return false
  end
  pinfo.conversation = stream
  dissect_segment(tvb, pinfo, tree) -- not by way of stream.dissector, which could not ask for more segments
  return true
end)
DissectorTable.get("tcp.port"):add_for_decode_as(stream)

-- records.bin as a file: one packet a record or frame, at the time it was sent.

local reader = FileHandler.new("rocelab records", "rocelab", "Telemetry that rocelab recorded", "rms")

local function read_record(file, frame)
  local head = file:read(HEADER_BYTES)

  if head == nil or #head < HEADER_BYTES then
    return false
  end
  local _, size, _, time_ps = Struct.unpack("<I2I2I4E", head)
  if size < HEADER_BYTES then
    return false
  end
  local body = size > HEADER_BYTES and file:read(size - HEADER_BYTES) or ""
  if body == nil or #body < size - HEADER_BYTES then
    return false
  end
  frame.rec_type = wtap_rec_types.PACKET
  frame.captured_length = size
  frame.original_length = size
  frame.flags = wtap_presence_flags.TS + wtap_presence_flags.CAP_LEN
  frame.time = NSTime((time_ps / PS_PER_S):tonumber(), ((time_ps % PS_PER_S) / PS_PER_NS):tonumber())
  frame.data = head .. body
  return true
end

function reader.read_open(file, capture)
  local head = file:read(STREAM_BYTES)

  if head == nil or #head < STREAM_BYTES or head:sub(1, 8) ~= MAGIC then
    return false
  end
  capture.time_precision = wtap_filetypes and wtap_filetypes.TSPREC_NSEC or wtap_tsprecs.NSEC
  capture.encap = wtap.USER0
  capture.snapshot_length = 0
  return true
end

function reader.read(file, capture, frame)
  local at = file:seek("cur")

  return read_record(file, frame) and at or false
end

function reader.seek_read(file, capture, frame, offset)
  file:seek("set", offset)
  return read_record(file, frame)
end

reader.extensions = "bin"
register_filehandler(reader)
DissectorTable.get("wtap_encap"):add(wtap.USER0, stream)
