import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';

import type { Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { indexAt, positionAt, positionTowards } from './index-at.js';

/** The address of the page, and with it what is read, changes when the slider has not moved for so long, in ms. */
const REST_MS = 200;

const route = getRouteApi('/projects/$project/domains/$domain/executions/$name');

/** The transition that is shown, and functions that show another one. */
export type ShownMoment = {
  readonly index: number;
  /** Shows the execution after the event of a transition. */
  readonly show: (index: number) => void;
  /** Steps towards a transition; a step back inside an event goes to the event before. */
  readonly step: (index: number) => void;
};

/** A moment that a person has chosen while the address had another. */
type Choice = { readonly asOf: string; readonly insteadOf: string };

/** The moment of the address or, until the address has followed, a later choice of the person. */
export const useMoment = (life: readonly Transition[], asOf: string): ShownMoment => {
  const navigate = route.useNavigate();
  const [choice, setChoice] = useState<Choice>();
  const chosen = choice?.insteadOf === asOf ? choice.asOf : asOf;
  const index = indexAt(life, chosen);
  useEffect(() => {
    if (chosen === asOf) return undefined;
    const search = { asOf: chosen === '' ? undefined : chosen };
    const timer = window.setTimeout(
      () => void navigate({ search: (before) => ({ ...before, ...search }), replace: true, resetScroll: false }),
      REST_MS,
    );
    return () => window.clearTimeout(timer);
  }, [chosen, asOf, navigate]);
  const choose = useCallback(
    (position: bigint) => {
      const isLast = position === life.at(-1)?.position;
      setChoice({ asOf: isLast ? '' : String(position), insteadOf: asOf });
    },
    [life, asOf],
  );
  const show = useCallback((next: number) => choose(positionAt(life, next)), [choose, life]);
  const step = useCallback((next: number) => choose(positionTowards(life, index, next)), [choose, life, index]);
  return { index, show, step };
};
