import type { LogPage, EventFilter } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';
import type { KindHeads } from './kind-heads.js';
import { kindsOf, type EventKind } from './kinds.js';
import { type Database, type Statement } from './schema.js';

/** Rows per page. Larger pages cost more per row, because of the garbage that they make. */
export const PAGE_ROWS = 200;

/**
 * Maximum of what one statement adds to a page, in bytes of data and characters of metadata, unless it is one event: a
 * reader that has stopped keeps its page in memory.
 */
const PAGE_BYTES = 1_000_000;

/**
 * A scan ends its page after this many rows, matching or not. The log is scanned without a filter, and with one on a
 * hot kind ({@link EventKind}).
 */
const WALK_ROWS = 2_000;

/**
 * Maximum number of kinds that one statement merges. SQLite accepts at most 500, and each adds to the cost of
 * preparing.
 */
const MERGED_KINDS = 100;

/** Maximum number of cached statements: new kinds lead to new statements for the same filters. */
const MAX_PREPARED = 200;

/** Reads pages of rows through one connection. Positions are plain numbers: a log has fewer than 2^53 events. */
export type LogRows = {
  head(): number;
  /** Events of a stream from a revision on, at most `limit`. */
  streamPage(stream: StreamName, from: number, direction: 'forwards' | 'backwards', limit: number): RowPage;
  /** Events after `after` up to and including `upTo`, at most `limit`. */
  logPage(range: Range, filter: EventFilter | undefined, limit: number): LogPage;
  /** True when a filter matches at least one hot kind, so that commits of hot events alone concern its reader, too. */
  wantsHot(filter: EventFilter): boolean;
  /** Events before a position, at most `limit`, the last one first. */
  pageBefore(position: number, limit: number): RowPage;
};

/** Rows in the requested order; `isLast` is true when it is certain that no rows follow them. */
export type RowPage = { readonly events: readonly RecordedEvent[]; readonly isLast: boolean };

const NOTHING: RowPage = { events: [], isLast: true };

/** Positions greater than `after`, up to and including `upTo`. */
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

/** One ordered index scan per kind, merged by position. */
const RARE_SQL = (kinds: readonly EventKind[]): string => `
  SELECT ${COLUMNS} FROM (
    ${kinds.map(({ id }) => `SELECT position FROM events WHERE rare_kind = ${id} AND position > ?1 AND position <= ?2`).join(' UNION ALL ')}
    ORDER BY position LIMIT ?3
  ) found CROSS JOIN events e ON e.position = found.position CROSS JOIN streams s ON s.id = e.stream
  ORDER BY found.position`;

const matches = (filter: EventFilter, kind: EventKind): boolean =>
  (filter.categories?.includes(kind.category) ?? true) && (filter.types?.includes(kind.type) ?? true);

/** Number of the rows found that fit into a page: at least one, if there are any. */
const fitting = (found: readonly EventRow[]): number => {
  let bytes = 0;
  const over = found.findIndex(([, , , , , metadata, data]) => (bytes += metadata.length + data.length) > PAGE_BYTES);
  return over < 0 ? found.length : Math.max(1, over);
};

/**
 * Merges pages of different kinds by position, up to the smallest end of those pages that are not complete: beyond it
 * events could be missing.
 */
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

/** Prepares each statement once; clears the cache when it is full. */
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

/**
 * Makes the reader of a connection.
 *
 * @param heads the last position of each kind, which only the writer's process knows. With them, a filter that matches
 * no hot kind needs no query while there is no new event for it.
 */
export const logRows = (db: Database, heads?: KindHeads): LogRows => {
  const kinds = kindsOf(db, heads);
  const statement = preparing(db);

  const recorded = ([position, stream, revision, kind, id, metadata, data]: EventRow): RecordedEvent => {
    if (!kinds.byId(kind)) kinds.refresh();
    const type = kinds.byId(kind)?.type ?? '';
    return { stream, revision: BigInt(revision), position: BigInt(position), id, type, data, metadata };
  };

  // Adaptive number of rows to ask for: the number that fitted after a page was cut, doubled otherwise. So small events
  // pay nothing for the limit in bytes.
  let likely = PAGE_ROWS;

  const rows = (sql: string, values: readonly (string | number)[], limit: number): RowPage => {
    const maxRows = Math.min(limit, likely);
    const found = statement(sql).all(...values, maxRows) as unknown as EventRow[];
    const kept = fitting(found);
    const isCut = kept < found.length;
    likely = isCut ? kept : Math.min(PAGE_ROWS, likely * 2);
    return { events: found.slice(0, kept).map(recorded), isLast: !isCut && found.length < maxRows };
  };

  const pageOf = ({ events, isLast }: RowPage, upTo: number): LogPage => {
    const last = isLast ? undefined : events.at(-1);
    return { events, position: last?.position ?? BigInt(upTo) };
  };

  const walk = ({ after, upTo }: Range, condition: string, limit: number): LogPage => {
    const end = Math.min(upTo, after + WALK_ROWS);
    return pageOf(rows(WALK_SQL(condition), [after, end], limit), end);
  };

  const chosenBy = (filter: EventFilter): readonly EventKind[] => {
    kinds.refresh();
    return [...kinds.all()].filter((kind) => matches(filter, kind));
  };

  /**
   * Reads events of kinds that are not hot. Clients with streams of their own can add any number of kinds, so they are
   * merged in batches.
   */
  const rare = (kinds: readonly EventKind[], { after, upTo }: Range, limit: number): RowPage => {
    const parts = Array.from({ length: Math.ceil(kinds.length / MERGED_KINDS) }, (_, at) =>
      kinds.slice(at * MERGED_KINDS, (at + 1) * MERGED_KINDS),
    );
    const pages = parts.map((part) => rows(RARE_SQL(part), [after, upTo], limit));
    const [only] = pages;
    return pages.length === 1 && only !== undefined ? only : merged(pages, limit);
  };

  const filtered = (range: Range, filter: EventFilter, limit: number): LogPage => {
    // The kinds are loaded after the head was read, so that every kind up to the head is known.
    const chosen = chosenBy(filter);
    if (chosen.some(({ isHot }) => isHot))
      return walk(range, `AND e.kind IN (${chosen.map(({ id }) => id).join()})`, limit);
    const hasMoved = chosen.some(({ id }) => heads?.hasMoved(id, range.after) ?? true);
    return pageOf(hasMoved ? rare(chosen, range, limit) : NOTHING, range.upTo);
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
