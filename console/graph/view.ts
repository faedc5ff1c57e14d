/** The part of a drawing that is shown: the pixel of its origin, and the pixels of one of its units. */
export type View = { readonly x: number; readonly y: number; readonly scale: number };

/** A rectangle; a size is one that begins at the origin. */
export type Box = { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number };
export type Size = { readonly width: number; readonly height: number };
export type Point = { readonly x: number; readonly y: number };

const MIN_SCALE = 0.01;
const MAX_SCALE = 2;
const MARGIN_PX = 24;

/** The view that shows a whole box in the middle, not enlarged. */
export const fitted = ({ left, top, right, bottom }: Box, { width, height }: Size): View => {
  const scale = Math.min(
    1,
    Math.max(1, width - 2 * MARGIN_PX) / Math.max(1, right - left),
    Math.max(1, height - 2 * MARGIN_PX) / Math.max(1, bottom - top),
  );
  return { scale, x: (width - (left + right) * scale) / 2, y: (height - (top + bottom) * scale) / 2 };
};

/**
 * The view that is larger by a factor, with the same part of the drawing under a pixel. The scale stays within limits;
 * one that is below them, as of the view of a whole huge drawing, does not become smaller.
 */
export const zoomed = ({ x, y, scale }: View, factor: number, at: Point): View => {
  const next = Math.min(MAX_SCALE, Math.max(Math.min(MIN_SCALE, scale), scale * factor));
  return { scale: next, x: at.x - ((at.x - x) / scale) * next, y: at.y - ((at.y - y) / scale) * next };
};

export const moved = (view: View, by: Point): View => ({ ...view, x: view.x + by.x, y: view.y + by.y });

/** The point of the drawing that is under a pixel. */
export const pointAt = ({ x, y, scale }: View, at: Point): Point => ({ x: (at.x - x) / scale, y: (at.y - y) / scale });
