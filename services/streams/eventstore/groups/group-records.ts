import type { NewEvent, RecordedEvent } from '../../../kernel/event.js';
import type { StreamName } from '../../../kernel/stream.js';
import { propertiesOf } from '../event-metadata.js';
import { ownEvent } from '../own-event.js';
import { lastRevision, type ReadServices } from '../read/read.js';
import { metadataStreamOf, type StreamRulesTable, STREAM_METADATA } from '../stream-rules.js';
import type { AppendServices } from '../append/append.js';
import { type ConfiguredGroup, evolveGroups, groupEventIn, type Groups } from './configuration.js';
import type { Parking } from './delivery/delivery.js';
import { ALL, checkpointStreamOf, CONFIGURATION_STREAM, type GroupName, parkedStreamOf } from './group-name.js';
import { type GroupProgress, progressAfter, progressIn, progressJson, withParked } from './progress.js';

/** Services by which groups read and write the log. */
export type GroupServices = ReadServices &
  Pick<AppendServices, 'newId'> & {
    readonly append: AppendServices['store']['append'];
    readonly rules: StreamRulesTable;
  };

/** The type of the events with the progress of a group. */
const PROGRESSED = 'PersistentSubscriptionProgressed';

/** The type of links, in EventStoreDB's protocol. */
const LINK = '$>';

/** The maximum number of characters of the reason in a link, so that an append has space for the link. */
const MAX_REASON_CHARS = 65_536;

/** The services of functions that only read the log. */
export type GroupReading = Pick<GroupServices, 'log'>;

/** The groups as they are recorded, and the revision of the last change; `undefined` before the first. */
export type RecordedGroups = { readonly groups: Groups; readonly revision: bigint | undefined };

/** Reads the groups that exist. */
export const readGroups = async ({ log }: GroupReading): Promise<RecordedGroups> => {
  let groups: Groups = new Map();
  let revision: bigint | undefined;
  for await (const page of log.readStream(CONFIGURATION_STREAM))
    for (const event of page) {
      const change = groupEventIn(event.type, Buffer.from(event.data).toString());
      groups = change ? evolveGroups(groups, change) : groups;
      revision = event.revision;
    }
  return { groups, revision };
};

/** Makes the event that records a progress. */
export const progressEvent = (services: GroupServices, group: ConfiguredGroup, progress: GroupProgress): NewEvent =>
  ownEvent(services, PROGRESSED, { data: progressJson(group.id, progress) });

/**
 * Makes the link to a parked event, with the metadata that EventStoreDB gives it; for a group on `$all` also with the
 * position of the event.
 */
export const linkTo = (
  services: GroupServices,
  { source }: ConfiguredGroup,
  { stream, revision, position }: RecordedEvent,
  { reason, isNumbered }: Parking,
): NewEvent => {
  const metadata = {
    added: new Date(services.now()).toISOString(),
    reason: reason.slice(0, MAX_REASON_CHARS),
    ...(isNumbered && { subscriptionEventNumber: Number(revision) }),
    ...(source === ALL && { position: String(position) }),
  };
  const custom = Buffer.from(JSON.stringify(metadata));
  return ownEvent(services, LINK, { data: `${revision}@${stream}`, custom, isJson: false });
};

/** The position, in the source of the group, of the event that a link names. */
const placeInLink = ({ source }: ConfiguredGroup, link: RecordedEvent): bigint => {
  if (source !== ALL) return BigInt(Buffer.from(link.data).toString().split('@', 1)[0] ?? '');
  const { position } = JSON.parse(Buffer.from(propertiesOf(link).custom).toString()) as { readonly position: string };
  return BigInt(position);
};

/** Reads the positions of parked events, from a revision of the parked stream on. */
export const readLinks = async (
  { log }: GroupReading,
  group: ConfiguredGroup,
  from: bigint,
  limit?: number,
): Promise<readonly { readonly at: bigint }[]> => {
  const links: { at: bigint }[] = [];
  for await (const page of log.readStream(parkedStreamOf(group), { from, ...(limit !== undefined && { limit }) }))
    for (const link of page) links.push({ at: placeInLink(group, link) });
  return links;
};

/**
 * Reads the last progress of a group, and adds later links to parked events; `isRecorded` is false for a group that has
 * recorded no progress.
 */
export const readProgress = async (
  services: GroupReading,
  group: ConfiguredGroup,
): Promise<{ readonly progress: GroupProgress; readonly isRecorded: boolean }> => {
  const { log } = services;
  let recorded: GroupProgress | undefined;
  for await (const [last] of log.readStream(checkpointStreamOf(group), { direction: 'backwards', limit: 1 }))
    recorded = last && progressIn(Buffer.from(last.data).toString(), group.id);
  const progress = recorded ?? progressAfter(group.start.after, group.parkedFrom);
  const links = await readLinks(services, group, progress.parkedUpTo);
  return { progress: withParked(progress, links), isRecorded: recorded !== undefined };
};

/** The revision that the next event of a stream will have. */
export const nextRevision = async ({ log }: GroupServices, stream: StreamName): Promise<bigint> =>
  ((await lastRevision(log, stream)) ?? -1n) + 1n;

/** Hides the parked links before a revision from readers of the parked stream. */
export const hideLinksBefore = async (services: GroupServices, group: GroupName, before: bigint): Promise<void> => {
  const parked = parkedStreamOf(group);
  if ((await services.rules.of(parked)).truncateBefore >= before) return;
  const stream = metadataStreamOf(parked) as StreamName;
  const event = ownEvent(services, STREAM_METADATA, { data: JSON.stringify({ $tb: Number(before) }) });
  await services.append(stream, 'any', [event]);
  services.rules.apply({ ...event, stream });
};
