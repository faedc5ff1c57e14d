import type { ReactNode } from 'react';

/** Addresses come from users: only these lead anywhere, everything else is shown as text. */
const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:']);

const isSafe = (address: string): boolean => {
  try {
    return SCHEMES.has(new URL(address).protocol);
  } catch {
    return false;
  }
};

type LinkOutProps = { readonly address: string; readonly text: ReactNode };

/** A link to another server, in a tab of its own. */
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
