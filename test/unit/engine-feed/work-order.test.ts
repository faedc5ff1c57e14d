import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { QualityOfService_Tier as Tier } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { projectWeights } from '../../../services/main/engines/engine-feed.js';
import { type QueuedExecution, WorkOrder } from '../../../services/streams/engine-feed/work-order.js';

type Item = QueuedExecution & { readonly name: string };

let created = 0;
/**
 * A new execution that waits: named `e1`, `e2`, … and, unless `more` says otherwise, one millisecond younger than the
 * last.
 */
const item = (project: string, more: Partial<Omit<Item, 'lane'>> & { label?: string } = {}): Item => ({
  name: `e${(created += 1)}`,
  lane: { project, domain: 'development', clusterLabel: more.label ?? '', clusterPool: '' },
  tier: Tier.MEDIUM,
  createdAtMs: created,
  budgetMs: undefined,
  isAborting: false,
  ...more,
});

const anyLane = (): boolean => true;

/** The items in the order in which they are given to an engine that takes executions of every lane. */
const taken = (items: readonly Item[], nowMs = 0, weights: Readonly<Record<string, number>> = {}): readonly Item[] => {
  const order = new WorkOrder<Item>((project) => weights[project] ?? 1);
  for (const each of items) order.add(each);
  const found: Item[] = [];
  for (let next = order.next(anyLane, nowMs); next; next = order.next(anyLane, nowMs)) found.push(next);
  return found;
};

const names = (items: readonly Item[]): readonly string[] => items.map(({ name }) => name);

const arbitraryItem: fc.Arbitrary<Item> = fc
  .record({
    project: fc.constantFrom('a', 'b', 'c'),
    tier: fc.constantFrom(Tier.HIGH, Tier.MEDIUM, Tier.LOW, Tier.UNDEFINED),
    createdAtMs: fc.nat(100),
    budgetMs: fc.option(fc.nat(100), { nil: undefined }),
    isAborting: fc.boolean(),
  })
  .map(({ project, ...more }) => item(project, more));

describe('the order of executions that wait', () => {
  it('is HIGH before MEDIUM before LOW, and the older first', () => {
    const low = item('a', { tier: Tier.LOW });
    const medium = item('a');
    const younger = item('a', { tier: Tier.HIGH, createdAtMs: 2_000 });
    const older = item('a', { tier: Tier.HIGH, createdAtMs: 1_000 });
    expect(taken([low, medium, younger, older])).toEqual([older, younger, medium, low]);
  });

  it('has an execution first once nine tenths of its queueing budget are used up', () => {
    const high = item('a', { tier: Tier.HIGH });
    const low = item('a', { tier: Tier.LOW, createdAtMs: 0, budgetMs: 1_000 });
    expect(taken([high, low], 899)).toEqual([high, low]);
    expect(taken([high, low], 900)).toEqual([low, high]);
  });

  it('puts an execution that is to be aborted first', () => {
    const high = item('a', { tier: Tier.HIGH });
    const aborting = item('a', { tier: Tier.LOW, isAborting: true });
    expect(taken([high, aborting])).toEqual([aborting, high]);
  });

  it('gives projects turns by their weights, however many executions another one has', () => {
    const flood = Array.from({ length: 1_000 }, () => item('flood'));
    const few = Array.from({ length: 10 }, () => item('few'));
    const first = taken([...flood, ...few], 0, { few: 1, flood: 3 }).slice(0, 40);
    expect(first.filter(({ lane }) => lane.project === 'few')).toHaveLength(10);
  });

  it('does not compute the deadline of an execution again each time that it is passed over', () => {
    const order = new WorkOrder<Item>(() => 1);
    let reads = 0;
    const refused = Object.defineProperty(item('a'), 'budgetMs', { get: () => ((reads += 1), 1_000) });
    order.add(refused);
    const before = reads;
    for (let times = 0; times < 3; times += 1) expect(order.next(anyLane, 0, () => true)).toBeUndefined();
    expect(reads).toBe(before);
    expect(order.size()).toBe(1);
    order.add(item('a', { createdAtMs: 0 }));
    expect(order.next(anyLane, refused.createdAtMs + 1_000)).toBe(refused);
  });

  it('passes over executions that an engine does not take or has refused', () => {
    const order = new WorkOrder<Item>(() => 1);
    const [gpu, refused, plain] = [item('a', { label: 'gpu' }), item('a'), item('a')];
    for (const each of [gpu, refused, plain]) order.add(each);
    const next = () =>
      order.next(
        ({ clusterLabel }) => clusterLabel === '',
        0,
        (each) => each === refused,
      );
    expect([next(), next()]).toEqual([plain, undefined]);
    expect(order.size()).toBe(2);
  });

  it('takes turns with a project whose name is that of a property of every object', () => {
    const order = new WorkOrder<Item>(projectWeights({}));
    for (const project of ['constructor', 'constructor', 'a', 'a']) order.add(item(project));
    const turns = Array.from({ length: 4 }, () => order.next(anyLane, 0)?.lane.project);
    expect(turns).toEqual(['constructor', 'a', 'constructor', 'a']);
  });

  it('gives each execution once, and none that was removed', () => {
    fc.assert(
      fc.property(fc.array(arbitraryItem), fc.nat(300), (items, nowMs) => {
        expect([...names(taken(items, nowMs))].sort()).toEqual([...names(items)].sort());
        const order = new WorkOrder<Item>(() => 1);
        for (const each of items) order.add(each);
        for (const each of items) order.remove(each);
        expect(order.next(anyLane, nowMs)).toBeUndefined();
      }),
    );
  });

  it('is that of age within a project and a tier, without budgets and aborts', () => {
    fc.assert(
      fc.property(fc.array(arbitraryItem), (items) => {
        const plain = items.map((each) => ({ ...each, budgetMs: undefined, isAborting: false }));
        const order = taken(plain);
        for (const project of ['a', 'b', 'c'])
          for (const tier of [Tier.HIGH, Tier.MEDIUM, Tier.LOW]) {
            const own = order.filter((each) => each.lane.project === project && each.tier === tier);
            const ages = own.map(({ createdAtMs }) => createdAtMs);
            expect(ages).toEqual([...ages].sort((x, y) => x - y));
          }
      }),
    );
  });

  it('gives each of two projects its share by weight at any time, within less than one turn', () => {
    const weights = fc.record({ a: fc.integer({ min: 1, max: 9 }), b: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 60 }), (weightOf, turns) => {
        const items = ['a', 'b'].flatMap((project) => Array.from({ length: 60 }, () => item(project)));
        const first = taken(items, 0, weightOf).slice(0, turns);
        const share = (turns * weightOf.a) / (weightOf.a + weightOf.b);
        expect(Math.abs(first.filter(({ lane }) => lane.project === 'a').length - share)).toBeLessThan(1);
      }),
    );
  });
});
