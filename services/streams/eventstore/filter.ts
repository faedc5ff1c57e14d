import { RE2JS } from 're2js';
import type {
  ReadReq_Options_FilterOptions as FilterOptions,
  ReadReq_Options_FilterOptions_Expression as Expression,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { invalid } from '../../kernel/rpc.js';

/** Which events of the whole log a reader wants, and how often it wants to know how far the log was read. */
export type Filter = {
  readonly matches: (event: RecordedEvent) => boolean;
  /** A subscription sends a checkpoint after so many events that were looked at, matching or not. */
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

/** How many parentheses a character opens or closes; those in classes and after a backslash are text. */
const depthChange: Readonly<Record<string, number>> = { '(': 1, ')': -1 };

const TOKEN = /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\[]/gsu;

/** Whether parentheses are balanced, and nowhere close more than they have opened. */
const isBalanced = (regex: string): boolean => {
  let depth = 0;
  for (const [token] of regex.matchAll(TOKEN)) {
    depth += depthChange[token] ?? 0;
    if (depth < 0) return false;
  }
  return depth === 0;
};

/** `^(?!…)` and nothing but `.*` after it: what clients send to leave something out. */
const EXCLUSION = /^\^\(\?!(?<left>.*)\)(?:\.\*\$?)?$/su;

/** RE2 knows no lookahead; an exclusion as a whole is the negation of what it leaves out. */
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

const matchOf = ({ regex, prefix }: Expression): Match => (regex === '' ? prefixMatch(prefix) : regexMatch(regex));

const windowOf = ({ window }: FilterOptions): number => (window.case === 'max' ? window.value : DEFAULT_WINDOW);

/**
 * Reads a filter. Only a subscription sends checkpoints: clients leave their interval at 0 in a read that ends.
 *
 * @throws {RpcError} INVALID_ARGUMENT when it is none, or cannot be run in bounded time.
 */
export const filterOf = (options: FilterOptions, isSubscription: boolean): Filter => {
  const { filter, checkpointIntervalMultiplier } = options;
  if (filter.case === undefined) throw invalid('filter', 'one of stream_identifier and event_type is needed');
  if (isSubscription && checkpointIntervalMultiplier === 0)
    throw invalid('filter.checkpoint_interval_multiplier', 'above 0 is needed');
  if (windowOf(options) === 0) throw invalid('filter.max', 'above 0 is needed');
  const match = matchOf(filter.value);
  return {
    matches: filter.case === 'eventType' ? ({ type }) => match(type) : ({ stream }) => match(stream),
    checkpointEvery: windowOf(options) * checkpointIntervalMultiplier,
  };
};
