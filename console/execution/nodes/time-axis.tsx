import type { ReactNode } from 'react';

import { durationText } from '../../look/times.js';
import type { Range } from './tree.js';

const MARKS = [0, 0.25, 0.5, 0.75, 1];
const PERCENT = 100;

type TimeAxisProps = { readonly range: Range };

/** The time since the start of the range, above the bars. */
export const TimeAxis = ({ range: { from, to } }: TimeAxisProps): ReactNode => (
  <div className="axis" aria-hidden="true">
    <span />
    <span className="axis-marks">
      {MARKS.map((mark) => (
        <span key={mark} style={{ left: `${mark * PERCENT}%` }}>
          {durationText((to - from) * mark)}
        </span>
      ))}
    </span>
    <span />
  </div>
);
