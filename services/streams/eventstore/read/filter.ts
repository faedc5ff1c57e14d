import { RE2JS } from 're2js';
import type {
  ReadReq_Options_FilterOptions as FilterOptions,
  ReadReq_Options_FilterOptions_Expression as Expression,
} from '../../../../proto/gen/event_store/client/streams_pb.js';
import { errorText } from '../../../kernel/error-text.js';
import type { RecordedEvent } from '../../../kernel/event.js';
import { invalid } from '../../../kernel/rpc.js';

/** A filter of a read of `$all`, and the checkpoint interval of a subscription with it. */
export type ReadFilter = {
  readonly matches: (event: RecordedEvent) => boolean;
  /** The categories of all streams that can match; absent where the filter does not name categories. */
  readonly categories?: readonly string[];
  /** A subscription sends a checkpoint after each such number of events that it has examined, matching or not. */
  readonly checkpointEvery: number;
};

type Match = (text: string) => boolean;

const MAX_REGEX_CHARS = 4_096;
const MAX_PREFIXES = 1_000;
const MAX_PREFIX_CHARS = 1_024;
const DEFAULT_WINDOW = 32;

const compiled = (regex: string): Match => {
  try {
    const pattern = RE2JS.compile(regex);
    return (text) => pattern.matcher(text).find();
  } catch (error) {
    throw invalid('filter.regex', `not a valid RE2 expression: ${errorText(error)}`);
  }
};

/** The change of nesting depth by a token; parentheses in classes and after a backslash are other tokens. */
const depthChange: Readonly<Record<string, number>> = { '(': 1, ')': -1 };

const TOKEN = /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\[]/gsu;

/** True when the parentheses are balanced, and none closes before it is opened. */
const isBalanced = (regex: string): boolean => {
  let depth = 0;
  for (const [token] of regex.matchAll(TOKEN)) {
    depth += depthChange[token] ?? 0;
    if (depth < 0) return false;
  }
  return depth === 0;
};

/** `^(?!…)`, followed by nothing, `.*` or `.*$`: clients send this form to exclude something. */
const EXCLUSION = /^\^\(\?!(?<excluded>.*)\)(?:\.\*\$?)?$/su;

/** Matches an exclusion by negating its inner pattern, since RE2 has no lookahead; `undefined` for other patterns. */
const exclusion = (regex: string): Match | undefined => {
  const excluded = EXCLUSION.exec(regex)?.groups?.['excluded'];
  if (excluded === undefined || !isBalanced(excluded)) return undefined;
  const matches = compiled(`^(?:${excluded})`);
  return (text) => !matches(text);
};

const regexMatch = (regex: string): Match => {
  if (regex.length > MAX_REGEX_CHARS) throw invalid('filter.regex', `longer than ${MAX_REGEX_CHARS} characters`);
  return exclusion(regex) ?? compiled(regex);
};

const prefixMatch = (prefixes: readonly string[]): Match => {
  if (prefixes.length > MAX_PREFIXES) throw invalid('filter.prefix', `more than ${MAX_PREFIXES}`);
  if (prefixes.some((prefix) => prefix.length > MAX_PREFIX_CHARS))
    throw invalid('filter.prefix', `longer than ${MAX_PREFIX_CHARS} characters`);
  return (value) => prefixes.some((prefix) => value.startsWith(prefix));
};

const matchOf = ({ regex, prefix }: Pick<Expression, 'regex' | 'prefix'>): Match =>
  regex === '' ? prefixMatch(prefix) : regexMatch(regex);

/**
 * Makes the predicate for a filter expression, on stream names or event types.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the expression is too large, or RE2 does not support its pattern.
 */
export const eventMatch = (
  on: 'stream' | 'type',
  expression: Pick<Expression, 'regex' | 'prefix'>,
): ReadFilter['matches'] => {
  const match = matchOf(expression);
  return on === 'type' ? ({ type }) => match(type) : ({ stream }) => match(stream);
};

/** The categories of prefixes that are a category and its dash each; `undefined` when one of them is not. */
const categoriesOf = (prefixes: readonly string[]): readonly string[] | undefined =>
  prefixes.every((prefix) => prefix.length > 0 && prefix.indexOf('-') === prefix.length - 1)
    ? prefixes.map((prefix) => prefix.slice(0, -1))
    : undefined;

const maxSearchWindow = ({ window }: FilterOptions): number => (window.case === 'max' ? window.value : DEFAULT_WINDOW);

/**
 * Reads a filter. The checkpoint interval is only required for subscriptions: in a counted read clients leave it at 0.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the filter is incomplete or too large, or RE2, which runs in bounded time,
 *   does not support its pattern.
 */
export const readFilterOf = (options: FilterOptions, isSubscription: boolean): ReadFilter => {
  const { filter, checkpointIntervalMultiplier } = options;
  if (filter.case === undefined) throw invalid('filter', 'stream_identifier or event_type is required');
  if (isSubscription && checkpointIntervalMultiplier === 0)
    throw invalid('filter.checkpoint_interval_multiplier', 'must be above 0');
  if (maxSearchWindow(options) === 0) throw invalid('filter.max', 'must be above 0');
  const isOfPrefixes = filter.case === 'streamIdentifier' && filter.value.regex === '';
  const categories = isOfPrefixes ? categoriesOf(filter.value.prefix) : undefined;
  return {
    ...(categories && { categories }),
    matches: eventMatch(filter.case === 'eventType' ? 'type' : 'stream', filter.value),
    checkpointEvery: maxSearchWindow(options) * checkpointIntervalMultiplier,
  };
};
