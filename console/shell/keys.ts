import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

import type { Scope } from '../server/ids.js';

/** Longest time between `g` and the key after it. */
const TOGETHER_MS = 900;

/** Before any key: times of events count from the start of the page, so 0 is too late for the first keys. */
const NEVER = -Infinity;

/** The second key after `g`, and where it leads in a project and domain. */
const PLACES: Readonly<Record<string, string>> = {
  e: 'executions',
  w: 'workflows',
  t: 'tasks',
  l: 'launch_plans',
  s: 'schedules',
  m: 'attributes',
};

/** Keys with their meaning, for the help. */
export const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['?', 'this help'],
  ['g h', 'home'],
  ['g e', 'executions'],
  ['g w', 'workflows'],
  ['g t', 'tasks'],
  ['g l', 'launch plans'],
  ['g s', 'schedules'],
  ['g m', 'attributes (matchable)'],
  ['g v', 'events of the log'],
  ['g a', 'audit'],
  ['g o', 'operate'],
];

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(target.tagName));

/**
 * True while a dialog is open, wherever the focus is: a button of the dialog that is disabled while its action is sent
 * loses the focus to the page.
 */
const isDialogOpen = (): boolean => document.querySelector('[role="dialog"]') !== null;

type Actions = { readonly search: () => void; readonly help: () => void };

/** Listens for the keys of the page. */
export const useKeys = (scope: Scope | undefined, { search, help }: Actions): void => {
  const navigate = useNavigate();
  const prefixAt = useRef(NEVER); // the time of the last `g`
  useEffect(() => {
    const go = (key: string): void => {
      if (key === 'h') void navigate({ to: '/' });
      else if (key === 'v') void navigate({ to: '/events' });
      else if (key === 'a') void navigate({ to: '/audit' });
      else if (key === 'o') void navigate({ to: '/operate' });
      else if (PLACES[key] !== undefined && scope)
        void navigate({ to: `/projects/$project/domains/$domain/${PLACES[key]}`, params: scope } as never);
    };
    const pressed = (event: KeyboardEvent): void => {
      if (isTyping(event) || isDialogOpen() || event.ctrlKey || event.metaKey || event.altKey) return;
      const isSecond = event.timeStamp - prefixAt.current < TOGETHER_MS;
      prefixAt.current = event.key === 'g' ? event.timeStamp : NEVER;
      if (isSecond) go(event.key);
      else if (event.key === '/') {
        event.preventDefault();
        search();
      } else if (event.key === '?') help();
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, [navigate, scope, search, help]);
};
