import { expect, it } from 'vitest';

import { fitted, pointAt, zoomed } from '../../../console/graph/view.js';

/** A point of the page, in pixels. */
const AT = { x: 300, y: 200 };

it('zooming keeps the point of the drawing that is under the pointer', () => {
  const view = { x: 10, y: 20, scale: 0.5 };
  const larger = zoomed(view, 2, AT);
  expect(larger.scale).toBe(1);
  expect(pointAt(larger, AT)).toEqual(pointAt(view, AT));
});

it('zooming out ends at the scale 0.01 and zooming in at 2, and zooming out never makes a smaller drawing larger', () => {
  const whole = fitted({ left: 0, top: 0, right: 190, bottom: 100_000 }, { width: 600, height: 400 });
  expect(whole.scale).toBeLessThan(0.01);
  expect(zoomed(whole, 0.5, AT).scale).toBe(whole.scale);
  expect(zoomed(whole, 2, AT).scale).toBe(whole.scale * 2);
  expect(zoomed({ x: 0, y: 0, scale: 0.012 }, 0.5, AT).scale).toBe(0.01);
  expect(zoomed({ x: 0, y: 0, scale: 1.5 }, 2, AT).scale).toBe(2);
});
