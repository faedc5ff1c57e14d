import { RpcError } from '../kernel/rpc.js';

const MAX_POSITION = 2n ** 64n - 1n;

/** Names places in one log to callers, who hand them back as they are. */
export interface PositionTokens {
  format(position: bigint): string;
  /** @throws {RpcError} INVALID_ARGUMENT when it is not a token, or a token of another log. */
  parse(token: string): bigint;
}

/** The tokens of one log: its id is part of each, so that a place in another log is never taken for one in this. */
export const positionTokens = (logId: string): PositionTokens => {
  const prefix = `${logId}.`;
  const refuse = (why: string) => new RpcError('INVALID_ARGUMENT', `invalid value for flightlog-min-position: ${why}`);
  return {
    format: (position) => prefix + position.toString(),
    parse: (token) => {
      const [, log, digits] = /^(.+)\.(\d{1,20})$/s.exec(token) ?? [];
      if (log === undefined || digits === undefined) throw refuse('not a position that this service has given out');
      if (log !== logId) throw refuse('a position of another log');
      const position = BigInt(digits);
      if (position > MAX_POSITION) throw refuse('not a position that this service has given out');
      return position;
    },
  };
};
