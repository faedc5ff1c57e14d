import { create } from '@bufbuild/protobuf';
import { LogFormatSetSchema } from '../../proto/gen/platformidl/eventlog/log_format_pb.js';
import type { Aggregate, Decider } from '../kernel/aggregate.js';
import type { CommandContext, Outcome, Sessions } from '../kernel/ports/sessions.js';
import { LOG_CATEGORY, LOG_FORMAT_STREAM, type LogFormatEvent, logFormatCodec } from './events.js';
import { evolveLogFormat, initialLogFormat, type LogFormatState } from './state.js';

/** Sets the format of the log. Send it only when all processes can read events of the format. */
type LogFormatCommand = { readonly type: 'SetLogFormat'; readonly format: number };

/**
 * The format is never lowered: events of the newer format stay in the log, and a release that cannot read them must not
 * believe that it can.
 */
export type LogFormatRefusal = { readonly kind: 'format-lowered'; readonly inForce: number };

export const logFormatDecider: Decider<LogFormatState, LogFormatCommand, LogFormatEvent, LogFormatRefusal> = {
  initial: initialLogFormat,
  evolve: evolveLogFormat,
  decide: ({ format: inForce }, { format }) => {
    if (format < inForce) return { kind: 'refused', refusal: { kind: 'format-lowered', inForce } };
    if (format === inForce) return { kind: 'accepted', events: [] };
    return { kind: 'accepted', events: [{ type: 'LogFormatSet', data: create(LogFormatSetSchema, { format }) }] };
  },
};

const STATE_BYTES = 100;

const logFormatAggregate: Aggregate<LogFormatState, LogFormatCommand, LogFormatEvent, LogFormatRefusal> = {
  category: LOG_CATEGORY,
  decider: logFormatDecider,
  codec: logFormatCodec,
  payloadScope: () => LOG_CATEGORY,
  isPermanentRefusal: () => true,
  sizeOf: () => STATE_BYTES,
};

/** Switches the log to a format. */
export const setLogFormat = (
  format: number,
  sessions: Pick<Sessions, 'handle'>,
  context: CommandContext,
): Promise<Outcome<LogFormatRefusal>> =>
  sessions.handle(logFormatAggregate, LOG_FORMAT_STREAM, { type: 'SetLogFormat', format }, context);
