import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { Outcome } from '../../../services/kernel/ports/sessions.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { type Cached, sessionCache } from '../../../services/sessions/session-cache.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { purse, type PurseRefusal } from '../../support/streams/purse.js';

/** `over` limits the sessions of which no further use is expected. */
const LIMITS = { bytes: 10_000, sessions: 8, over: 2 };

/** A session of 100 bytes, as the cache sees it; `hasEnded`: no further use of it is expected. */
type Fake = Cached & { bytes: number; isBusy: boolean; hasEnded: boolean };
const fake = (): Fake => {
  const session: Fake = {
    bytes: 100,
    isBusy: false,
    hasEnded: false,
    size: () => session.bytes,
    isIdle: () => !session.isBusy,
    isOver: () => session.hasEnded,
  };
  return session;
};

const named = (name: number): StreamName => streamName('purse', [String(name)]);

const step = fc.record({
  stream: fc.nat(30),
  bytes: fc.nat(4_000),
  isBusy: fc.boolean(),
  hasEnded: fc.boolean(),
});

describe('the cache of live streams', () => {
  it('keeps busy streams whatever the limits, and drops idle ones to come within them', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const cache = sessionCache<Fake>(LIMITS);
        const busy = new Map<StreamName, Fake>();
        for (const { stream, ...state } of steps) {
          const session = Object.assign(cache.use(named(stream), fake), state);
          if (state.isBusy) busy.set(named(stream), session);
          else busy.delete(named(stream));
          cache.weigh(named(stream));
          for (const [name, each] of busy) expect(cache.peek(name)).toBe(each);
        }
        for (const [name, session] of busy) {
          session.isBusy = false;
          cache.weigh(name);
        }
        const { sessions, bytes } = cache.kept();
        expect(bytes).toBeLessThanOrEqual(LIMITS.bytes);
        expect(sessions).toBeLessThanOrEqual(LIMITS.sessions);
        const kept = Array.from({ length: 31 }, (_, stream) => cache.peek(named(stream)));
        expect(kept.filter((session) => session?.hasEnded === true).length).toBeLessThanOrEqual(LIMITS.over);
      }),
    );
  });

  it('drops the stream that was used longest ago', () => {
    const cache = sessionCache<Fake>(LIMITS);
    for (let name = 0; name < LIMITS.sessions; name += 1) cache.use(named(name), fake);
    cache.use(named(0), fake);
    cache.use(named(99), fake);
    cache.weigh(named(99));
    expect([0, 1, 2].map((name) => cache.peek(named(name)) !== undefined)).toEqual([true, false, true]);
  });

  it('counts a stream from its first use on, with 250 bytes for its entry', () => {
    const cache = sessionCache<Fake>(LIMITS);
    cache.use(named(0), fake);
    expect(cache.kept()).toEqual({ sessions: 1, bytes: 350 });
    cache.weigh(named(0));
    expect(cache.kept()).toEqual({ sessions: 1, bytes: 350 });
  });

  it('keeps at most two streams of which no further use is expected, and drops those before others', () => {
    const cache = sessionCache<Fake>(LIMITS);
    for (let name = 0; name < LIMITS.sessions; name += 1) {
      cache.use(named(name), fake).hasEnded = name >= 4;
      cache.weigh(named(name));
    }
    const kept = (): readonly number[] => [0, 1, 2, 3, 4, 5, 6, 7].filter((name) => cache.peek(named(name)));
    expect(kept()).toEqual([0, 1, 2, 3, 6, 7]);
    expect(cache.kept().sessions).toBe(6);
    cache.use(named(0), fake).bytes = 9_000;
    cache.weigh(named(0));
    expect(kept()).toEqual([0, 2, 3]);
  });

  it('skips at most 8 busy streams at a time, and drops them once they are idle', () => {
    const cache = sessionCache<Fake>({ ...LIMITS, sessions: 1 });
    const sessions = Array.from({ length: 50 }, (_, name) => {
      const session = cache.use(named(name), fake);
      session.isBusy = true;
      return session;
    });
    let examined = 0;
    for (const session of sessions) {
      session.isIdle = () => {
        examined += 1;
        return false;
      };
    }
    cache.weigh(named(0));
    expect(examined).toBe(8);
    for (const session of sessions) session.isIdle = () => true;
    cache.weigh(named(0));
    expect(cache.kept().sessions).toBe(1);
  });
});

describe('the live streams of a process', () => {
  let directory: string;
  let store: EventStore;
  let payloads: PayloadStore;
  /** The streams that were read from the log, in order. */
  let reads: StreamName[];
  let counting: EventStore;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-sessions-'));
    store = await sqliteEventStore({ directory });
    payloads = filePayloadStore({ directory });
    reads = [];
    counting = {
      ...store,
      readStream: (stream, options) => {
        reads.push(stream);
        return store.readStream(stream, options);
      },
    };
  });

  afterEach(async () => {
    await store.close();
    await payloads.close();
    rmSync(directory, { recursive: true });
  });

  const open = (maxCachedBytes: number, log = counting): OpenSessions =>
    openSessions({ store: log, payloads, now: () => 1_000, maxCachedBytes });
  const add = (sessions: OpenSessions, stream: StreamName): Promise<Outcome<PurseRefusal>> =>
    sessions.handle(purse, stream, { kind: 'add' }, { actor: 'tester', commandId: randomUUID() });

  it('take no more memory than they may, and read no stream again that is kept', async () => {
    const maxBytes = 20_000;
    const sessions = open(maxBytes);
    for (let name = 0; name < 100; name += 1) {
      await add(sessions, named(name));
      expect(sessions.cached().bytes).toBeLessThanOrEqual(maxBytes);
    }
    expect(sessions.cached().sessions).toBeGreaterThan(5);
    reads = [];
    await add(sessions, named(99));
    expect(reads).toEqual([]);
    await add(sessions, named(0));
    expect(reads).toEqual([named(0)]);
  });

  it('are kept while a command waits for its commit, so that the next is decided on it', async () => {
    let commit = (): void => undefined;
    const committing = new Promise<void>((resolve) => (commit = resolve));
    const sessions = open(0, {
      ...counting,
      append: async (stream, ...given) => {
        if (stream === named(0)) await committing;
        return store.append(stream, ...given);
      },
    });
    const first = add(sessions, named(0));
    for (let name = 1; name < 20; name += 1) await add(sessions, named(name));
    expect(sessions.cached().sessions).toBe(1);
    const second = add(sessions, named(0));
    commit();
    await expect(first).resolves.toMatchObject({ kind: 'accepted', revision: 0n });
    await expect(second).resolves.toMatchObject({ kind: 'accepted', revision: 1n });
    expect(reads.filter((stream) => stream === named(0))).toHaveLength(1);
    expect(sessions.cached()).toEqual({ sessions: 0, bytes: 0 });
  });
});
