import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { download } from '../look/download.js';
import { FailureNote } from '../look/notes.js';
import { type AuditFilter, readAudit } from '../server/audit.js';
import { auditCsv, auditJson } from './export.js';

const FORMATS = {
  CSV: { write: auditCsv, type: 'text/csv', extension: 'csv' },
  JSON: { write: auditJson, type: 'application/json', extension: 'json' },
} as const;

type Format = keyof typeof FORMATS;

type ExportButtonsProps = {
  /** Makes the filter of the page. */
  readonly filter: () => AuditFilter;
};

/** Saves all entries that match the filter as a file, also those that are too old to be shown in the page. */
export const ExportButtons = ({ filter }: ExportButtonsProps): ReactNode => {
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (format: Format) => {
      const { write, type, extension } = FORMATS[format];
      const entries = await readAudit(filter());
      download(
        `audit-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}Z.${extension}`,
        write(entries),
        type,
      );
    },
  });
  return (
    <>
      {error && <FailureNote error={error} />}
      {(['CSV', 'JSON'] as const).map((format) => (
        <button key={format} type="button" className="button" disabled={isPending} onClick={() => mutate(format)}>
          Export {format}
        </button>
      ))}
    </>
  );
};
