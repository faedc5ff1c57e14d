import type { UploadStore } from '../kernel/ports/uploads.js';
import type { RunData } from './ports.js';

/** What the routes of the data proxy stand on. */
export type DataProxyServices = {
  readonly uploads: UploadStore;
  readonly runs: RunData;
  readonly random: (bytes: number) => Uint8Array;
  /** In milliseconds. */
  readonly now: () => number;
};
