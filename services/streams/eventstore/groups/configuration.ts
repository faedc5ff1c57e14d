import { GroupFailure } from './group-failure.js';
import { type GroupName, groupKeyOf } from './group-name.js';
import { contradictionIn, type GroupSettings } from './settings.js';

/** The start of a group without progress. It is recorded as JSON, with the names of these fields. */
export type GroupStart = {
  /** Revision or position as the client gave it; `end` was the end of the source at that time. */
  readonly asked: 'start' | 'end' | bigint;
  /** The revision or position after which the group reads. */
  readonly after: bigint;
};

/** A filter of a group on `$all`. */
export type GroupFilter = {
  readonly on: 'stream' | 'type';
  readonly regex: string;
  readonly prefixes: readonly string[];
};

/** A group that exists. */
export type ConfiguredGroup = GroupName & {
  /** Distinguishes a group from a later one with the same name. */
  readonly id: string;
  readonly settings: GroupSettings;
  readonly start: GroupStart;
  readonly filter: GroupFilter | undefined;
  /** The revision of the parked stream at which its links begin. */
  readonly parkedFrom: bigint;
};

/** A change of the groups, recorded in the stream of their configuration. */
export type GroupEvent =
  | { readonly type: 'PersistentSubscriptionCreated'; readonly group: ConfiguredGroup }
  | {
      readonly type: 'PersistentSubscriptionUpdated';
      readonly group: GroupName & Pick<ConfiguredGroup, 'settings' | 'start'>;
    }
  | { readonly type: 'PersistentSubscriptionDeleted'; readonly group: GroupName };

/** All groups, by the key of their names. */
export type Groups = ReadonlyMap<string, ConfiguredGroup>;

/**
 * Decides a change of the groups.
 *
 * @returns the failure that answers a change that is not allowed.
 */
export const decideGroups = (groups: Groups, event: GroupEvent): GroupFailure | undefined => {
  const { group: name } = event;
  const known = groups.get(groupKeyOf(name));
  if (event.type === 'PersistentSubscriptionCreated') {
    if (known) return new GroupFailure('persistent-subscription-exists', name);
  } else if (known?.source !== name.source) return new GroupFailure('persistent-subscription-does-not-exist', name);
  const reason = 'settings' in event.group ? contradictionIn(event.group.settings) : undefined;
  return reason === undefined ? undefined : new GroupFailure('persistent-subscription-failed', name, reason);
};

/** Applies a change that was decided. An update of a group that does not exist changes nothing. */
export const evolveGroups = (groups: Groups, event: GroupEvent): Groups => {
  const next = new Map(groups);
  const key = groupKeyOf(event.group);
  const known = groups.get(key);
  if (event.type === 'PersistentSubscriptionDeleted') next.delete(key);
  else if (event.type === 'PersistentSubscriptionCreated') next.set(key, event.group);
  else if (known) next.set(key, { ...known, ...event.group });
  return next;
};

/** The prefix of a bigint in JSON; no other text in the fields that may have one begins with it. */
const BIGINT = 'bigint:';

/** Encodes the data of an event. */
export const groupEventJson = ({ group }: GroupEvent): string =>
  JSON.stringify(group, (_, value: unknown) => (typeof value === 'bigint' ? `${BIGINT}${value}` : value));

/** The recorded fields that hold a bigint. */
const BIGINT_FIELDS: ReadonlySet<string> = new Set(['asked', 'after', 'parkedFrom']);

const groupIn = (json: string): unknown =>
  JSON.parse(json, (key, value: unknown) =>
    BIGINT_FIELDS.has(key) && typeof value === 'string' && value.startsWith(BIGINT)
      ? BigInt(value.slice(BIGINT.length))
      : value,
  );

/** Reverses {@link groupEventJson}; `undefined` for a type that is not known, whose data may be no JSON. */
export const groupEventIn = (type: string, json: string): GroupEvent | undefined => {
  switch (type) {
    case 'PersistentSubscriptionCreated':
    case 'PersistentSubscriptionUpdated':
    case 'PersistentSubscriptionDeleted':
      return { type, group: groupIn(json) as never };
    default:
      return undefined;
  }
};
