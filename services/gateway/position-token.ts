import { RpcError } from '../kernel/rpc.js';

/** Characters of a value that an error message quotes. */
const SHOWN = 100;

const MAX_POSITION = 2n ** 64n - 1n;

/** Formats log positions as opaque tokens for callers, and parses the tokens that they send back. */
export interface PositionTokens {
  format(position: bigint): string;
  /** @throws {RpcError} INVALID_ARGUMENT when the text is not a token, or is a token of another log. */
  parse(token: string): bigint;
}

/** Makes the tokens of one log. Each contains the log id, so that a position of another log is refused. */
export const positionTokens = (logId: string): PositionTokens => {
  const prefix = `${logId}.`;
  const refuse = (reason: string) =>
    new RpcError('INVALID_ARGUMENT', `invalid value for flightlog-min-position: ${reason}`);
  return {
    format: (position) => prefix + position.toString(),
    parse: (token) => {
      const [, log, digits] = /^(.+)\.(\d{1,20})$/s.exec(token) ?? [];
      const shown = `'${token.slice(0, SHOWN)}'`;
      const strange = `${shown} is not a position that this service has given out`;
      if (log === undefined || digits === undefined) throw refuse(strange);
      if (log !== logId) throw refuse(`${shown} is a position of another log`);
      const position = BigInt(digits);
      if (position > MAX_POSITION) throw refuse(strange);
      return position;
    },
  };
};
