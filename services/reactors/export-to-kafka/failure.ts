/** The export cannot go on, now or ever, without somebody's decision; the message is one line for them. */
export class ExportRefused extends Error {}

/** Somebody else exports this part of the log now. */
export class Fenced extends Error {}

type Clues = { readonly name?: unknown; readonly type?: unknown; readonly cause?: unknown; readonly errors?: unknown };

/** An error and those that are behind it: the client wraps what the broker has said. */
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

/** What the broker has called an error and those behind it, such as `LEADER_NOT_AVAILABLE`. */
export const errorTypesIn = (error: unknown): readonly unknown[] => chain(error).map(({ type }) => type);

const FENCED = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED', 'INVALID_PRODUCER_ID_MAPPING']);

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const refusalOf = (clues: readonly Clues[]): string | undefined => {
  if (clues.some(({ name }) => name === 'KafkaJSSASLAuthenticationError')) return 'it does not accept the credentials';
  const denied = clues.find(({ type }) => typeof type === 'string' && type.endsWith('_AUTHORIZATION_FAILED'));
  return denied && `it does not permit what the export has to do: ${textOf(denied)}`;
};

/** What an error of the client means: that it is hopeless, that another has taken over, or that it can be tried again. */
export const failureOf = (error: unknown, brokers: readonly string[]): unknown => {
  if (error instanceof ExportRefused || error instanceof Fenced) return error;
  const clues = chain(error);
  const refusal = refusalOf(clues);
  if (refusal !== undefined)
    return new ExportRefused(`Kafka at ${brokers.join(',')} cannot be used: ${refusal}`, { cause: error });
  if (clues.some(({ type }) => typeof type === 'string' && FENCED.has(type)))
    return new Fenced('another process exports this part of the log', { cause: error });
  return error;
};
