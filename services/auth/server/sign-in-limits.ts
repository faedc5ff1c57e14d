import { type Attempts, attempts } from './attempts.js';

/** Limits of failed attempts at a name and its secret. */
export interface SignInLimits {
  /** The limits of addresses, also for requests without a name. */
  readonly addresses: Attempts;
  /** @returns the seconds to wait; 0 when the attempt may go on. */
  take(address: string, name: string): number;
  /** Gives the attempt back. */
  succeeded(address: string, name: string): void;
}

/** Many people and engines may share an address, so it may fail more often than one name. */
const NAMES_PER_ADDRESS = 6;

/** Allows `perMinute` failures for each name, and six times as many for each address. */
export const signInLimits = (perMinute: number, now: () => number = Date.now): SignInLimits => {
  const names = attempts(perMinute, now);
  const addresses = attempts(perMinute * NAMES_PER_ADDRESS, now);
  return {
    addresses,
    take: (address, name) => {
      const wait = addresses.take(address);
      if (wait > 0) return wait;
      const held = names.take(name);
      if (held > 0) addresses.giveBack(address); // nothing is verified, so it says nothing about the address
      return held;
    },
    succeeded: (address, name) => {
      addresses.giveBack(address);
      names.giveBack(name);
    },
  };
};
