import {
  type CustomObjectsApi,
  type KubeConfig,
  setHeaderOptions,
  type V1Status,
  Watch,
} from '@kubernetes/client-node';
import { createPacer, pause } from '../../pace.js';
import { EngineStopped } from '../../call-error.js';
import { backoffMs } from '../backoff.js';
import { GROUP, PLURAL, VERSION } from '../object/workflow-object.js';
import { clusterFault } from './answers.js';
import { ClusterUnavailable, type ExecutionObject, type OnObject } from './cluster.js';
import { type AnsweredMetadata, METADATA_LIST, METADATA_ONLY, executionOfObject } from './metadata-answer.js';

export type WatchTimes = {
  /** The server ends a watch after this time, and the bridge opens another. */
  readonly watchSeconds: number;
  /**
   * A watch counts as failed when the server does not answer it within this time, or when it has not ended this long
   * after `watchSeconds`.
   */
  readonly answerTimeoutMs: number;
};

type FollowOptions = {
  readonly api: CustomObjectsApi;
  readonly kubeConfig: KubeConfig;
  readonly selector: string;
  readonly times: WatchTimes;
  readonly onObject: OnObject;
  /** Called for each failure; another attempt follows. */
  readonly onFailure: (error: Error) => void;
  readonly signal: AbortSignal;
};

type Page = {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  /** Null when there are none. */
  readonly items: readonly { readonly metadata: AnsweredMetadata }[] | null;
};

/** The end of a watch; after `expired` its resource version is unknown to the server. */
type WatchEnd = 'ended' | 'expired' | 'failed';

const PAGE = 500;
const EXPIRED = 410;
const PATH = `/apis/${GROUP}/${VERSION}/${PLURAL}`;

/** Adds the header for metadata only, and a timeout; the watch of the library has neither. */
const withHeaders = (kubeConfig: KubeConfig, timeoutMs: number): KubeConfig =>
  Object.assign(Object.create(kubeConfig) as KubeConfig, {
    applyToFetchOptions: async (given: Parameters<KubeConfig['applyToFetchOptions']>[0]) => {
      const init = await kubeConfig.applyToFetchOptions({ ...given, timeout: timeoutMs });
      (init.headers as unknown as Headers).set('Accept', METADATA_ONLY);
      return init;
    },
  });

/** Lists the objects in pages; returns the resource version to watch from. */
const listed = async (options: FollowOptions, onObject: OnObject): Promise<string> => {
  for (let next = ''; ;) {
    const page = (await options.api.listClusterCustomObject(
      {
        group: GROUP,
        version: VERSION,
        plural: PLURAL,
        labelSelector: options.selector,
        limit: PAGE,
        ...(next !== '' && { _continue: next }),
      },
      setHeaderOptions('Accept', METADATA_LIST),
    )) as Page;
    for (const { metadata } of page.items ?? []) onObject(executionOfObject(metadata));
    next = page.metadata.continue ?? '';
    if (next === '') return page.metadata.resourceVersion;
  }
};

/** The state of following one cluster: the known objects, and the version to watch from. */
type Following = {
  readonly known: Map<string, ExecutionObject>;
  version: string;
};

const keyOf = ({ namespace, name }: ExecutionObject): string => `${namespace}/${name}`;

/**
 * Lists again, and reports also the known objects that are no longer there. A list that fails forgets no object, so
 * that the next one reports these.
 */
const relist = async (options: FollowOptions, following: Following): Promise<void> => {
  const found = new Set<string>();
  following.version = await listed(options, (object) => {
    found.add(keyOf(object));
    following.known.set(keyOf(object), object);
    options.onObject(object);
  });
  for (const [key, object] of following.known) {
    if (found.has(key)) continue;
    following.known.delete(key);
    options.onObject(object);
  }
};

