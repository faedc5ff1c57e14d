import type { UploadStore } from '../kernel/ports/uploads.js';
import type { RunData } from './ports.js';

/** The services that the routes of the data proxy need. */
export type DataProxyServices = {
  readonly uploads: UploadStore;
  readonly runs: RunData;
  readonly random: (bytes: number) => Uint8Array;
  /** The current time, in milliseconds since 1970. */
  readonly now: () => number;
};
