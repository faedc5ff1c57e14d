import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { sha256Hex } from '../../kernel/encoding/hash.js';
import type { MessageKey } from '../../notification/commands.js';
import type { MessageContent } from './message-content.js';

/** A channel and an e-mail address; the address is empty where the channel itself is the recipient. */
export type Recipient = { readonly channel: string; readonly recipient: string };

/** Messages about executions of these projects, domains and labels that are in one of the phases, or run for long. */
export type RoutingRule = {
  /** Ids; `*` stands for all. */
  readonly projects: readonly string[];
  readonly domains: readonly string[];
  readonly phases: readonly Phase[];
  /** The rule also applies to executions that have been running for a long time. */
  readonly longRunning: boolean;
  /** Labels that the execution must have. */
  readonly labels: Readonly<Record<string, string>>;
  readonly channel: string;
  /** E-mail addresses; empty where the channel itself is the recipient. */
  readonly recipients: readonly string[];
};

/**
 * The channels of the notifications that executions ask for (their entries), by the kind of entry, and the rules of the
 * configuration.
 */
export type Routing = {
  /**
   * The channel of each kind of entry; a kind without a channel is not sent. An entry's addresses matter only where
   * `isMail` holds for its channel.
   */
  readonly entries: Readonly<Record<'email' | 'slack' | 'pagerDuty', string | undefined>>;
  readonly isMail: (channel: string) => boolean;
  readonly rules: readonly RoutingRule[];
};

/** The phases in which an execution has ended. */
const TERMINAL_PHASES: readonly Phase[] = [Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED, Phase.TIMED_OUT];

/** The phases that a message may be about, except one about a long run. Entries name only terminal phases. */
export const phasesWithMessages = (rules: readonly RoutingRule[]): ReadonlySet<Phase> =>
  new Set([...TERMINAL_PHASES, ...rules.flatMap(({ phases }) => phases)]);

const onChannel = (channel: string, recipients: readonly string[], isMail: boolean): readonly Recipient[] =>
  isMail ? recipients.map((recipient) => ({ channel, recipient })) : [{ channel, recipient: '' }];

/** Entries name phases, so that none asks for executions that run for long. */
const ofEntries = (content: MessageContent, routing: Routing): readonly Recipient[] => {
  const { entries, phase, runningLongerThanMs } = content;
  if (runningLongerThanMs !== undefined) return [];
  return entries.flatMap(({ type, phases }) => {
    const channel = type.case && routing.entries[type.case];
    if (channel === undefined || !phases.includes(phase)) return [];
    return onChannel(channel, type.value?.recipientsEmail ?? [], routing.isMail(channel));
  });
};

const names = (ids: readonly string[], id: string): boolean => ids.includes('*') || ids.includes(id);

const applies = (rule: RoutingRule, { execution, phase, labels, runningLongerThanMs }: MessageContent): boolean =>
  names(rule.projects, execution.project) &&
  names(rule.domains, execution.domain) &&
  (runningLongerThanMs === undefined ? rule.phases.includes(phase) : rule.longRunning) &&
  Object.entries(rule.labels).every(([label, value]) => labels[label] === value);

const ofRules = (content: MessageContent, { rules, isMail }: Routing): readonly Recipient[] =>
  rules
    .filter((rule) => applies(rule, content))
    .flatMap(({ channel, recipients }) => onChannel(channel, recipients, isMail(channel)));

/** The id of a message: the same for every attempt, and another one for every event, channel and recipient. */
const messageIdOf = ({ eventId, runningLongerThanMs }: MessageContent, { channel, recipient }: Recipient): string => {
  const digits = eventId.replaceAll('-', ''); // as in the ids of recorded messages
  const subject = runningLongerThanMs === undefined ? [digits] : [digits, 'long-running'];
  return sha256Hex(JSON.stringify([...subject, channel, recipient])).slice(0, 32);
};

/** The keys, each id once. */
export const withoutDuplicates = (keys: readonly MessageKey[]): readonly MessageKey[] => [
  ...new Map(keys.map((key) => [key.id, key])).values(),
];

/**
 * The messages about an event, each to one recipient and none twice, in the order of the execution's entries and then
 * of the rules. None where the execution has disabled all of them.
 */
export const messagesAbout = (content: MessageContent, routing: Routing): readonly MessageKey[] => {
  if (content.isDisabled) return [];
  const { execution, revision, phase } = content;
  const keys = [...ofEntries(content, routing), ...ofRules(content, routing)].map((to): MessageKey => ({
    id: messageIdOf(content, to),
    execution,
    revision,
    phase,
    ...to,
  }));
  return withoutDuplicates(keys);
};
