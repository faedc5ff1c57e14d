import type { LogPage, EventFilter } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';
import { kindsOf, type Kind } from './kinds.js';
import { type Database, type Statement } from './schema.js';

/** Rows of a page: more cost more each, because of the garbage that they make. */
export const PAGE_ROWS = 200;

/** What a page holds of data at most, unless it is one event: a reader that has stopped holds its page. */
const PAGE_BYTES = 1_000_000;

/** A walk over hot events ends its page after so many, matching or not. */
const WALK_ROWS = 2_000;

/** Kinds that one statement merges; SQLite takes 500 at most, and each of them costs its preparation. */
const MERGED_KINDS = 100;

/** Statements that are kept: kinds that come make new ones of filters. */
const MAX_PREPARED = 200;

/** Reads pages of rows over one connection. Numbers: a log has fewer than 2^53 events. */
export type LogRows = {
  head(): number;
  /** The events of a stream from a revision on, at most so many. */
  streamPage(stream: StreamName, from: number, direction: 'forwards' | 'backwards', limit: number): RowPage;
  /** What follows `after` up to `upTo`, at most so many. */
  logPage(range: Range, filter: EventFilter | undefined, limit: number): LogPage;
  /** Whether hot events are among those that a filter lets through. */
  wantsHot(filter: EventFilter): boolean;
  /** What comes before a position, at most so many, the last first. */
  pageBefore(position: number, limit: number): RowPage;
};

/** Rows in the order asked for; `isLast` where nothing follows them. */
export type RowPage = { readonly events: readonly RecordedEvent[]; readonly isLast: boolean };

/** After the first position, up to the second. */
type Range = { readonly after: number; readonly upTo: number };

type EventRow = [
  position: number,
  stream: StreamName,
  revision: number,
  kind: number,
  id: Uint8Array,
  metadata: string,
  data: Uint8Array,
];

const COLUMNS = 'e.position, s.name, e.revision, e.kind, e.id, e.metadata, e.data';

const STREAM_SQL = (comparison: string, order: string): string => `
  SELECT ${COLUMNS} FROM streams s CROSS JOIN events e ON e.stream = s.id
  WHERE s.name = ? AND e.revision ${comparison} ? ORDER BY e.revision ${order} LIMIT ?`;

const WALK_SQL = (condition: string): string => `
  SELECT ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream
  WHERE e.position > ? AND e.position <= ? ${condition} ORDER BY e.position LIMIT ?`;

const BEFORE_SQL = `
  SELECT ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream
  WHERE e.position < ? ORDER BY e.position DESC LIMIT ?`;

/** One ordered walk over the index for each kind, merged by position. */
const RARE_SQL = (kinds: readonly Kind[]): string => `
  SELECT ${COLUMNS} FROM (
    ${kinds.map(({ id }) => `SELECT position FROM events WHERE rare_kind = ${id} AND position > ?1 AND position <= ?2`).join(' UNION ALL ')}
    ORDER BY position LIMIT ?3
  ) found CROSS JOIN events e ON e.position = found.position CROSS JOIN streams s ON s.id = e.stream
  ORDER BY found.position`;

const matches = (filter: EventFilter, kind: Kind): boolean =>
  (filter.categories?.includes(kind.category) ?? true) && (filter.types?.includes(kind.type) ?? true);

/** How many rows make a page: all of them, unless they are large. */
const fitting = (found: readonly EventRow[]): number => {
  let bytes = 0;
  const over = found.findIndex(([, , , , , metadata, data]) => (bytes += metadata.length + data.length) > PAGE_BYTES);
  return over < 0 ? found.length : Math.max(1, over);
};

/** Pages of different kinds as one, in order: up to where the first of them that goes on has been read. */
const merged = (pages: readonly RowPage[], limit: number): RowPage => {
  const ends = pages.flatMap(({ events, isLast }) => (isLast ? [] : [events.at(-1)?.position ?? 0n]));
  const end = ends.reduce<bigint | undefined>(
    (least, each) => (least === undefined || each < least ? each : least),
    undefined,
  );
  const events = pages
    .flatMap((page) => page.events)
    .filter(({ position }) => end === undefined || position <= end)
    .sort((a, b) => Number(a.position - b.position));
  return { events: events.slice(0, limit), isLast: end === undefined && events.length < limit };
};

