import type { ReactNode } from 'react';

import { Facts } from '../../look/page.js';
import { capitalEnumText } from '../../look/enum-text.js';
import { durationText } from '../../look/times.js';
import { type Segments, totalsOf } from './time-spent.js';

type TimeSpentBarProps = {
  /** `undefined` while the switch is off. */
  readonly segments: Segments | undefined;
  readonly toggle: () => void;
};

/**
 * The line above the time axis with a switch. When it is on, the bars of the nodes show operations instead of phases,
 * and this line shows the time that the execution and all its nodes together spent on each operation.
 */
export const TimeSpentBar = ({ segments, toggle }: TimeSpentBarProps): ReactNode => (
  <div className="time-spent">
    <button type="button" className="chip" aria-pressed={segments !== undefined} onClick={toggle}>
      Where the time went
    </button>
    {segments && <Facts facts={totalsOf(segments).map(([name, ms]) => [capitalEnumText(name), durationText(ms)])} />}
  </div>
);
