import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { PayloadObjects } from '../../services/kernel/ports/payload-objects.js';
import type { PayloadRef, PayloadStore } from '../../services/kernel/ports/payload-store.js';
import { codecs } from '../../services/main/models.js';
import { payloadPath } from '../../services/store/payloads/object-name.js';
import { payloadReferences } from '../../services/store/payloads/payload-references.js';
import { surveyPayloads, sweepPayloads } from '../../services/store/payloads/sweep-payloads.js';
import { flightlog } from './processes/command.js';
import { type ControlPlane, register, startControlPlane } from './processes/control-plane.js';
import { withNeeds } from './requests/fixtures.js';
import { helloRequest, literal } from './requests/hello.js';
import { readStoreEnvironment } from './servers/mongo-server.js';
import { eventStoreEnvironment, openTestLog } from './processes/test-log.js';

/** A payload store of a test, with the times and numbers that suit it. */
export type GarbageStore = {
  /** The setting `payload_store`. */
  readonly setting: string;
  /**
   * The age from which payloads are removed, in milliseconds: much more than the time between the put of a payload and
   * its event.
   */
  readonly ageMs: number;
  readonly open: () => { readonly store: PayloadStore; readonly objects: PayloadObjects };
  /** Makes the payloads look older than `ageMs`, or waits until all payloads are. */
  readonly makeOld: (refs: readonly PayloadRef[]) => Promise<void>;
  /** The number of runs of `payloads gc` until a payload is permanently removed. */
  readonly runs: number;
  /** The number of rounds in which payloads are put again while others are removed. */
  readonly rounds: number;
};

type Counts = Readonly<
  Record<'named' | 'missing' | 'garbage' | 'removed' | 'setAside' | 'restored' | 'objects', number>
>;

/** The number of executions that are launched in each round. */
const CREATES = 25;
const LIMIT_MS = 300_000;
/** The category of the stream with the log's id, which only a log in EventStoreDB has; it names no payloads. */
const FOREIGN = new Set(['flightlog']);
/** A text that is long enough to be kept in the payload store and not in the event. */
const greeting = (name: string): string => `${name} ${'x'.repeat(70_000)}`;
/** The inputs of an execution: its greeting, and the number of repetitions. */
const inputsOf = (name: string) =>
  create(LiteralMapSchema, { literals: { name: literal(greeting(name)), times: literal(1n) } });
/** The scope in the payload store of an execution's payloads. */
const scopeOf = (name: string): string => `runs/flytesnacks/development/${name}`;