/** Prepares each statement once, and forgets them all when they are too many. */
const preparing = (db: Database): ((sql: string) => Statement) => {
  const prepared = new Map<string, Statement>();
  return (sql) => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    if (prepared.size >= MAX_PREPARED) prepared.clear();
    const fresh = db.prepare(sql, { returnArrays: true });
    prepared.set(sql, fresh);
    return fresh;
  };
};

/** Reads over the connection. */
export const logRows = (db: Database): LogRows => {
  const kinds = kindsOf(db);
  const statement = preparing(db);

  const recorded = ([position, stream, revision, kind, id, metadata, data]: EventRow): RecordedEvent => {
    if (!kinds.byId(kind)) kinds.refresh();
    const type = kinds.byId(kind)?.type ?? '';
    return { stream, revision: BigInt(revision), position: BigInt(position), id, type, data, metadata };
  };

  // Rows that are likely to fit in a page; found out on the way, so that small events cost nothing more.
  let likely = PAGE_ROWS;

  const rows = (sql: string, values: readonly (string | number)[], limit: number): RowPage => {
    const asked = Math.min(limit, likely);
    const found = statement(sql).all(...values, asked) as unknown as EventRow[];
    const kept = fitting(found);
    const isCut = kept < found.length;
    likely = isCut ? kept : Math.min(PAGE_ROWS, likely * 2);
    return { events: found.slice(0, kept).map(recorded), isLast: !isCut && found.length < asked };
  };

  const pageOf = ({ events, isLast }: RowPage, upTo: number): LogPage => {
    const last = isLast ? undefined : events.at(-1);
    return { events, position: last?.position ?? BigInt(upTo) };
  };

  const walk = ({ after, upTo }: Range, condition: string, limit: number): LogPage => {
    const end = Math.min(upTo, after + WALK_ROWS);
    return pageOf(rows(WALK_SQL(condition), [after, end], limit), end);
  };

  const chosenBy = (filter: EventFilter): readonly Kind[] => {
    kinds.refresh();
    return [...kinds.all()].filter((kind) => matches(filter, kind));
  };

  /** What a guest writes can be of any number of kinds: they are merged a part at a time. */
  const rare = (kinds: readonly Kind[], { after, upTo }: Range, limit: number): RowPage => {
    const parts = Array.from({ length: Math.ceil(kinds.length / MERGED_KINDS) }, (_, at) =>
      kinds.slice(at * MERGED_KINDS, (at + 1) * MERGED_KINDS),
    );
    const pages = parts.map((part) => rows(RARE_SQL(part), [after, upTo], limit));
    const [only] = pages;
    return pages.length === 1 && only !== undefined ? only : merged(pages, limit);
  };

  const filtered = (range: Range, filter: EventFilter, limit: number): LogPage => {
    // After the head was read, so that every kind up to it is there.
    const chosen = chosenBy(filter);
    if (chosen.some(({ isHot }) => isHot))
      return walk(range, `AND e.kind IN (${chosen.map(({ id }) => id).join()})`, limit);
    return pageOf(rare(chosen, range, limit), range.upTo);
  };

  const head = db.prepare('SELECT max(position) FROM events', { returnArrays: true });
  return {
    head: () => (head.get() as unknown as [number | null])[0] ?? 0,
    streamPage: (stream, from, direction, limit) =>
      rows(direction === 'forwards' ? STREAM_SQL('>=', 'ASC') : STREAM_SQL('<=', 'DESC'), [stream, from], limit),
    wantsHot: (filter) => chosenBy(filter).some(({ isHot }) => isHot),
    pageBefore: (position, limit) => rows(BEFORE_SQL, [position], limit),
    logPage: (range, filter, limit) => (filter ? filtered(range, filter, limit) : walk(range, '', limit)),
  };
};
