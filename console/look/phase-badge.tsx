import type { ReactNode } from 'react';

import { phaseText, type Tone, toneOf } from './phases.js';

/** A sign for each tone, so that tones can be told apart without their colours. */
const SIGNS: Readonly<Record<Tone, string>> = {
  waiting: 'M8 4v4l3 2',
  running: 'M6 4.5l6 3.5-6 3.5z',
  good: 'M4 8.5l3 3 5-6',
  bad: 'M5 5l6 6M11 5l-6 6',
  stopped: 'M5.5 5.5h5v5h-5z',
  skipped: 'M4 5l4 3-4 3zM11 5v6',
};

const FILLED: ReadonlySet<Tone> = new Set(['running', 'stopped', 'skipped']);

type SignProps = { readonly tone: Tone };

export const PhaseSign = ({ tone }: SignProps): ReactNode => (
  <svg className={`sign tone-${tone}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <circle cx="8" cy="8" r="7.5" className="sign-disc" />
    <path d={SIGNS[tone]} className={FILLED.has(tone) ? 'sign-fill' : 'sign-line'} />
  </svg>
);

type PhaseBadgeProps = { readonly phase: string };

export const PhaseBadge = ({ phase }: PhaseBadgeProps): ReactNode => (
  <span className={`badge tone-${toneOf(phase)}`}>
    <PhaseSign tone={toneOf(phase)} />
    {phaseText(phase)}
  </span>
);
