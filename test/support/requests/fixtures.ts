import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { StatusCode } from '../../../services/kernel/rpc.js';

/** The compiled tests are in `dist/test`; the fixtures are not copied. */
const ROOT = join(import.meta.dirname, '../../../../test/fixtures');

/** The identifier of a definition or an execution, or the project and domain of an upload. */
export type FixtureId = {
  readonly resourceType?: 'TASK' | 'WORKFLOW' | 'LAUNCH_PLAN';
  readonly project: string;
  readonly domain: string;
  readonly name?: string;
  readonly version?: string;
};

/** The number of nodes of each kind in a compiled workflow. */
export type NodeCounts = {
  readonly nodesWithStartAndEnd: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly insideBranchesAndArrays?: number;
  readonly failureNode?: string;
};

/** The shape of a compiled workflow. */
export type Shape = NodeCounts & {
  /** The levels of nested workflows: 1 without sub-workflows. */
  readonly depth: number;
  /** By the name of the sub-workflow. */
  readonly subWorkflows?: Readonly<Record<string, NodeCounts>>;
};

type Request = {
  /** The name of the RPC, such as `CreateTask`. */
  readonly method: string;
  /** The name of the service without its package, such as `AdminService`. */
  readonly service: string;
  /** The path under `test/fixtures`, for messages of failed tests. */
  readonly path: string;
  /** One serialized request message. */
  readonly bytes: Uint8Array;
};

/** A recorded request of a client: a registration, an upload or a launch. */
export type FixtureEntry = Request & {
  readonly kind: 'task' | 'workflow' | 'launch_plan' | 'launch_plan_update' | 'upload_location' | 'execution';
  readonly id: FixtureId;
  /** The shape of a workflow; absent for other kinds. */
  readonly shape?: Shape;
  /** The launch plan of an execution; absent for other kinds. */
  readonly launches?: FixtureId;
  /** The names of the inputs of an execution; absent for other kinds. */
  readonly inputs?: readonly string[];
};

/** The recorded requests of one folder under `test/fixtures`. */
export type FixtureFolder = {
  readonly name: string;
  /** The folders that must be registered before. */
  readonly needs: readonly string[];
  /** In the order of sending; executions last. */
  readonly entries: readonly FixtureEntry[];
};

/** A second recording of a registration: other bytes with the same meaning. */
export type AgainEntry = Request & {
  readonly id: FixtureId;
  /** The path of the first recording. */
  readonly same: string;
  readonly expect: StatusCode;
};

/** A request that was made from a registration so that the control plane must refuse it. */
export type InvalidEntry = Request & {
  /** The name of the file without its endings, such as `003-task-no-name`. */
  readonly name: string;
  /** The reason why it is invalid. */
  readonly wrong: string;
  /** The folder that is registered before. */
  readonly needs: string;
  /** The path of the request that it was made from. */
  readonly base: string;
  readonly expect: StatusCode;
  /** A text that the answer's message must contain. */
  readonly textNames?: string;
  readonly note?: string;
};

/** A report of an engine, and the status of its answer. */
export type EventEntry = Request & { readonly expect: StatusCode | 'OK'; readonly about?: string };

/** The phase of an execution, node or task after all reports; times are RFC 3339. */
export type FinalPhase = { readonly phase: string; readonly startedAt?: string; readonly endedAt?: string };

/** A node after all reports; `parent` is the id of the node that it is in. */
export type FinalNode = FinalPhase & {
  readonly specNodeId: string;
  readonly parent: string | null;
  readonly isParent?: boolean;
  readonly isDynamic?: boolean;
  readonly isArray?: boolean;
};

/** The reports of one execution, and the state of the execution after them. */
export type EventSequence = {
  readonly name: string;
  readonly about: string;
  readonly needs: readonly string[];
  readonly entries: readonly EventEntry[];
  readonly final: {
    readonly execution: FinalPhase & { readonly name: string };
    readonly nodes: Readonly<Record<string, FinalNode>>;
    /** By `node/task/attempt`. */
    readonly tasks: Readonly<Record<string, FinalPhase>>;
  };
};

const json = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

/** The bytes of one file under `test/fixtures`. */
export const fixtureBytes = (path: string): Uint8Array => new Uint8Array(readFileSync(join(ROOT, path)));

type Listed = { readonly rpc: string; readonly file: string };

const withRequest = (folder: string, entry: Listed): Request => {
  const [service = '', method = ''] = entry.rpc.split('/').slice(1);
  const path = `${folder}/${entry.file}`;
  return { ...entry, service: service.split('.').at(-1) ?? '', method, path, bytes: fixtureBytes(path) };
};

/** The requests that the manifest of a folder lists, in its order. */
const listed = (folder: string): readonly Request[] => {
  const { entries } = json(`${folder}/manifest.json`) as { readonly entries: readonly Listed[] };
  return entries.map((entry) => withRequest(folder, entry));
};

/** The folder of this name, such as `01-hello`. */
export const fixtureFolder = (name: string): FixtureFolder => {
  const { needs } = json(`${name}/manifest.json`) as { readonly needs: readonly string[] };
  return { name, needs, entries: listed(name) as readonly FixtureEntry[] };
};

/** All folders; each after those that it needs. */
export const fixtureFolders = (): readonly FixtureFolder[] =>
  (json('index.json') as readonly { readonly fixture: string }[]).map(({ fixture }) => fixtureFolder(fixture));

/** The folders and all that they need, in the order of registration. */
export const withNeeds = (...names: readonly string[]): readonly FixtureFolder[] => {
  const found = new Map<string, FixtureFolder>();
  const add = (name: string): void => {
    if (found.has(name)) return;
    const folder = fixtureFolder(name);
    folder.needs.forEach(add);
    found.set(name, folder);
  };
  names.forEach(add);
  return [...found.values()];
};

/** The second recordings of registrations. */
export const againEntries = (): readonly AgainEntry[] => listed('again') as readonly AgainEntry[];

/** The requests that must be refused. */
export const invalidEntries = (): readonly InvalidEntry[] =>
  (listed('invalid') as readonly InvalidEntry[]).map((entry) => ({
    ...entry,
    name: entry.path.replace(/^invalid\/|\.create_request\.pb$/g, ''),
  }));

/** The folders under `test/fixtures/events`. */
const SEQUENCES = ['hello-succeeds', 'hello-fails', 'diamond-retries', 'dynamic-runs', 'picture-maps'];

/** The sequences of engine reports. */
export const eventSequences = (): readonly EventSequence[] =>
  SEQUENCES.map((name) => {
    const folder = `events/${name}`;
    const { about, needs, final } = json(`${folder}/manifest.json`) as EventSequence;
    return { name, about, needs, final, entries: listed(folder) as readonly EventEntry[] };
  });