const onEvent = (options: FollowOptions, following: Following, type: string, metadata: AnsweredMetadata): void => {
  following.version = metadata.resourceVersion ?? following.version;
  if (type === 'BOOKMARK') return;
  const object = executionOfObject(metadata);
  if (type === 'DELETED') following.known.delete(keyOf(object));
  else following.known.set(keyOf(object), object);
  options.onObject(object);
};

const watched = (options: FollowOptions, following: Following): Promise<WatchEnd> => {
  const { kubeConfig, selector, times, signal } = options;
  const watch = new Watch(withHeaders(kubeConfig, times.answerTimeoutMs));
  const query = {
    allowWatchBookmarks: true,
    labelSelector: selector,
    resourceVersion: following.version,
    timeoutSeconds: times.watchSeconds,
  };
  return new Promise((resolve) => {
    let end: WatchEnd = 'ended';
    let refusal: Error | undefined;
    let isOver = false;
    const ended = (error: (Error & { readonly statusCode?: number }) | null): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      if (error?.statusCode === EXPIRED) end = 'expired';
      if (error !== null && end === 'ended') end = 'failed';
      const cause = error ?? refusal;
      if (end === 'failed') options.onFailure(new ClusterUnavailable('the watch has failed', { cause }));
      resolve(end);
    };
    const opened = watch.watch(
      PATH,
      query,
      (type, object: { readonly metadata?: AnsweredMetadata } & V1Status) => {
        if (type === 'ERROR') {
          end = object.code === EXPIRED ? 'expired' : 'failed';
          refusal = new Error(object.message);
        } else onEvent(options, following, type, object.metadata ?? {});
      },
      ended,
    );
    // The library does not report a failure to read its credentials: a command that fails, or a token file that is
    // gone.
    opened.catch(ended);
    // The library opens no watch while a command that gives credentials hangs, so this does not wait for it.
    const close = (error: Error | null): void => {
      opened.then((controller) => controller.abort()).catch(() => undefined);
      ended(error);
    };
    const stop = (): void => close(null);
    const giveUp = (): void => close(new Error('the watch has not ended in time'));
    const timer = setTimeout(giveUp, times.watchSeconds * 1_000 + times.answerTimeoutMs);
    signal.addEventListener('abort', stop, { once: true });
  });
};

/** Watching for less than this after a list counts as a failure, so that the next list follows with backoff. */
const LEAST_WATCH_MS = 1_000;

/** The maximum rate of new watches, for a server or a proxy that ends each watch at once. */
const WATCHES_PER_SECOND = 2;

/** The pace of following one cluster: each watch waits for its turn. */
type Turn = () => Promise<void>;

/**
 * Watches until the version has expired or the signal is aborted; a watch that fails is retried with backoff. Returns
 * false when that took less than {@link LEAST_WATCH_MS}, as when the server refuses the version of its own list.
 */
const watchOn = async (options: FollowOptions, following: Following, turn: Turn): Promise<boolean> => {
  const startedAt = performance.now();
  for (let failures = 0; !options.signal.aborted;) {
    await turn();
    const end = await watched(options, following);
    if (end === 'expired') break;
    failures = end === 'failed' ? failures + 1 : 0;
    if (failures > 0) await pause(backoffMs(failures), options.signal);
  }
  return performance.now() - startedAt >= LEAST_WATCH_MS;
};

/** Lists objects and watches them until the signal, also after failures and expired resource versions. */
export const followObjects = async (options: FollowOptions): Promise<void> => {
  const { signal } = options;
  const following: Following = { known: new Map(), version: '' };
  const turn = createPacer(WATCHES_PER_SECOND, signal);
  for (let failures = 0; !signal.aborted;) {
    try {
      await relist(options, following);
      failures = (await watchOn(options, following, turn)) ? 0 : failures + 1;
    } catch (error) {
      if (error instanceof EngineStopped) return;
      failures += 1;
      options.onFailure(clusterFault(error));
    }
    if (failures > 0) await pause(backoffMs(failures), signal).catch(() => undefined);
  }
};
