import { type KeyboardEvent, type PointerEvent, useState } from 'react';

/** The slices of a chart from `first` to `last`, both included; slices are counted from 0. */
export type SliceRange = { readonly first: number; readonly last: number };

/** The slice where a choice began, and the slice that it has reached, which may be an earlier one. */
type Span = { readonly from: number; readonly to: number };

const rangeOf = ({ from, to }: Span): SliceRange => ({ first: Math.min(from, to), last: Math.max(from, to) });

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
  Record<'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerLeave' | 'onPointerCancel', PointerHandler>
> & {
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
  readonly onBlur: () => void;
};

/** The slices that a person is choosing; `at` is the slice that the choice has reached last. */
type Brush = { readonly brushed: SliceRange | undefined; readonly at: number | undefined; readonly handlers: Handlers };

/**
 * Lets a person choose slices of equal width: by a click, by dragging over them, or by arrow keys and Enter. With
 * Shift, an arrow key extends the choice; Escape cancels it.
 */
export const useBrush = (slices: number, choose: (range: SliceRange) => void): Brush => {
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
        if (event.button !== 0) return; // another button, such as the one that opens a menu
        setDragging(true);
        setSpan({ from: sliceAt(event), to: sliceAt(event) });
      },
      onPointerMove: (event) => {
        if (isDragging && span) setSpan({ ...span, to: sliceAt(event) });
      },
      onPointerUp: () => {
        if (isDragging) end(true);
      },
      onPointerCancel: () => end(false), // the browser scrolls instead
      onPointerLeave: () => {
        if (isDragging) end(span?.from !== span?.to);
      },
      onKeyDown: press,
      onBlur: () => end(false),
    },
  };
};
