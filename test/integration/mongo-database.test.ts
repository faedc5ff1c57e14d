import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collection, StoredDocument, WriteBatch } from '../../projections/runtime/read-store.js';
import { freshMongoViews } from '../../projections/store/mongo/fresh-mongo-views.js';
import { type MongoReadStore, mongoReadStore } from '../../projections/store/mongo/mongo-read-store.js';
import { CheckpointMoved, QueryTooSlow, ReadStoreUnusable, StoreUnavailable } from '../../services/kernel/fault.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { flightlog } from '../support/processes/command.js';

const things: Collection = { name: 'things', version: 1, fields: { size: 'integer' }, indexes: [['size']] };
const bySize = { field: 'size', direction: 'ascending' } as const;

/** A document of the collection `things`. */
const thing = (key: string, size = 0): StoredDocument => ({
  key,
  position: 1n,
  fields: { size },
  response: new Uint8Array([1]),
});

/** A batch of documents, with the first write of the checkpoint `name`. */
const batch = (name: string, ...documents: readonly StoredDocument[]): WriteBatch => ({
  documents: documents.map((document) => ({ collection: things, document })),
  checkpoints: [{ name, from: undefined, to: { logId: 'log', position: 1n } }],
});

describe.skipIf(mongoUrl === undefined)('a database of views', () => {
  const location = newMongoLocation();
  const client = new MongoClient(location.url);
  let store: MongoReadStore;

  beforeAll(async () => {
    store = await mongoReadStore({ location, logId: 'log' });
    await store.prepare([things]);
  });
  afterAll(async () => {
    await store.close();
    await client.close();
    await dropDatabase(location);
  });

  it('is refused when its views are those of another log', async () => {
    const other = mongoReadStore({ location, logId: 'another' });
    await expect(other).rejects.toBeInstanceOf(ReadStoreUnusable);
    await expect(mongoReadStore({ location, logId: 'another' })).rejects.toThrow(
      /another log \(log; this one is another\)/u,
    );
  });

  it('is refused with credentials that the server does not take', async () => {
    const url = new URL(location.url);
    url.username = 'nobody';
    url.password = 'wrong-secret';
    const opening = mongoReadStore({ location: { ...location, url: url.href } });
    await expect(opening).rejects.toBeInstanceOf(ReadStoreUnusable);
    await expect(opening).rejects.toThrow(/^the read store mongodb:\/\/[^@]+ refuses: /u);
    await expect(opening).rejects.not.toThrow(/wrong-secret/u);
  });

  it('is refused when a newer release has written it', async () => {
    const newer = newMongoLocation();
    await client
      .db(newer.database)
      .collection('flightlog')
      .insertOne({ _id: 'views' as never, format: 2, logId: 'log', build: 0 });
    await expect(mongoReadStore({ location: newer })).rejects.toThrow(/newer release.*format 2, this one knows 1/u);
    await dropDatabase(newer);
  });

  it('says that views with other fields must be rebuilt', async () => {
    const changed: Collection = { ...things, fields: { size: 'integer', color: 'text' } };
    await expect(store.prepare([changed])).rejects.toThrow(/things.*rebuild the views/u);
  });

  it('accepts one of two writes that start from the same checkpoint', async () => {
    const second = await mongoReadStore({ location, logId: 'log' });
    const written = await Promise.allSettled([
      store.write(batch('race', thing('race 1'))),
      second.write(batch('race', thing('race 2'))),
    ]);
    const failed = written.filter((each) => each.status === 'rejected');
    expect(failed.map(({ reason }) => reason as unknown)).toEqual([expect.any(CheckpointMoved)]);
    expect(await store.getMany(things, ['race 1', 'race 2'])).toHaveLength(1);
    await second.close();
  });

  describe('with documents above the size limit of the server', () => {
    const MEBIBYTE = 1024 * 1024;
    /** This many MiB of bytes with one value. */
    const filled = (mebibytes: number, value: number): Uint8Array => new Uint8Array(mebibytes * MEBIBYTE).fill(value);
    /** A version of the document `large`. */
    const version = (position: bigint, bytes: Partial<StoredDocument>): WriteBatch => ({
      documents: [{ collection: things, document: { ...thing('large', 77), position, ...bytes } }],
      checkpoints: [{ name: `large ${position}`, from: undefined, to: { logId: 'log', position } }],
    });
    /** The number of chunks of large documents: 8 MiB each, of all fields together, in the collection `parts`. */
    const countChunks = (): Promise<number> => client.db(location.database).collection('parts').countDocuments();
    const sameBytes = (found: Uint8Array | undefined, wanted: Uint8Array): void =>
      expect(Buffer.compare(found ?? Buffer.alloc(0), wanted)).toBe(0);
    const listed = async (): Promise<Uint8Array | undefined> => {
      const where = [{ field: 'size', is: '=', value: 77 }] as const;
      return (await store.find(things, { where, orderBy: bySize, limit: 1 })).elements[0];
    };

    it('keeps documents whole, in answers of Get and in lists, and deletes their earlier versions', async () => {
      const first = { response: filled(20, 1), listElement: filled(3, 2), foldState: filled(2, 3) };
      await store.write(version(1n, first));
      const found = await store.get(things, 'large');
      sameBytes(found?.response, first.response);
      sameBytes(found?.listElement, first.listElement);
      sameBytes(found?.foldState, first.foldState);
      sameBytes(await listed(), first.listElement);
      expect(await countChunks()).toBe(4);
      await store.write(version(2n, { response: filled(17, 4) }));
      sameBytes((await store.getMany(things, ['large']))[0]?.response, filled(17, 4));
      sameBytes(await listed(), filled(17, 4));
      expect(await countChunks()).toBe(3);
      await store.write(version(3n, { response: filled(1, 5) }));
      sameBytes((await store.get(things, 'large'))?.response, filled(1, 5));
      expect(await countChunks()).toBe(0);
    });
  });

  it('ends a query that reaches its time limit with QueryTooSlow', async () => {
    const withoutTime = await mongoReadStore({ location, logId: 'log', queryLimitMs: 0 });
    await store.write(batch('many', ...Array.from({ length: 500 }, (_, i) => thing(`many ${i}`, i))));
    const where = [{ field: 'size', is: 'not in', values: [1] }] as const;
    await expect(withoutTime.find(things, { where, orderBy: bySize, limit: 500 })).rejects.toBeInstanceOf(QueryTooSlow);
    await withoutTime.close();
  });

  it('has new views built beside those in use, which they then replace', async () => {
    const fresh = await freshMongoViews(location, 'log');
    await fresh.store.prepare([things]);
    await fresh.store.write(batch('views', thing('grown')));
    expect(await store.get(things, 'grown')).toBeUndefined();
    await fresh.activate();
    const next = await mongoReadStore({ location });
    expect(await next.get(things, 'grown')).toBeDefined();
    expect((await next.checkpoints(['views'])).get('views')).toEqual({ logId: 'log', position: 1n });
    expect((await next.find(things, { where: [], orderBy: bySize, limit: 10 })).elements).toHaveLength(1);
    await next.close();
  });

  it('has the same collections as before when new views are discarded', async () => {
    const names = async (): Promise<readonly string[]> =>
      (await client.db(location.database).listCollections({}, { nameOnly: true }).toArray())
        .map(({ name }) => name)
        .sort();
    const before = await names();
    const fresh = await freshMongoViews(location, 'log');
    await fresh.store.prepare([things]);
    expect(await names()).not.toEqual(before);
    await fresh.discard();
    expect(await names()).toEqual(before);
  });

  it('belongs to another log once the views of that log are put in place', async () => {
    const switched = newMongoLocation();
    await (await mongoReadStore({ location: switched, logId: 'log' })).close();
    const fresh = await freshMongoViews(switched, 'restored');
    await fresh.store.prepare([things]);
    await fresh.activate();
    await (await mongoReadStore({ location: switched, logId: 'restored' })).close();
    await expect(mongoReadStore({ location: switched, logId: 'log' })).rejects.toBeInstanceOf(ReadStoreUnusable);
    await dropDatabase(switched);
  });

  describe('whose server fails', () => {
    /** Has the server fail its next commands as `data` says; see `failCommand` in the sources of MongoDB. */
    const failing = async (data: Readonly<Record<string, unknown>>, times = 1): Promise<void> => {
      await client.db('admin').command({ configureFailPoint: 'failCommand', mode: { times }, data });
    };
    /** True for a server that was started with its test commands. */
    const canFail = async (): Promise<boolean> =>
      client
        .db('admin')
        .command({ configureFailPoint: 'failCommand', mode: 'off' })
        .then(
          () => true,
          () => false,
        );

    it.for<[string, Readonly<Record<string, unknown>>]>([
      // 251 is NoSuchTransaction.
      ['ends a transaction', { failCommands: ['insert'], errorCode: 251, errorLabels: ['TransientTransactionError'] }],
      [
        'is replaced before it commits', // 11602 is InterruptedDueToReplStateChange
        { failCommands: ['commitTransaction'], errorCode: 11_602, errorLabels: ['UnknownTransactionCommitResult'] },
      ],
      ['drops the connection instead of an answer', { failCommands: ['commitTransaction'], closeConnection: true }],
      [
        'commits without the majority in time', // 64 says that the write concern timed out
        {
          failCommands: ['commitTransaction'],
          writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
        },
      ],
    ])('has each batch written once when the server %s', async ([what, data], { skip }) => {
      if (!(await canFail())) skip('the MongoDB server has no test commands');
      const own = await mongoReadStore({ location, logId: 'log' });
      await own.prepare([things]);
      await failing(data);
      await own.write(batch(what, thing(what)));
      expect(await own.get(things, what)).toBeDefined();
      expect((await own.checkpoints([what])).get(what)).toEqual({ logId: 'log', position: 1n });
      await own.close();
    });
  });
});

describe('a MongoDB that cannot be reached', () => {
  const unreachable = 'mongodb://127.0.0.1:1/views?serverSelectionTimeoutMS=200';

  it('makes the opening of a read store fail with StoreUnavailable', async () => {
    const opening = mongoReadStore({
      location: { kind: 'mongodb', url: unreachable, database: 'views', shown: 'here' },
    });
    await expect(opening).rejects.toBeInstanceOf(StoreUnavailable);
  });

  it('is waited for at the start of a server, whose log says so', async () => {
    const data = mkdtempSync(join(tmpdir(), 'flightlog-mongo-'));
    const ports = ['--grpc-port', '0', '--http-port', '0', '--eventstore-port', '0'];
    const server = flightlog(['serve', '--insecure', '--data', data, ...ports, '--read-store', unreachable]);
    await expect
      .poll(() => server.stderr(), { timeout: 30_000 })
      .toMatch(/ECONNREFUSED 127\.0\.0\.1:1.*cannot be reached; retrying/su);
    expect(server.stdout()).toBe('');
    server.child.kill('SIGKILL');
    await server.ended;
  });
});
