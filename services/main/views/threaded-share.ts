import { Worker } from 'node:worker_threads';
import type { OnRebuildProgress, ThreadedShareBuilder } from '../../../projections/runtime/runs/rebuild-share.js';
import { faultOfCrossing } from '../../kernel/crossing-faults.js';
import type { RebuildStep, RebuildThreadData, RebuildThreadMessage } from './rebuild-thread.js';

/**
 * Rebuilds some partitions of the views on a thread of its own.
 *
 * @throws {Fault} from `build` and `verify`, when a store cannot be used.
 */
export const threadedShare = (workerData: RebuildThreadData): ThreadedShareBuilder => {
  const worker = new Worker(new URL('./rebuild-thread.js', import.meta.url), { workerData });
  const failed = new Promise<never>((_, reject) => worker.once('error', reject));
  failed.catch(() => undefined); // not unhandled: the current or the next step rejects with it

  /** Runs a step on the thread; gives its count, as {@link ThreadedShareBuilder} defines it. */
  const step = (name: RebuildStep, onProgress: OnRebuildProgress): Promise<number> =>
    new Promise((resolve, reject) => {
      failed.catch(reject);
      const settle = (message: RebuildThreadMessage): void => {
        if ('progress' in message) {
          onProgress(message.progress);
          return;
        }
        worker.off('message', settle);
        if ('done' in message) resolve(message.done);
        else if ('fault' in message) reject(faultOfCrossing(message));
        else reject(new Error(message.failure, message.cause === undefined ? {} : { cause: new Error(message.cause) }));
      };
      worker.on('message', settle).postMessage(name);
    });

  return {
    build: (onProgress) => step('build', onProgress),
    verify: (onProgress) => step('verify', onProgress),
    close: async () => {
      await worker.terminate(); // resolves also when the thread has failed before
    },
  };
};
