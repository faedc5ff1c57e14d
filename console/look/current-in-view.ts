import { type RefObject, useEffect, useRef } from 'react';

/**
 * Scrolls a row of links sideways, so that the link of the current view is in sight.
 *
 * @param current changes with the current view.
 */
export const useCurrentInView = (current: string): RefObject<HTMLElement | null> => {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    const link = row.current?.querySelector<HTMLElement>('[aria-current]');
    if (row.current && link)
      row.current.scrollLeft += link.getBoundingClientRect().left - row.current.getBoundingClientRect().left - 24;
  }, [current]);
  return row;
};
