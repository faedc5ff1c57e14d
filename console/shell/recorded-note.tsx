import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { EventLink } from '../events/event-link.js';
import { moveFocus } from '../look/focus.js';
import { forgetRecorded, type Recorded, useRecorded } from '../server/act.js';
import { readEvent, type TailedEvent } from '../server/tail.js';

type EventTextProps = Pick<Recorded, 'scope'> & { readonly event: TailedEvent };

const EventText = ({ event: { type, stream, position, actor }, scope }: EventTextProps): ReactNode => (
  <>
    Recorded: <strong>{type}</strong>
    {actor !== '' && ` by ${actor}`}, position <EventLink stream={stream} position={BigInt(position)} scope={scope} />
  </>
);

const Event = ({ recorded: { position, scope, requestId } }: { readonly recorded: Recorded }): ReactNode => {
  const { data, error } = useQuery({
    queryKey: ['recorded', String(position)],
    queryFn: ({ signal }) => readEvent(position, scope, signal),
    staleTime: Infinity,
    meta: { fixed: true },
  });
  if (error) return `Done. What was recorded at position ${position} cannot be shown: ${error.message}.`;
  if (!data) return null;
  if (data.requestId !== requestId) return 'Nothing new was recorded: it was so already.';
  return <EventText event={data} scope={scope} />;
};

const dismiss = (): void => {
  forgetRecorded();
  moveFocus([]); // the button goes away with the note
};

/** The event that the last action of the page has recorded, until it is dismissed or another action follows. */
export const RecordedNote = (): ReactNode => {
  const recorded = useRecorded();
  return (
    <div className="recorded" role="status" aria-label="Recorded event">
      {recorded && (
        <p className="note tone-good">
          <span>
            <Event recorded={recorded} />
          </span>
          <button type="button" className="button" onClick={dismiss}>
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
};
