import { type PointerEvent, useState } from 'react';

/** Slices of a chart from the first to the last, which is one of them. */
export type Range = { readonly first: number; readonly last: number };

type Drag = { readonly from: number; readonly to: number };

const rangeOf = ({ from, to }: Drag): Range => ({ first: Math.min(from, to), last: Math.max(from, to) });

type Handlers = Readonly<
  Record<
    'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerLeave',
    (event: PointerEvent<HTMLElement>) => void
  >
>;

/** Lets slices of equal width be chosen by dragging over them; one alone is left to its click. */
export const useBrush = (
  slices: number,
  choose: (range: Range) => void,
): { readonly brushed: Range | undefined; readonly handlers: Handlers } => {
  const [drag, setDrag] = useState<Drag | undefined>();
  const sliceAt = ({ currentTarget, clientX }: PointerEvent<HTMLElement>): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(slices - 1, Math.max(0, Math.floor(((clientX - left) / width) * slices)));
  };
  const end = (): void => {
    setDrag(undefined);
    if (drag && drag.from !== drag.to) choose(rangeOf(drag));
  };
  return {
    brushed: drag && rangeOf(drag),
    handlers: {
      onPointerDown: (event) => setDrag({ from: sliceAt(event), to: sliceAt(event) }),
      onPointerMove: (event) => drag && setDrag({ ...drag, to: sliceAt(event) }),
      onPointerUp: end,
      onPointerLeave: end,
    },
  };
};
