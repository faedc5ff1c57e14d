import type { LinkedFiles, UploadStore } from '../kernel/ports/uploads.js';
import { fileUploadStore } from '../store/uploads/file-upload-store.js';
import type { Configuration } from '../config/configuration.js';

/** Where uploads are kept, and who serves the links to them. */
export type Uploads = {
  readonly store: UploadStore;
  /** Absent where the store has a server of its own. */
  readonly files?: LinkedFiles;
  /** Says where this server listens, once it does: that is where its links lead unless the settings say otherwise. */
  readonly listensAt: (url: string) => void;
};

/** Opens the place for uploads of a configuration: beside the payloads. */
export const openUploads = async (configuration: Configuration, directory: string): Promise<Uploads> => {
  const { payload_store: location, data_proxy: settings } = configuration;
  if (location.kind === 's3') {
    const { s3UploadStore } = await import('../store/uploads/s3-upload-store.js');
    const store = s3UploadStore({ location, maxBytes: settings.max_upload_bytes });
    return { store, listensAt: () => undefined };
  }
  let address = '';
  const publicUrl = (): string => settings.public_url || address;
  const store = fileUploadStore({ directory, maxBytes: settings.max_upload_bytes, publicUrl, now: Date.now });
  return {
    store,
    files: store,
    listensAt: (url) => {
      address = url;
    },
  };
};
