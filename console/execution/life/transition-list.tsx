import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';

import type { Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { PhaseBadge } from '../../look/phase-badge.js';
import { clockText, msOf, utcText } from '../../look/times.js';
import { subjectOf } from './transitions.js';

const ROW_PX = 34;
const OVERSCAN = 15;

/** The principal of a transition, the engine that reported it, its marks and its reason, in words. */
const besideOf = ({ principal, producerId, reason, samePhase, endedWithExecution }: Transition): string =>
  [
    principal && `by ${principal}`,
    producerId && `reported by ${producerId}`,
    samePhase && 'new content',
    endedWithExecution && 'ended with the execution',
    reason,
  ]
    .filter(Boolean)
    .join(' · ');

type TransitionListProps = {
  readonly life: readonly Transition[];
  /** The index in `life` of the transition that is shown. */
  readonly index: number;
  readonly show: (index: number) => void;
};

const Row = ({ transition }: { readonly transition: Transition }): ReactNode => {
  const recorded = msOf(transition.recordedAt) ?? 0;
  const occurred = msOf(transition.occurredAt) ?? recorded;
  return (
    <>
      <code title={`occurred ${utcText(occurred)}\nrecorded ${utcText(recorded)}\nrequest ${transition.requestId}`}>
        {clockText(occurred)}
      </code>
      <span className="transition-what">{subjectOf(transition)}</span>
      {transition.phase === '' ? (
        <span className="label">{transition.type}</span>
      ) : (
        <PhaseBadge phase={transition.phase} />
      )}
      <span className="quiet transition-beside">{besideOf(transition)}</span>
    </>
  );
};

/** Every transition with its time, principal and cause; choosing one shows the execution as of it. */
export const TransitionList = ({ life, index, show }: TransitionListProps): ReactNode => {
  const container = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: life.length,
    getScrollElement: () => container.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
  });
  // By known heights: to measure rows while the slider moves would cost the page its frames.
  useEffect(() => {
    const { scrollOffset, scrollRect } = virtual;
    const [top, height] = [index * ROW_PX, scrollRect?.height ?? 0];
    const nearest = Math.min(Math.max(scrollOffset ?? 0, top + ROW_PX - height), top);
    if (nearest !== scrollOffset) container.current?.scrollTo({ top: nearest });
  }, [virtual, index]);
  return (
    <div className="card transitions" ref={container}>
      <ol style={{ height: `${virtual.getTotalSize()}px` }} aria-label="Transitions">
        {virtual.getVirtualItems().map(({ index: row, start }) => {
          const transition = life[row];
          if (!transition) return null;
          return (
            <li key={row} className={row > index ? 'later' : ''} style={{ transform: `translateY(${start}px)` }}>
              <button type="button" aria-current={row === index ? 'step' : undefined} onClick={() => show(row)}>
                <Row transition={transition} />
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
};
