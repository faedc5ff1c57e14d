import { tlsProblem } from '../../kernel/tls-problem.js';
import { errorText } from '../../kernel/error-text.js';

/** The export cannot continue until an operator decides what to do; the message tells the operator in one line. */
export class ExportRefused extends Error {}

/**
 * Another process has taken over the export of this partition of the log. The cluster answers the same after it has
 * ended a transaction that took too long, and when it has forgotten an id that was not used for days.
 */
export class Fenced extends Error {}

type Clues = { readonly name?: unknown; readonly type?: unknown; readonly cause?: unknown; readonly errors?: unknown };

/** An error and its causes: the client wraps the errors of the broker. */
const chain = (error: unknown): readonly Clues[] => {
  const found: Clues[] = [];
  const visit = (each: unknown): void => {
    if (typeof each !== 'object' || each === null || found.includes(each)) return;
    const { cause, errors, originalError } = each as Clues & { readonly originalError?: unknown };
    found.push(each);
    visit(cause);
    visit(originalError);
    if (Array.isArray(errors)) errors.forEach(visit);
  };
  visit(error);
  return found;
};

/** The broker's names of an error and of its causes, such as `LEADER_NOT_AVAILABLE`. */
export const errorTypesIn = (error: unknown): readonly unknown[] => chain(error).map(({ type }) => type);

/** True when no broker could be reached, or the connection to one ended. */
export const isOfConnection = (error: unknown): boolean =>
  chain(error).some(({ name }) => typeof name === 'string' && name.startsWith('KafkaJSConnection'));

const FENCED = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED', 'INVALID_PRODUCER_ID_MAPPING']);

const TLS_ADVICE = { plain: 'leave kafka.tls out', untrusted: 'name its authority with kafka.tls_ca' };

const tlsRefusal = (clues: readonly Clues[]): string | undefined =>
  clues.flatMap((clue) => tlsProblem(errorText(clue), TLS_ADVICE) ?? [])[0];

const refusalOf = (clues: readonly Clues[]): string | undefined => {
  if (clues.some(({ name }) => name === 'KafkaJSSASLAuthenticationError')) return 'it does not accept the credentials';
  if (clues.some(({ type }) => type === 'UNSUPPORTED_SASL_MECHANISM'))
    return 'it does not support the mechanism of authentication: set kafka.sasl_mechanism';
  const denied = clues.find(({ type }) => typeof type === 'string' && type.endsWith('_AUTHORIZATION_FAILED'));
  return denied ? `it does not permit what the export has to do: ${errorText(denied)}` : tlsRefusal(clues);
};

/**
 * Classifies an error of the client: `ExportRefused` when a retry cannot help, `Fenced` when another process has taken
 * over, otherwise the error itself, which can be retried.
 */
export const exportFailureOf = (error: unknown, brokers: readonly string[]): unknown => {
  if (error instanceof ExportRefused || error instanceof Fenced) return error;
  const clues = chain(error);
  const refusal = refusalOf(clues);
  if (refusal !== undefined)
    return new ExportRefused(`Kafka at ${brokers.join(',')} cannot be used: ${refusal}`, { cause: error });
  if (clues.some(({ type }) => typeof type === 'string' && FENCED.has(type)))
    return new Fenced('another process exports this partition of the log', { cause: error });
  return error;
};
