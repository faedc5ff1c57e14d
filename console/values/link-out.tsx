import type { ReactNode } from 'react';

/** The schemes of addresses that become links. Addresses come from users: others are shown as text. */
const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:']);

const isSafe = (address: string): boolean => {
  try {
    return SCHEMES.has(new URL(address).protocol);
  } catch {
    return false;
  }
};

type LinkOutProps = { readonly address: string; readonly text: ReactNode };

/** A link that opens in a tab of its own; text and address where the address must not become a link. */
export const LinkOut = ({ address, text }: LinkOutProps): ReactNode =>
  isSafe(address) ? (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {text} ↗
    </a>
  ) : (
    <span title={address}>
      {text} <code>{address}</code>
    </span>
  );