/** Defines tests of `flightlog payloads gc` on one payload store. Garbage are the payloads that no event refers to. */
export const garbageStory = (name: string, open: (directory: string) => GarbageStore): void => {
  describe(`the garbage of ${name}`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-garbage-'));
    const garbage = open(directory);
    const created: string[] = [];
    let plane: ControlPlane;
    let names = 0;

    const start = async (env: Readonly<Record<string, string>> = {}): Promise<void> => {
      plane = await startControlPlane({ FLIGHTLOG_PAYLOAD_STORE: garbage.setting, ...env }, directory);
    };
    const newName = (): string => `kept-${(names += 1)}`;
    const launch = async (execution: string): Promise<void> => {
      await plane.grpc.call(
        AdminService.method.createExecution,
        helloRequest(execution, (request) => (request.inputs = inputsOf(execution))),
      );
      created.push(execution);
    };
    /** Puts the payloads that executions of these names will put, and makes them old. */
    const plant = async (executions: readonly string[]): Promise<readonly PayloadRef[]> => {
      const { store, objects } = garbage.open();
      const put = (each: string) => store.put(scopeOf(each), toBinary(LiteralMapSchema, inputsOf(each)));
      const refs = await Promise.all(executions.map(put));
      await store.close();
      await objects.close();
      await garbage.makeOld(refs);
      return refs;
    };
    const gc = (args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
      flightlog(
        [
          ...['payloads', 'gc', '--data', directory, '--payload-store', garbage.setting],
          ...['--older-than', `${garbage.ageMs}ms`, ...args],
        ],
        { env: { FLIGHTLOG_TEST_GC_LEAST_AGE_MS: '0', ...eventStoreEnvironment(directory), ...env } },
      );
    const counts = async (args: readonly string[] = []): Promise<Counts> => {
      const { code, stdout, stderr } = await gc(args).ended;
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout) as Counts;
    };
    const isThere = async (ref: PayloadRef): Promise<boolean> => {
      const { store, objects } = garbage.open();
      const bytes = await store.get(ref);
      await store.close();
      await objects.close();
      return bytes !== undefined;
    };
    const pathsThere = async (): Promise<string[]> => {
      const { store, objects } = garbage.open();
      const paths: string[] = [];
      for await (const page of objects.list())
        paths.push(...page.map(({ path, quarantinedAs }) => quarantinedAs ?? path));
      await store.close();
      await objects.close();
      return paths;
    };
    const restart = async (): Promise<void> => {
      plane.grpc.close();
      await plane.server().stop();
      await start();
    };

    beforeAll(async () => {
      await start();
      await register(plane.grpc, withNeeds('01-hello'));
      await launch(newName());
      await plane.server().stop();
      plane.grpc.close();
    }, LIMIT_MS);

    afterAll(async () => {
      plane.grpc.close();
      await plane.server().stop();
      rmSync(directory, { recursive: true, force: true });
    });

    it('is counted and not removed by a dry run', async () => {
      const refs = await plant(['planted-1', 'planted-2']);
      await start();
      const found = await counts(['--dry-run']);
      expect(found).toMatchObject({ named: 1, missing: 0, garbage: 2, removed: 0, setAside: 0, dryRun: true });
      for (const ref of refs) expect(await isThere(ref)).toBe(true);
    });

    it('is removed, and payloads that an event refers to stay', async () => {
      for (let run = 0; run < garbage.runs; run += 1) {
        const { removed, setAside } = await counts();
        expect(run === garbage.runs - 1 ? removed : setAside).toBe(2);
        await garbage.makeOld([]);
      }
      expect(await pathsThere()).toHaveLength(1);
      expect(await counts()).toMatchObject({ objects: 1, named: 1, missing: 0, garbage: 0, removed: 0 });
    });

    it(
      'is put again by launches while removals run, until an event refers to each payload',
      async () => {
        let planted = new Set<string>();
        for (let round = 0; round < garbage.rounds; round += 1) {
          const executions = Array.from({ length: CREATES }, newName);
          const refs = await plant(executions);
          planted = new Set([...planted, ...refs.map(({ scope, sha256 }) => payloadPath(scope, sha256))]);
          const launched = new Set<string>();
          const sweeps = async (): Promise<void> => {
            while (launched.size < CREATES) await sweepOnce();
          };
          await Promise.all([sweeps(), ...executions.map((each) => launch(each).finally(() => launched.add(each)))]);
        }
        // Checks that the server has put the same payloads; otherwise the test would have shown nothing.
        const log = await openTestLog(directory);
        const named = await payloadReferences({ log, codecs, foreign: FOREIGN, onProgress: () => undefined });
        await log.close();
        expect([...planted].filter((path) => !named.has(path))).toEqual([]);
      },
      LIMIT_MS,
    );

    const sweepOnce = async (): Promise<void> => {
      const { store, objects } = garbage.open();
      const log = await openTestLog(directory);
      const cutoffMs = Date.now() - garbage.ageMs;
      const named = await payloadReferences({ log, codecs, foreign: FOREIGN, onProgress: () => undefined });
      const sweeping = { objects, named, cutoffMs, onProgress: () => undefined };
      await surveyPayloads(sweeping);
      await sweepPayloads(sweeping);
      await log.close();
      await objects.close();
      await store.close();
    };

    it(
      'can be read when its removal is killed, and is restored once an event refers to it',
      async () => {
        const execution = newName();
        await plane.server().stop();
        plane.grpc.close();
        const [ref] = await plant([execution]);
        await start();
        const { child } = gc([], { FLIGHTLOG_FAIL_POINT: 'payload-quarantined:1' });
        await once(child, 'exit');
        expect(child.signalCode).toBe('SIGKILL');
        expect(await isThere(ref!)).toBe(true);
        await launch(execution);
        expect(await isThere(ref!)).toBe(true);
        const { restored, missing } = await counts();
        expect({ restored, missing }).toEqual({ restored: 1, missing: 0 });
        expect((await pathsThere()).filter((path) => path.includes('aside'))).toEqual([]);
        expect(await isThere(ref!)).toBe(true);
      },
      LIMIT_MS,
    );

    it(
      'includes the payload of a server that was killed before it recorded the event, and that payload is removed',
      async () => {
        plane.grpc.close();
        await plane.server().stop();
        const before = (await pathsThere()).length;
        await start({ FLIGHTLOG_FAIL_POINT: 'after-payload:1' });
        const execution = newName();
        await expect(launch(execution)).rejects.toThrow();
        expect(await pathsThere()).toHaveLength(before + 1);
        await restart();
        const refs = await plant([execution]); // the same payload, to know its reference
        expect(await pathsThere()).toHaveLength(before + 1);
        await restart();
        for (let run = 0; run < garbage.runs; run += 1) {
          expect((await counts()).garbage).toBe(1);
          await garbage.makeOld([]);
        }
        expect(await isThere(refs[0]!)).toBe(false);
        await launch(execution);
      },
      LIMIT_MS,
    );

    it(
      'was removed without loss of the inputs of any execution, and the views can be rebuilt from the log',
      async () => {
        for (const execution of created) {
          const id = { project: 'flytesnacks', domain: 'development', name: execution };
          const { fullInputs } = await plane.grpc.call(AdminService.method.getExecutionData, { id });
          expect(fullInputs, execution).toEqual(inputsOf(execution));
        }
        expect(created).toHaveLength(3 + garbage.rounds * CREATES);
        expect((await counts()).missing).toBe(0);
        await plane.server().stop();
        const rebuild = ['views', 'rebuild', '--data', directory, '--payload-store', garbage.setting];
        const env = { ...eventStoreEnvironment(directory), ...readStoreEnvironment(directory) };
        const { code, stderr } = await flightlog(rebuild, { env }).ended;
        expect(code, stderr).toBe(0);
        await start();
      },
      LIMIT_MS,
    );
  });
};
