import type { ReactNode } from 'react';

import { PhaseSign } from './phase-badge.js';
import type { Tone } from './phases.js';

type SignTextProps = { readonly tone: Tone; readonly children: ReactNode };

/** A text with a sign before it that says how good or bad it is. */
export const SignText = ({ tone, children }: SignTextProps): ReactNode => (
  <span className="sign-text">
    <PhaseSign tone={tone} /> <span>{children}</span>
  </span>
);
