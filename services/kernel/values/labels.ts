import { RpcError } from '../rpc.js';

/** The limit of FlyteAdmin. */
const MAX_ENTRIES = 16;

// Engines set labels on Kubernetes objects, so the rules of Kubernetes apply to each.
const MAX_PREFIX = 253;
const MAX_NAME = 63;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;
const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/u;

const nameProblem = (name: string): string | undefined => {
  if (name.length > MAX_NAME) return `must be no more than ${MAX_NAME} characters`;
  if (NAME.test(name)) return undefined;
  return "must consist of alphanumeric characters, '-', '_' or '.', and start and end with an alphanumeric character";
};

const prefixProblem = (prefix: string): string | undefined =>
  prefix.length <= MAX_PREFIX && SUBDOMAIN.test(prefix) ? undefined : 'prefix must be a lower-case DNS subdomain';

const keyProblem = (key: string): string | undefined => {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : prefixProblem(key.slice(0, slash));
  return prefix ?? nameProblem(key.slice(slash + 1));
};

const refuse = (part: string, text: string, problem: string | undefined): void => {
  if (problem !== undefined) throw new RpcError('INVALID_ARGUMENT', `invalid label ${part} [${text}]: ${problem}`);
};

/**
 * Checks that there are at most 16 labels, and that each is a valid Kubernetes label: a qualified name as its key, and
 * a valid value. Labels with one of the `uncounted` keys do not count towards the 16.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the label, or the limit.
 */
export const assertLabels = (
  labels: { readonly values: Readonly<Record<string, string>> } | undefined,
  uncounted: readonly string[] = [],
): void => {
  const entries = Object.entries(labels?.values ?? {});
  if (entries.filter(([key]) => !uncounted.includes(key)).length > MAX_ENTRIES)
    throw new RpcError('INVALID_ARGUMENT', `labels map cannot exceed ${MAX_ENTRIES} entries`);
  for (const [key, value] of entries) {
    refuse('key', key, keyProblem(key));
    refuse('value', value, value === '' ? undefined : nameProblem(value));
  }
};
