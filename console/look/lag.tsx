import type { ReactNode } from 'react';

import { SignText } from './sign-text.js';
import { durationText } from './times.js';

/** A longer lag is shown as bad. */
const MAX_GOOD_MS = 5_000;

type LagProps = { readonly ms: number };

/** The lag of a view or a reactor, with a sign that says whether it is good or bad. */
export const Lag = ({ ms }: LagProps): ReactNode => (
  <SignText tone={ms > MAX_GOOD_MS ? 'bad' : 'good'}>{durationText(ms)}</SignText>
);
