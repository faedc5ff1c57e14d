import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import {
  type Collection,
  type Condition,
  pairsText,
  type ParkedMove,
  type ParkedStream,
  type DocumentWrite,
  type Query,
  type ReadStore,
  type StoredDocument,
} from '../../projections/runtime/read-store.js';
import { CheckpointMoved } from '../../services/kernel/fault.js';

const runs: Collection = {
  name: 'runs',
  version: 1,
  fields: { project: 'text', phase: 'text', createdAt: 'integer', weight: 'real', name: 'text' },
  indexes: [
    ['project', 'createdAt'],
    ['project', 'phase', 'createdAt'],
    ['project', 'name'],
  ],
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string => new TextDecoder().decode(value);

type Fields = {
  project: string;
  phase?: string | null;
  createdAt?: number | null;
  weight?: number;
  name?: string | null;
};

const run = (key: string, fields: Fields, position = 1n): StoredDocument => ({
  key,
  position,
  fields: { phase: 'QUEUED', createdAt: 0, weight: 0.5, name: key, ...fields },
  response: bytes(`answer ${key}`),
});

/** A move that parks a stream that was not parked. */
const parked = ({ views, stream, position, reason }: ParkedStream): ParkedMove => ({
  views,
  stream,
  from: undefined,
  to: { position, reason },
});

/** A checkpoint of the log with the id `log`. */
const at = (position: bigint) => ({ logId: 'log', position });

type ContractOptions = {
  /** With `beside`, lists and most reads go to a second store, which `reopen` opens beside the one that writes. */
  readonly reads?: 'itself' | 'beside';
  /** False when the server behind the store does not report what a query examines; such tests are then skipped. */
  readonly counts?: boolean;
  /** The number of lists that are read page by page, each with a random order, filter and page size. */
  readonly pagings?: number;
};

/** The contract of every read store. `open` creates an empty store; `reopen` opens another one on the same data. */
export const readStoreContract = (
  name: string,
  open: () => Promise<{ store: ReadStore; reopen: () => Promise<ReadStore> }>,
  { reads = 'itself', counts = true, pagings = 150 }: ContractOptions = {},
): void => {
  describe(name, () => {
    let store: ReadStore;
    let reader: ReadStore;
    let reopen: () => Promise<ReadStore>;
    let count = 0;

    beforeAll(async () => {
      ({ store, reopen } = await open());
      await store.prepare([runs]);
      reader = reads === 'beside' ? await reopen() : store;
    });
    afterAll(async () => {
      if (reader !== store) await reader.close();
      await store.close();
    });

    const put = async (documents: readonly StoredDocument[], collection = runs): Promise<void> => {
      count += 1;
      await store.write({
        documents: documents.map((document) => ({ collection, document })),
        checkpoints: [{ name: `put ${count}`, from: undefined, to: at(1n) }],
      });
    };
    const query = (project: string, more: Partial<Query> = {}): Query => ({
      where: [{ field: 'project', is: '=', value: project }],
      orderBy: { field: 'createdAt', direction: 'ascending' },
      limit: 100,
      ...more,
    });
    const keys = async (asked: Query): Promise<string[]> =>
      (await reader.find(runs, asked)).elements.map((element) => text(element).replace('answer ', ''));
    const keysWhere = (project: string, ...where: Condition[]): Promise<string[]> =>
      keys(query(project, { where: [{ field: 'project', is: '=', value: project }, ...where] }));

    it('gives back a document as it was written', async () => {
      const document: StoredDocument = {
        key: 'whole/ü',
        position: 9_007_199_254_740_993n,
        fields: { project: 'p', phase: null, createdAt: 2 ** 53 - 1, weight: 0.1, name: '' },
        response: bytes('a'),
        listElement: bytes('e'),
        foldState: new Uint8Array([0, 255]),
      };
      await put([document]);
      expect(await reader.get(runs, 'whole/ü')).toEqual(document);
    });

    it('keeps and compares texts with NUL and other control characters', async () => {
      const names = ['a', 'a\0', 'a\0b', 'a\u0001', 'a\u00010', 'a\u00011', 'a\u0002'];
      await put(names.map((each) => run(`nul/${each}`, { project: 'nul', name: each })));
      expect((await store.get(runs, 'nul/a\0b'))?.fields['name']).toBe('a\0b');
      expect((await store.getMany(runs, ['nul/a\0', 'nul/a'])).map(({ key }) => key).sort()).toEqual([
        'nul/a',
        'nul/a\0',
      ]);
      expect(await keysWhere('nul', { field: 'name', is: '=', value: 'a' })).toEqual(['nul/a']);
      expect(await keysWhere('nul', { field: 'name', is: 'in', values: ['a\0', 'a\u00010'] })).toHaveLength(2);
      expect(await keysWhere('nul', { field: 'name', is: 'contains', value: '\0' })).toHaveLength(2);
      const byName = query('nul', { orderBy: { field: 'name', direction: 'ascending' }, limit: 3 });
      const first = await reader.find(runs, byName);
      const rest = await keys({ ...byName, limit: 10, ...(first.next && { after: first.next }) });
      expect(rest).toEqual(names.slice(3).map((each) => `nul/${each}`));
      expect((await reader.findDistinct(runs, { ...byName, limit: 10 })).values).toEqual(names);
    });

    it('gives back a document without a list element and fold state as it was written', async () => {
      await put([run('bare', { project: 'p' })]);
      const bare = await reader.get(runs, 'bare');
      expect(bare).toBeDefined();
      expect(bare).not.toHaveProperty('listElement');
      expect(bare).not.toHaveProperty('foldState');
    });

    it('answers undefined for a key that is not there', async () => {
      expect(await reader.get(runs, 'nobody')).toBeUndefined();
    });

    it('gets the documents that exist among several keys', async () => {
      await put([run('many 1', { project: 'many' }), run('many 2', { project: 'many' })]);
      const found = await reader.getMany(runs, ['many 2', 'many 3', 'many 1']);
      expect(found.map(({ key }) => key).toSorted()).toEqual(['many 1', 'many 2']);
    });

    it('keeps the document that has seen more of the log', async () => {
      await put([run('guard', { project: 'p', phase: 'RUNNING' }, 7n)]);
      await put([run('guard', { project: 'p', phase: 'QUEUED' }, 6n)]);
      await put([run('guard', { project: 'p', phase: 'QUEUED' }, 7n)]);
      expect(await reader.get(runs, 'guard')).toMatchObject({ position: 7n, fields: { phase: 'RUNNING' } });
      await put([run('guard', { project: 'p', phase: 'FAILED' }, 8n)]);
      expect(await reader.get(runs, 'guard')).toMatchObject({ position: 8n, fields: { phase: 'FAILED' } });
    });

    it('compares with the document that is stored, also when the writer takes another one to be stored', async () => {
      const fields = run('known', { project: 'p', phase: 'QUEUED' }).fields;
      const steps = [
        { document: run('known', { project: 'p', phase: 'RUNNING' }, 3n), before: { position: 2n, fields } },
        { document: run('known', { project: 'p', phase: 'QUEUED' }, 2n), before: 'nothing' },
        { document: run('known', { project: 'p', phase: 'QUEUED' }, 3n), before: { position: 2n, fields } },
        { document: run('known', { project: 'q', phase: 'FAILED' }, 5n), before: { position: 4n, fields } },
      ] as const;
      const seen: unknown[] = [];
      for (const [step, { document, before }] of steps.entries()) {
        const checkpoint = { name: `known ${step}`, from: undefined, to: at(1n) };
        await store.write({ documents: [{ collection: runs, document, before }], checkpoints: [checkpoint] });
        const { position, fields: now } = (await reader.get(runs, 'known')) ?? {};
        seen.push([position, now?.['project'], now?.['phase']]);
      }
      const running = [3n, 'p', 'RUNNING'];
      expect(seen).toEqual([running, running, running, [5n, 'q', 'FAILED']]);
    });

    it('stores a document whose fields differ from those of the one that the writer knows to be stored', async () => {
      const first = run('stepwise', { project: 'p', phase: 'QUEUED', name: 'a\0b' }, 1n);
      const second = run('stepwise', { project: 'p', phase: 'RUNNING', name: 'a\0c', weight: 0.25 }, 2n);
      const third = run('stepwise', { project: 'p', phase: 'RUNNING', name: null, createdAt: 7 }, 3n);
      const write = (document: StoredDocument, before: DocumentWrite['before']) =>
        store.write({
          documents: [{ collection: runs, document, before }],
          checkpoints: [{ name: `stepwise ${document.position}`, from: undefined, to: at(1n) }],
        });
      await write(first, 'nothing');
      for (const [document, before] of [
        [second, first],
        [third, second],
      ] as const) {
        await write(document, before);
        expect(await reader.get(runs, 'stepwise')).toEqual(document);
      }
    });

    it('counts documents, each once however often it was written', async () => {
      const before = await reader.count(runs);
      await put([run('counted 1', { project: 'counted' }), run('counted 2', { project: 'counted' })]);
      await put([run('counted 1', { project: 'counted' }, 9n)]);
      expect(await reader.count(runs)).toBe(before + 2);
    });

    it('keeps versions of a collection apart', async () => {
      const next = { ...runs, version: 2 };
      await store.prepare([next]);
      await put([run('version', { project: 'p' })], next);
      expect(await reader.get(runs, 'version')).toBeUndefined();
      expect(await reader.get(next, 'version')).toBeDefined();
    });

    it('has no checkpoint before the first write, and then the one written', async () => {
      expect((await store.checkpoints(['first'])).get('first')).toBeUndefined();
      await store.write({ documents: [], checkpoints: [{ name: 'first', from: undefined, to: at(2n ** 60n) }] });
      expect((await store.checkpoints(['first'])).get('first')).toEqual({ logId: 'log', position: 2n ** 60n });
    });

    it('writes documents with a checkpoint that does not move', async () => {
      await store.write({ documents: [], checkpoints: [{ name: 'part', from: undefined, to: at(1n) }] });
      const document = run('part', { project: 'p' });
      await store.write({
        documents: [{ collection: runs, document }],
        checkpoints: [{ name: 'part', from: at(1n), to: at(1n) }],
      });
      expect(await reader.get(runs, 'part')).toBeDefined();
      expect((await store.checkpoints(['part'])).get('part')).toEqual(at(1n));
    });

    it('deletes a checkpoint and creates another in one write, or neither when the first has been moved', async () => {
      const move = (name: string, from: bigint | undefined, to: bigint | undefined) => ({
        name,
        from: from === undefined ? undefined : at(from),
        to: to === undefined ? undefined : at(to),
      });
      await store.write({ documents: [], checkpoints: [move('old', undefined, 1n)] });
      const stale = { documents: [], checkpoints: [move('new', undefined, 1n), move('old', 0n, undefined)] };
      await expect(store.write(stale)).rejects.toBeInstanceOf(CheckpointMoved);
      const found = async () => [...(await store.checkpoints(['old', 'new'])).keys()];
      expect(await found()).toEqual(['old']);
      await store.write({ documents: [], checkpoints: [move('new', undefined, 1n), move('old', 1n, undefined)] });
      expect(await found()).toEqual(['new']);
    });

    it('reads all checkpoints', async () => {
      await store.write({ documents: [], checkpoints: [{ name: 'of all', from: undefined, to: at(1n) }] });
      const all = await store.checkpoints();
      expect(all.get('of all')).toEqual(at(1n));
      expect(await store.checkpoints([...all.keys()])).toEqual(all);
    });

    it.each([
      ['another position', at(2n)],
      ['another log', { logId: 'other', position: 1n }],
      ['none', undefined],
    ])(
      'writes nothing when the checkpoint is not the one that the batch was made from: %s',
      async (difference, from) => {
        const checkpointName = `moved ${difference}`;
        await store.write({ documents: [], checkpoints: [{ name: checkpointName, from: undefined, to: at(1n) }] });
        const late = store.write({
          documents: [{ collection: runs, document: run(checkpointName, { project: 'p' }) }],
          checkpoints: [{ name: checkpointName, from, to: at(3n) }],
          parked: [{ views: 'v', stream: checkpointName, from: undefined, to: { position: 3n, reason: 'late' } }],
        });
        await expect(late).rejects.toBeInstanceOf(CheckpointMoved);
        expect(await reader.get(runs, checkpointName)).toBeUndefined();
        expect((await store.checkpoints([checkpointName])).get(checkpointName)).toEqual(at(1n));
        expect((await store.parked()).map(({ stream }) => stream)).not.toContain(checkpointName);
      },
    );

    it('has the same documents and checkpoints when it is opened a second time', async () => {
      await put([run('again', { project: 'p' })]);
      await store.write({ documents: [], checkpoints: [{ name: 'again', from: undefined, to: at(5n) }] });
      const second = await reopen();
      await second.prepare([runs]);
      expect(await second.get(runs, 'again')).toEqual(await store.get(runs, 'again'));
      expect((await second.checkpoints(['again'])).get('again')).toEqual(at(5n));
      await second.close();
    });

    it('lists parked streams in the order of their positions until they are resumed', async () => {
      const checkpoint = { name: 'parked', from: undefined, to: at(9n) };
      const [b, a] = [
        { views: 'v', stream: 'run-b', position: 9n, reason: 'unknown' },
        { views: 'v', stream: 'run-a', position: 4n, reason: 'corrupt' },
      ];
      await store.write({ documents: [], checkpoints: [checkpoint], parked: [parked(b), parked(a)] });
      expect(await store.parked()).toEqual([a, b]);
      const samePosition = { name: 'parked', from: at(9n), to: at(9n) };
      const moved = { ...a, position: 6n, reason: 'still' };
      await store.write({ documents: [], checkpoints: [samePosition], parked: [{ ...parked(moved), from: 4n }] });
      expect(await store.parked()).toEqual([moved, b]);
      const resumed = [
        { ...parked(a), from: 6n, to: undefined },
        { ...parked(b), from: 9n, to: undefined },
      ];
      await store.write({ documents: [], checkpoints: [samePosition], parked: resumed });
      expect(await store.parked()).toEqual([]);
    });

    it('resumes a stream for one group of views, and leaves it parked for another group', async () => {
      const checkpoint = { name: 'views apart', from: undefined, to: at(9n) };
      const [old, next] = ['old', 'next'].map((views) => ({ views, stream: 'apart', position: 5n, reason: views }));
      await store.write({ documents: [], checkpoints: [checkpoint], parked: [parked(old!), parked(next!)] });
      const samePosition = { ...checkpoint, from: checkpoint.to };
      await store.write({
        documents: [],
        checkpoints: [samePosition],
        parked: [{ ...parked(next!), from: 5n, to: undefined }],
      });
      expect(await store.parked()).toEqual([old]);
      await store.write({
        documents: [],
        checkpoints: [samePosition],
        parked: [{ ...parked(old!), from: 5n, to: undefined }],
      });
    });

    it('writes nothing when a parked stream is at another position than the batch was made from', async () => {
      const checkpointName = 'parked elsewhere';
      const unmoved: ParkedStream = { views: 'v', stream: checkpointName, position: 5n, reason: 'corrupt' };
      const checkpoint = { name: checkpointName, from: undefined, to: at(9n) };
      await store.write({ documents: [], checkpoints: [checkpoint], parked: [parked(unmoved)] });
      const samePosition = { ...checkpoint, from: checkpoint.to };
      const documents = [{ collection: runs, document: run(checkpointName, { project: 'p' }) }];
      for (const from of [undefined, 4n]) {
        for (const to of [undefined, { position: 7n, reason: 'moved' }]) {
          if (from === undefined && to === undefined) continue;
          const move = { views: 'v', stream: checkpointName, from, to };
          const late = store.write({ documents, checkpoints: [samePosition], parked: [move] });
          await expect(late).rejects.toBeInstanceOf(CheckpointMoved);
        }
      }
      expect(await reader.get(runs, checkpointName)).toBeUndefined();
      expect((await store.parked()).filter(({ stream }) => stream === checkpointName)).toEqual([unmoved]);
      await store.write({
        documents: [],
        checkpoints: [samePosition],
        parked: [{ ...parked(unmoved), from: 5n, to: undefined }],
      });
    });

    it('replaces a document at an equal position, though not at a lower one, when the write is late', async () => {
      const key = 'late';
      // MongoDB takes no document of this size: its store keeps the state in chunks.
      const large = Buffer.alloc(20_000_000, 'x');
      const [first, second, third] = ['first', 'second', 'third'].map((project, index) => ({
        ...run(key, { project }, 5n),
        ...(index > 0 && { foldState: large.subarray(index) }), // one byte less for each, to tell them apart
      })) as [StoredDocument, StoredDocument, StoredDocument];
      const stored = async () => {
        const { fields, foldState } = (await store.get(runs, key))!;
        return [fields['project'], foldState?.length];
      };
      await put([first]);
      await put([second]);
      expect(await stored()).toEqual(['first', undefined]);
      const late = (document: StoredDocument, before?: DocumentWrite['before']): Promise<void> => {
        count += 1;
        const checkpoints = [{ name: `late ${count}`, from: undefined, to: at(9n) }];
        return store.write({ documents: [{ collection: runs, document, before, isLate: true }], checkpoints });
      };
      await late(second, first);
      expect(await stored()).toEqual(['second', 19_999_999]);
      await late(third);
      expect(await stored()).toEqual(['third', 19_999_998]);
      await late({ ...first, position: 4n });
      await late({ ...first, position: 4n }, { ...first, position: 3n });
      expect(await stored()).toEqual(['third', 19_999_998]);
    });

    it('finds the list elements of documents, or the responses of those without a list element', async () => {
      await put([
        { ...run('element 1', { project: 'el' }), listElement: bytes('short') },
        run('element 2', { project: 'el' }),
      ]);
      const found = await reader.find(runs, query('el'));
      expect(found.elements.map(text)).toEqual(['short', 'answer element 2']);
      expect(found.next).toBeUndefined();
    });

    it('finds nothing when there is nothing', async () => {
      expect(await reader.find(runs, query('empty'))).toEqual({ elements: [] });
    });

    describe('conditions', () => {
      beforeAll(() =>
        put([
          run('c1', { project: 'cond', phase: 'QUEUED', createdAt: 1, weight: 0.5, name: 'Alpha' }),
          run('c2', { project: 'cond', phase: 'RUNNING', createdAt: 2, weight: 1.5, name: 'alphabet' }),
          run('c3', { project: 'cond', phase: null, createdAt: 3, weight: 2.5, name: '100% _x' }),
          run('c4', { project: 'cond', phase: 'FAILED', createdAt: 4, weight: 3.5, name: "it's" }),
        ]),
      );

      const rows: [string, Condition, string[]][] = [
        ['=', { field: 'phase', is: '=', value: 'RUNNING' }, ['c2']],
        ['= empty', { field: 'phase', is: '=', value: null }, ['c3']],
        ['<> leaves out empty fields', { field: 'phase', is: '<>', value: 'RUNNING' }, ['c1', 'c4']],
        ['<> empty', { field: 'phase', is: '<>', value: null }, ['c1', 'c2', 'c4']],
        ['<', { field: 'weight', is: '<', value: 1.5 }, ['c1']],
        ['<=', { field: 'weight', is: '<=', value: 1.5 }, ['c1', 'c2']],
        ['>', { field: 'createdAt', is: '>', value: 3 }, ['c4']],
        ['>=', { field: 'createdAt', is: '>=', value: 3 }, ['c3', 'c4']],
        ['> with text', { field: 'phase', is: '>', value: 'QUEUED' }, ['c2']],
        ['in', { field: 'phase', is: 'in', values: ['FAILED', 'QUEUED', 'FAILED'] }, ['c1', 'c4']],
        [
          'in, with many values',
          { field: 'createdAt', is: 'in', values: [...Array(50).keys()] },
          ['c1', 'c2', 'c3', 'c4'],
        ],
        ['in, without values', { field: 'phase', is: 'in', values: [] }, []],
        ['not in', { field: 'createdAt', is: 'not in', values: [1, 2] }, ['c3', 'c4']],
        ['contains, case counts', { field: 'name', is: 'contains', value: 'alpha' }, ['c2']],
        [
          'contains, with the wildcards of like taken literally',
          { field: 'name', is: 'contains', value: '% _' },
          ['c3'],
        ],
        ['like', { field: 'name', is: 'like', pattern: 'a%b_t' }, ['c2']],
        ['like with escaped wildcards', { field: 'name', is: 'like', pattern: '100\\% \\__' }, ['c3']],
        [
          'like with wildcards of glob patterns and regular expressions, taken literally',
          { field: 'name', is: 'like', pattern: '[%*?' },
          [],
        ],
        ['not like', { field: 'name', is: 'not like', pattern: '%l%' }, ['c3', 'c4']],
        ['contains a quote', { field: 'name', is: 'contains', value: "'" }, ['c4']],
      ];
      it.each(rows)('find and count the documents that satisfy: %s', async (_, condition, expected) => {
        expect(await keysWhere('cond', condition)).toEqual(expected);
        const { where, ...rest } = query('cond');
        const counts = await reader.countBy(runs, { ...rest, where: [...where, condition] }, 'createdAt');
        expect([...counts].sort()).toEqual(expected.map((key) => [Number(key.slice(1)), 1]));
      });

      it('find the documents that satisfy all of several conditions', async () => {
        const failedLate: Condition[] = [
          { field: 'phase', is: 'in', values: ['FAILED', 'RUNNING'] },
          { field: 'createdAt', is: '>=', value: 3 },
        ];
        expect(await keysWhere('cond', ...failedLate)).toEqual(['c4']);
        const never: Condition[] = [
          { field: 'phase', is: '=', value: 'FAILED' },
          { field: 'phase', is: '=', value: 'RUNNING' },
        ];
        expect(await keysWhere('cond', ...never)).toEqual([]);
      });
    });

    describe('conditions on a document that a field refers to, and on the pairs in a field', () => {
      const tagged: Collection = {
        name: 'tagged',
        version: 1,
        fields: { run: 'text', phase: 'text', tags: 'pairs', at: 'integer' },
        indexes: [['at']],
      };
      const document = (key: string, at: number, of: string | null, tags: [string, string][]): StoredDocument => ({
        key,
        position: 1n,
        fields: { run: of, phase: 'own', tags: pairsText(tags), at },
        response: bytes(`answer ${key}`),
      });
      beforeAll(async () => {
        await store.prepare([tagged]);
        await put([
          run('owner 1', { project: 'owners', phase: 'RUNNING', createdAt: 1 }),
          run('owner 2', { project: 'owners', phase: 'FAILED', createdAt: 2 }),
        ]);
        const documents = [
          document('t1', 1, 'owner 1', [
            ['team', 'a\0b'],
            ['tier', 'high'],
          ]),
          document('t2', 2, 'owner 2', [['team', 'b']]),
          document('t3', 3, null, []),
          document('t4', 4, 'nobody', [
            ['high', 'team'],
            ['say "hi"\\', '],["ü'],
          ]),
        ];
        await put(documents, tagged);
      });

      const found = async (...where: Condition[]): Promise<string[]> => {
        const orderBy = { field: 'at', direction: 'ascending' } as const;
        const { elements } = await reader.find(tagged, { where, orderBy, limit: 100 });
        return elements.map((element) => text(element).replace('answer ', ''));
      };
      const owner = (...where: Condition[]): Condition => ({ field: 'run', is: 'key of', collection: runs, where });
      const pair = (...where: Condition[]): Condition => ({ field: 'tags', is: 'has pair', where });

      it('compare the fields of the document whose key the field holds', async () => {
        expect(await found(owner({ field: 'phase', is: '=', value: 'RUNNING' }))).toEqual(['t1']);
        expect(await found(owner({ field: 'phase', is: 'in', values: ['RUNNING', 'FAILED'] }))).toEqual(['t1', 't2']);
        const lateAndNotRunning: Condition[] = [
          { field: 'phase', is: '<>', value: 'RUNNING' },
          { field: 'createdAt', is: '>', value: 1 },
        ];
        expect(await found(owner(...lateAndNotRunning))).toEqual(['t2']);
        expect(await found(owner({ field: 'phase', is: '=', value: 'own' }))).toEqual([]);
      });

      it('compare the pairs of a field: one pair must satisfy all conditions', async () => {
        const key = (value: string): Condition => ({ field: 'key', is: '=', value });
        const value = (wanted: string): Condition => ({ field: 'value', is: '=', value: wanted });
        expect(await found(pair(key('team')))).toEqual(['t1', 't2']);
        expect(await found(pair(value('a\0b')))).toEqual(['t1']);
        expect(await found(pair(key('team'), value('high')))).toEqual([]);
        expect(await found(pair(key('say "hi"\\'), value('],["ü')))).toEqual(['t4']);
        expect(await found(pair(key('say "hi"'), value('],["ü')))).toEqual([]);
        expect(await found(pair(key('tier'), value('high')), pair(key('team')))).toEqual(['t1']);
        expect(await found(pair({ field: 'key', is: 'contains', value: 'i' }))).toEqual(['t1', 't4']);
      });

      it('select the documents that are counted by a field', async () => {
        const orderBy = { field: 'at', direction: 'ascending' } as const;
        const counts = async (...where: Condition[]) =>
          [...(await reader.countBy(tagged, { where, orderBy, limit: 1 }, 'run'))].sort();
        const first = ['owner 1', 1];
        const second = ['owner 2', 1];
        expect(await counts(pair({ field: 'key', is: '=', value: 'team' }))).toEqual([first, second]);
        expect(await counts(pair({ field: 'value', is: '=', value: 'a\0b' }))).toEqual([first]);
        expect(await counts(owner({ field: 'phase', is: '=', value: 'FAILED' }))).toEqual([second]);
      });

      it('leave the pairs as they were written', async () => {
        const stored = await reader.get(tagged, 't1');
        expect(stored?.fields['tags']).toBe('[["team","a\\u0000b"],["tier","high"]]');
        expect((await reader.get(tagged, 't3'))?.fields['tags']).toBeNull();
      });
    });

    describe.skipIf(!counts)('the number of documents and index entries that a query examines', () => {
      const examined = (where: Condition[], more: Partial<Query> = {}) =>
        reader.examined(
          runs,
          query('looks', { where: [{ field: 'project', is: '=', value: 'looks' }, ...where], ...more }),
        );
      beforeAll(() =>
        put(
          Array.from({ length: 100 }, (_, i) =>
            run(`l${i}`, { project: 'looks', phase: i % 10 === 0 ? 'FAILED' : 'QUEUED', createdAt: i, weight: i }),
          ),
        ),
      );

      it('is the page and one document more, when an index has the order', async () => {
        const { keys: seen, documents, returned } = await examined([], { limit: 10 });
        expect([documents, returned]).toEqual([11, 10]);
        expect(seen).toBeGreaterThanOrEqual(11);
        expect(seen).toBeLessThanOrEqual(12);
      });

      it('is a little more for a few values, when an index has the documents of each value in order', async () => {
        const few: Condition = { field: 'phase', is: 'in', values: ['FAILED', 'QUEUED', 'nothing'] };
        const { keys: seen, returned } = await examined([few], { limit: 10 });
        expect(returned).toBe(10);
        expect(seen).toBeLessThanOrEqual(15);
      });

      it('is at least every document up to the end of the page, when no index has the condition', async () => {
        const { documents, returned } = await examined([{ field: 'weight', is: '>=', value: 60 }], { limit: 10 });
        expect(returned).toBe(10);
        expect(documents).toBeGreaterThanOrEqual(71);
      });

      it('is 0 for a condition that no document can satisfy', async () => {
        expect(await examined([{ field: 'phase', is: 'in', values: [] }])).toEqual({
          keys: 0,
          documents: 0,
          returned: 0,
        });
      });

      it('is at most six index entries and no document for two distinct values of a hundred documents', async () => {
        const orderBy = { field: 'phase', direction: 'ascending' } as const;
        const where: Condition[] = [
          { field: 'project', is: '=', value: 'looks' },
          { field: 'phase', is: '<>', value: 'QUEUED' },
        ];
        const values = await reader.findDistinct(runs, { where, orderBy, limit: 10 });
        expect(values).toEqual({ values: ['FAILED'], hasMore: false });
        const looked = await reader.examined(runs, { where, orderBy, limit: 10 }, 'findDistinct');
        expect(looked.keys).toBeLessThanOrEqual(6);
        expect(looked.documents).toBe(0);
      });
    });

    describe('pages', () => {
      const phases = ['QUEUED', 'RUNNING', 'FAILED'];
      const documents = Array.from({ length: 60 }, (_, i) =>
        run(`p${String(i).padStart(2, '0')}`, {
          project: 'pages',
          phase: phases[i % 3] ?? null,
          createdAt: i % 7 === 0 ? null : Math.floor(i / 4),
          name: `name ${i % 11}`,
        }),
      );
      beforeAll(() => put(documents));

      const inOrder = (field: string, isUp: boolean) =>
        documents
          .toSorted((a, b) => {
            const [x, y] = [a.fields[field] ?? -1, b.fields[field] ?? -1];
            const order = x < y ? -1 : x > y ? 1 : a.key < b.key ? -1 : 1;
            return isUp ? order : -order;
          })
          .map(({ key, fields }) => ({ key, fields }));

      /** Reads all pages of a query; gives the keys of the documents. */
      const readPages = async (asked: Query): Promise<string[]> => {
        const seen: string[] = [];
        for (let next = asked; ;) {
          const found = await reader.find(runs, next);
          seen.push(...found.elements.map((element) => text(element).replace('answer ', '')));
          if (!found.next) return seen;
          expect(found.elements).toHaveLength(asked.limit);
          const { offset: _, ...rest } = next;
          next = { ...rest, after: found.next };
        }
      };

      it('page by page, everything comes once and in order, whatever the order, filter and size', async () => {
        const orders = fc.constantFrom('createdAt', 'name', 'weight');
        const filters = fc.constantFrom<readonly string[]>([], ['QUEUED'], ['RUNNING', 'FAILED']);
        const property = fc.asyncProperty(
          orders,
          fc.boolean(),
          filters,
          fc.record({ limit: fc.integer({ min: 1, max: 25 }), offset: fc.integer({ min: 0, max: 12 }) }),
          async (field, isUp, wanted, { limit, offset }) => {
            const where: Condition[] = [{ field: 'project', is: '=', value: 'pages' }];
            if (wanted.length > 0) where.push({ field: 'phase', is: 'in', values: wanted });
            const direction = isUp ? 'ascending' : 'descending';
            const seen = await readPages({ where, orderBy: { field, direction }, limit, ...(offset && { offset }) });
            const expected = inOrder(field, isUp)
              .filter(({ fields }) => wanted.length === 0 || wanted.includes(String(fields['phase'])))
              .map(({ key }) => key);
            expect(seen).toEqual(expected.slice(offset));
          },
        );
        await fc.assert(property, { numRuns: pagings });
      });

      it.each(['<', '<=', '>', '>='] as const)(
        'page by page, %s on the field of the order finds no empty value',
        async (is) => {
          for (const direction of ['ascending', 'descending'] as const) {
            const where: Condition[] = [
              { field: 'project', is: '=', value: 'pages' },
              { field: 'createdAt', is, value: 9 },
            ];
            const seen = await readPages({ where, orderBy: { field: 'createdAt', direction }, limit: 1 });
            const fits = (value: number): boolean =>
              (is.startsWith('<') ? value < 9 : value > 9) || (is.endsWith('=') && value === 9);
            const expected = inOrder('createdAt', direction === 'ascending')
              .filter(({ fields }) => fields['createdAt'] !== null && fits(Number(fields['createdAt'])))
              .map(({ key }) => key);
            expect(seen).toEqual(expected);
          }
        },
      );

      it('a full last page has no next', async () => {
        const found = await reader.find(runs, query('pages', { limit: 60 }));
        expect(found.elements).toHaveLength(60);
        expect(found.next).toBeUndefined();
      });

      it('skip and repeat nothing when a document is added in front of them', async () => {
        const page = await reader.find(
          runs,
          query('pages', { limit: 20, orderBy: { field: 'name', direction: 'descending' } }),
        );
        await put([run('p99', { project: 'pages', name: 'name 999', phase: 'ADDED' })]);
        const next = await reader.find(
          runs,
          query('pages', {
            limit: 20,
            orderBy: { field: 'name', direction: 'descending' },
            ...(page.next && { after: page.next }),
          }),
        );
        const expected = inOrder('name', false).map(({ key }) => `answer ${key}`);
        expect([...page.elements, ...next.elements].map(text)).toEqual(expected.slice(0, 40));
      });
    });

    describe('values of a field', () => {
      beforeAll(() =>
        put(
          ['b', 'a', 'c', 'a', null, 'b', 'd'].map((name, i) =>
            run(`v${i}`, { project: 'values', phase: i === 6 ? 'FAILED' : 'QUEUED', name }),
          ),
        ),
      );
      const names = (more: Partial<Query>) =>
        reader.findDistinct(runs, query('values', { orderBy: { field: 'name', direction: 'ascending' }, ...more }));

      it('come once each, in order, without empty ones', async () => {
        expect(await names({})).toEqual({ values: ['a', 'b', 'c', 'd'], hasMore: false });
      });

      it('are counted, without empty ones, whatever the order and the page size', async () => {
        const project: Condition = { field: 'project', is: '=', value: 'values' };
        const phases: Condition = { field: 'phase', is: 'in', values: ['QUEUED', 'FAILED', 'QUEUED'] };
        for (const field of ['createdAt', 'name', 'weight']) {
          const counts = await reader.countBy(
            runs,
            query('values', { where: [project, phases], orderBy: { field, direction: 'descending' }, limit: 1 }),
            'name',
          );
          expect(Object.fromEntries(counts)).toEqual({ a: 2, b: 2, c: 1, d: 1 });
        }
        expect([...(await reader.countBy(runs, query('values'), 'phase'))].sort()).toEqual([
          ['FAILED', 1],
          ['QUEUED', 6],
        ]);
        expect((await reader.countBy(runs, query('no values'), 'phase')).size).toBe(0);
      });

      it('come backwards too', async () => {
        const orderBy = { field: 'name', direction: 'descending' } as const;
        expect(await names({ orderBy, limit: 3 })).toEqual({ values: ['d', 'c', 'b'], hasMore: true });
      });

      it('come page by page, after a value or from an offset', async () => {
        expect(await names({ limit: 2 })).toEqual({ values: ['a', 'b'], hasMore: true });
        expect(await names({ limit: 2, after: { value: 'b', key: '' } })).toEqual({
          values: ['c', 'd'],
          hasMore: false,
        });
        expect(await names({ limit: 2, offset: 1 })).toEqual({ values: ['b', 'c'], hasMore: true });
        expect(await names({ limit: 2, offset: 9 })).toEqual({ values: [], hasMore: false });
      });

      it('honour conditions', async () => {
        const project: Condition = { field: 'project', is: '=', value: 'values' };
        expect(await names({ where: [project, { field: 'phase', is: 'in', values: ['FAILED', 'X'] }] })).toEqual({
          values: ['d'],
          hasMore: false,
        });
      });
    });

    it('forgets everything when it is cleared', async () => {
      await put([run('forgotten', { project: 'p' })]);
      const checkpoint = { name: 'forgotten', from: undefined, to: at(9n) };
      const stream = { views: 'v', stream: 'forgotten', position: 9n, reason: 'unknown' };
      await store.write({ documents: [], checkpoints: [checkpoint], parked: [parked(stream)] });
      await store.clear();
      expect(await reader.get(runs, 'forgotten')).toBeUndefined();
      expect(await store.checkpoints()).toEqual(new Map());
      expect(await store.parked()).toEqual([]);
      expect(await store.count(runs)).toBe(0);
    });
  });
};
