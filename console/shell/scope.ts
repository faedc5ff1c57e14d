import { useParams } from '@tanstack/react-router';

import type { Scope } from '../server/ids.js';
import { storedValue, storeValue } from './browser-storage.js';

const KEY = 'flightlog.scope';

const isScope = (value: unknown): value is Scope =>
  typeof value === 'object' && value !== null && 'project' in value && 'domain' in value;

const remembered = (): Scope | undefined => {
  try {
    const value: unknown = JSON.parse(storedValue(KEY) ?? 'null');
    return isScope(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** The project and domain of the address, or those of the last address that had some. */
export const useScope = (): Scope | undefined => {
  const { project, domain } = useParams({ strict: false });
  if (project === undefined || domain === undefined) return remembered();
  storeValue(KEY, JSON.stringify({ project, domain }));
  return { project, domain };
};
