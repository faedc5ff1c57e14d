import { type KeyboardEvent, type PointerEvent, useState } from 'react';

/** Slices of a chart from the first to the last, which is one of them. */
export type Range = { readonly first: number; readonly last: number };

/** The slice where a choice began, and the one that it has reached, before or after it. */
type Span = { readonly from: number; readonly to: number };

const rangeOf = ({ from, to }: Span): Range => ({ first: Math.min(from, to), last: Math.max(from, to) });

/** The keys that move a choice, with the slices that each moves by. */
const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

/** Moves a choice by some slices, or extends it; the first step chooses a slice at an end of the chart. */
const moved = (
  span: Span | undefined,
  { step, isExtended, slices }: { readonly step: number; readonly isExtended: boolean; readonly slices: number },
): Span => {
  const start = span?.to ?? (step > 0 ? -1 : slices);
  const to = Math.min(slices - 1, Math.max(0, start + step));
  return { from: isExtended && span ? span.from : to, to };
};

type PointerHandler = (event: PointerEvent<HTMLElement>) => void;

/** The listeners of the element that contains the slices. */
type Handlers = Readonly<
  Record<'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerLeave', PointerHandler>
> & {
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
  readonly onBlur: () => void;
};

/** The slices that are being chosen; `at` is the one that was reached last. */
type Brush = { readonly brushed: Range | undefined; readonly at: number | undefined; readonly handlers: Handlers };

/**
 * Lets slices of equal width be chosen: by a click, by dragging over them, or by arrow keys, which Shift lets extend the
 * choice, and Enter. Escape takes it back.
 */
export const useBrush = (slices: number, choose: (range: Range) => void): Brush => {
  const [span, setSpan] = useState<Span | undefined>();
  const [isDragging, setDragging] = useState(false);
  const sliceAt = ({ currentTarget, clientX }: PointerEvent<HTMLElement>): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(slices - 1, Math.max(0, Math.floor(((clientX - left) / width) * slices)));
  };
  const end = (isChosen: boolean): void => {
    setDragging(false);
    setSpan(undefined);
    if (isChosen && span) choose(rangeOf(span));
  };
  const press = (event: KeyboardEvent<HTMLElement>): void => {
    const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
    if (altKey || ctrlKey || metaKey) return; // keys of the browser, such as Alt and an arrow, which goes back
    const step = STEPS[key];
    if (step === undefined && !(span && (key === 'Enter' || key === 'Escape'))) return;
    event.preventDefault();
    if (step === undefined) end(key === 'Enter');
    else setSpan(moved(span, { step, isExtended: shiftKey, slices }));
  };
  return {
    brushed: span && rangeOf(span),
    at: span?.to,
    handlers: {
      onPointerDown: (event) => {
        setDragging(true);
        setSpan({ from: sliceAt(event), to: sliceAt(event) });
      },
      onPointerMove: (event) => {
        if (isDragging && span) setSpan({ ...span, to: sliceAt(event) });
      },
      onPointerUp: () => {
        if (isDragging) end(true);
      },
      onPointerLeave: () => {
        if (isDragging) end(span?.from !== span?.to);
      },
      onKeyDown: press,
      onBlur: () => end(false),
    },
  };
};
