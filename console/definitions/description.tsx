import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';

import {
  type DescriptionEntity,
  DescriptionFormat as Format,
} from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import { Card } from '../look/page.js';
import type { Named } from '../server/ids.js';
import { LinkOut } from '../values/link-out.js';
import type { Kind } from './kinds.js';
import { readDescription } from './read-description.js';

const Markdown = lazy(() =>
  import('../values/markdown.js').then(({ Markdown: component }) => ({ default: component })),
);

/** The formats that are shown as Markdown; others are shown as they were written. */
const SHOWN_AS_MARKDOWN: ReadonlySet<Format> = new Set([Format.UNKNOWN, Format.MARKDOWN]);

const Long = ({ content, format }: NonNullable<DescriptionEntity['longDescription']>): ReactNode => {
  if (content.case === 'uri') return <LinkOut address={content.value} text="Long description" />;
  const { value: text = '' } = content;
  if (text === '') return null;
  const asWritten = <pre>{text}</pre>;
  if (!SHOWN_AS_MARKDOWN.has(format)) return asWritten;
  return (
    <Suspense fallback={asWritten}>
      <Markdown text={text} />
    </Suspense>
  );
};

type DescriptionProps = { readonly kind: Kind; readonly id: Named; readonly version: string };

/** The description of a version and the address of its source code, as they were registered; nothing without one. */
export const Description = ({ kind, id, version }: DescriptionProps): ReactNode => {
  const { data: found } = useQuery({
    queryKey: ['description', kind, id, version],
    queryFn: ({ signal }) => readDescription(kind, { id, version }, signal),
  });
  if (!found) return null;
  const { shortDescription, longDescription, sourceCode } = found;
  const source = sourceCode?.link ?? '';
  if (`${shortDescription}${longDescription?.content.value ?? ''}${source}` === '') return null;
  return (
    <Card title="Description">
      <div className="card-body">
        {shortDescription !== '' && <p>{shortDescription}</p>}
        {longDescription && <Long {...longDescription} />}
        {source !== '' && <LinkOut address={source} text="Source code" />}
      </div>
    </Card>
  );
};
