import type { ReactNode } from 'react';

import { Facts } from '../../look/page.js';
import { durationText } from '../../look/times.js';
import { operationText, type Segments, totalsOf } from './time-spent.js';

type TimeSpentBarProps = {
  readonly segments: Segments | undefined;
  readonly toggle: () => void;
};

/** A switch for the operations on the bars and, when it is on, the time that all nodes spent on each. */
export const TimeSpentBar = ({ segments, toggle }: TimeSpentBarProps): ReactNode => (
  <div className="time-spent">
    <button type="button" className="chip" aria-pressed={segments !== undefined} onClick={toggle}>
      Where the time went
    </button>
    {segments && <Facts facts={totalsOf(segments).map(([name, ms]) => [operationText(name), durationText(ms)])} />}
  </div>
);
