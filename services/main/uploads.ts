import type { LinkedFiles, UploadStore } from '../kernel/ports/uploads.js';
import { fileUploadStore } from '../store/uploads/file-upload-store.js';
import type { Configuration } from '../config/configuration.js';

/** The store of uploads, and the files that this process serves by links. */
export type Uploads = {
  readonly store: UploadStore;
  /** Absent where the store has a server of its own, as S3 has. */
  readonly files?: LinkedFiles;
  /** Sets the URL of this server, once it listens; links point there unless `data_proxy.public_url` is set. */
  readonly listensAt: (url: string) => void;
};

/** Opens the upload store, which is beside the payloads: in the data directory or in the bucket. */
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
