import type { ReactNode } from 'react';

import { useNow } from './now.js';
import { agoText, durationText, localText, utcText } from './times.js';

type AgoProps = { readonly at: number | undefined };

/**
 * A past moment relative to now, with the local time and UTC when pointed at. One that is still to come by the clock of
 * the browser is shown as now.
 */
export const Ago = ({ at }: AgoProps): ReactNode => {
  const now = useNow();
  if (at === undefined) return <span className="quiet">–</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={`${localText(at)}\n${utcText(at)}`}>
      {agoText(at, Math.max(now, at))}
    </time>
  );
};

type ToComeProps = { readonly at: number };

/** A moment to come, in the zone of the browser and relative to now, with UTC when pointed at. */
export const ToCome = ({ at }: ToComeProps): ReactNode => {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={utcText(at)}>
      {localText(at)} <span className="quiet">{agoText(at, now)}</span>
    </time>
  );
};

type LastingProps = { readonly from: number | undefined; readonly ms: number | undefined };

/** The time that something took, or has taken up to now. */
export const Lasting = ({ from, ms }: LastingProps): ReactNode => {
  const now = useNow();
  if (ms !== undefined) return <>{durationText(ms)}</>;
  if (from === undefined) return <span className="quiet">–</span>;
  return <>{durationText(Math.max(0, now - from))} …</>;
};
