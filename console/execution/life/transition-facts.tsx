import type { ReactNode } from 'react';

import type { Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { Facts } from '../../look/page.js';
import { msOf, utcText } from '../../look/times.js';

const momentOf = (at: Transition['recordedAt']): string => {
  const ms = msOf(at);
  return ms === undefined ? '' : utcText(ms);
};

/** The event of a transition and its position, its times, its principal, its engine, its request and its cause. */
export const TransitionFacts = ({ transition }: { readonly transition: Transition }): ReactNode => (
  <Facts
    facts={[
      ['Event', transition.type],
      ['Position', String(transition.position)],
      ['Occurred', momentOf(transition.occurredAt)],
      ['Recorded', momentOf(transition.recordedAt)],
      ['By', transition.principal],
      ['Reported by', transition.producerId],
      ['Request', transition.requestId],
      ['Cause', transition.reason],
    ]}
  />
);
