import { randomUUID } from 'node:crypto';

/** The metadata of a Kubernetes object. */
export type Metadata = {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  creationTimestamp?: string;
  deletionTimestamp?: string;
};
/** A Kubernetes object. */
export type Stored = { apiVersion: string; kind: string; metadata: Metadata } & Record<string, unknown>;
/** A change as a watch reports it; `path` is that of the object in the API. */
export type Change = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly path: string;
  readonly object: Stored;
};

/** An answer other than success, as Kubernetes gives it. */
export class Refused extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies a JSON merge patch (RFC 7396). */
const merged = (before: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(before) ? { ...before } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(result, key);
    else result[key] = merged(result[key], value);
  }
  return result;
};

/** True when finalizers keep the object after its deletion. */
const isHeld = ({ metadata }: Stored): boolean => (metadata.finalizers ?? []).length > 0;

/** The objects of a stand-in for a Kubernetes API server, with versions, finalizers and the history of changes. */
export class ObjectTable {
  readonly #objects = new Map<string, Stored>();
  #history: { readonly version: number; readonly change: Change }[] = [];
  #version = 1;
  #oldest = 1;
  readonly onChange = new Set<(change: Change) => void>();

  get version(): string {
    return String(this.#version);
  }

  get(path: string): Stored {
    const found = this.#objects.get(path);
    if (!found) throw new Refused(404, `${path} not found`);
    return found;
  }

  has(path: string): boolean {
    return this.#objects.has(path);
  }

  list(isWanted: (path: string, object: Stored) => boolean): readonly Stored[] {
    return [...this.#objects].flatMap(([path, object]) => (isWanted(path, object) ? [object] : []));
  }

  create(path: string, object: Stored): Stored {
    if (this.#objects.has(path)) throw new Refused(409, `${object.metadata.name} already exists`);
    const created = { uid: randomUUID(), creationTimestamp: new Date().toISOString() };
    return this.#put('ADDED', path, { ...object, metadata: { ...object.metadata, ...created } });
  }

  patch(path: string, patch: Partial<Stored>): Stored {
    const before = this.get(path);
    const { resourceVersion, uid } = patch.metadata ?? {};
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw new Refused(409, 'the object has been modified');
    if (uid !== undefined && uid !== before.metadata.uid) throw new Refused(409, 'another object');
    const after = merged(before, patch) as Stored;
    const isOver = after.metadata.deletionTimestamp !== undefined && !isHeld(after);
    return isOver ? this.#drop(path, after) : this.#put('MODIFIED', path, after);
  }

  delete(path: string, uid?: string): Stored {
    const before = this.get(path);
    if (uid !== undefined && uid !== before.metadata.uid) throw new Refused(409, 'another object');
    if (!isHeld(before)) return this.#drop(path, before);
    if (before.metadata.deletionTimestamp !== undefined) return before;
    const deletionTimestamp = new Date().toISOString();
    return this.#put('MODIFIED', path, { ...before, metadata: { ...before.metadata, deletionTimestamp } });
  }

  /** The changes after a version; `undefined` when they are forgotten. */
  since(version: string): readonly Change[] | undefined {
    if (Number(version) < this.#oldest) return undefined;
    return this.#history.flatMap((each) => (each.version > Number(version) ? [each.change] : []));
  }

  /**
   * Forgets the history, as etcd does when it is compacted. A watch from any version so far, the last one included, is
   * then refused.
   */
  forget(): void {
    this.#version += 1;
    this.#oldest = this.#version;
    this.#history = [];
  }

  #drop(path: string, object: Stored): Stored {
    this.#objects.delete(path);
    return this.#note('DELETED', path, object);
  }

  #put(type: Change['type'], path: string, object: Stored): Stored {
    const noted = this.#note(type, path, object);
    this.#objects.set(path, noted);
    return noted;
  }

  #note(type: Change['type'], path: string, given: Stored): Stored {
    this.#version += 1;
    const object = { ...given, metadata: { ...given.metadata, resourceVersion: this.version } };
    const change = { type, path, object };
    this.#history.push({ version: this.#version, change });
    for (const each of this.onChange) each(change);
    return object;
  }
}
