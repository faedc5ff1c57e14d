import { RE2JS } from 're2js';
import type {
  ReadReq_Options_FilterOptions as FilterOptions,
  ReadReq_Options_FilterOptions_Expression as Expression,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { invalid } from '../../kernel/rpc.js';

/** A filter on the whole log, and the checkpoint interval of a subscription with it. */
export type Filter = {
  readonly matches: (event: RecordedEvent) => boolean;
  /** A subscription sends a checkpoint after each such number of events examined, matching or not. */
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
    throw invalid('filter.regex', `RE2 cannot run it: ${error instanceof Error ? error.message : 'syntax error'}`);
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

/** `^(?!…)`, with at most `.*` after it: clients send this form to exclude something. */
const EXCLUSION = /^\^\(\?!(?<left>.*)\)(?:\.\*\$?)?$/su;

/** Matches an exclusion by negating its inner pattern, since RE2 has no lookahead; `undefined` for other patterns. */
const exclusion = (regex: string): Match | undefined => {
  const left = EXCLUSION.exec(regex)?.groups?.['left'];
  if (left === undefined || !isBalanced(left)) return undefined;
  const matches = compiled(`^(?:${left})`);
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
 * Makes the test of a filter on the names of streams or the types of events.
 *
 * @throws {RpcError} INVALID_ARGUMENT when it is too large, or a pattern that RE2 does not support.
 */
export const eventMatch = (
  on: 'stream' | 'type',
  expression: Pick<Expression, 'regex' | 'prefix'>,
): Filter['matches'] => {
  const match = matchOf(expression);
  return on === 'type' ? ({ type }) => match(type) : ({ stream }) => match(stream);
};

const windowOf = ({ window }: FilterOptions): number => (window.case === 'max' ? window.value : DEFAULT_WINDOW);

/**
 * Reads a filter. The checkpoint interval is only required for subscriptions: in a counted read clients leave it at 0.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the filter is incomplete, too large, or a pattern that RE2 does not support;
 * RE2 runs in bounded time.
 */
export const filterOf = (options: FilterOptions, isSubscription: boolean): Filter => {
  const { filter, checkpointIntervalMultiplier } = options;
  if (filter.case === undefined) throw invalid('filter', 'one of stream_identifier and event_type is needed');
  if (isSubscription && checkpointIntervalMultiplier === 0)
    throw invalid('filter.checkpoint_interval_multiplier', 'above 0 is needed');
  if (windowOf(options) === 0) throw invalid('filter.max', 'above 0 is needed');
  return {
    matches: eventMatch(filter.case === 'eventType' ? 'type' : 'stream', filter.value),
    checkpointEvery: windowOf(options) * checkpointIntervalMultiplier,
  };
};
