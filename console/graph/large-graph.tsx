import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from 'react';

import { toneOf } from '../look/phases.js';
import type { Positions } from './positions.js';
import { layersOf } from './layers.js';
import type { Drawing } from './paint.js';
import { Surface } from './surface.js';
import { moved, type Point, zoomed } from './view.js';
import type { ShownWorkflow } from './shown-workflow.js';

const ZOOM_STEP = 1.4;
/** The turn of a wheel that doubles the size. */
const DOUBLING_PX = 400;
const ARROW_PX = 80;
/** A press that moves the pointer by less is a click. */
const CLICK_PX = 4;

const drawingOf = ({ elements, phases, chosen }: ShownWorkflow, positions: Positions): Drawing => {
  const nodes = elements.nodes.flatMap(({ id, name, kind, detail }) => {
    const at = positions.get(id);
    if (!at) return [];
    const phase = phases?.get(id);
    const text = [kind, detail].filter(Boolean).join(' · ');
    return [{ id, name, detail: text, tone: phase === undefined ? undefined : toneOf(phase), ...at }];
  });
  const lines = elements.lines.flatMap(({ from, to }) => {
    const [begin, end] = [positions.get(from), positions.get(to)];
    return begin && end ? [{ from: begin, to: end }] : [];
  });
  return { nodes, lines, chosen };
};

const ARROWS: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: ARROW_PX, y: 0 },
  ArrowRight: { x: -ARROW_PX, y: 0 },
  ArrowUp: { x: 0, y: ARROW_PX },
  ArrowDown: { x: 0, y: -ARROW_PX },
};

const zoom = (surface: Surface | undefined, factor: number): void =>
  surface?.change((view) => zoomed(view, factor, surface.middle()));

const byKey = (surface: Surface | undefined, event: KeyboardEvent): void => {
  if (event.altKey || event.ctrlKey || event.metaKey) return; // keys of the browser, such as those of its own zoom
  const by = ARROWS[event.key];
  if (by) surface?.change((view) => moved(view, by));
  else if (event.key === '+' || event.key === '-') zoom(surface, event.key === '+' ? ZOOM_STEP : 1 / ZOOM_STEP);
  else return;
  event.preventDefault();
};

/**
 * Listens to the pointer until the returned function is called: it drags the drawing, its wheel zooms, and a click
 * chooses a node.
 */
const followPointer = (canvas: HTMLCanvasElement, surface: Surface, choose: (nodeId: string) => void): (() => void) => {
  const listening = new AbortController();
  const { signal } = listening;
  let pressed: Point | undefined;
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    surface.change((view) => zoomed(view, 2 ** (-event.deltaY / DOUBLING_PX), { x: event.offsetX, y: event.offsetY }));
  };
  const down = (event: PointerEvent): void => {
    canvas.setPointerCapture(event.pointerId);
    pressed = { x: event.offsetX, y: event.offsetY };
  };
  const move = ({ movementX, movementY }: PointerEvent): void => {
    if (pressed) surface.change((view) => moved(view, { x: movementX, y: movementY }));
  };
  const up = ({ offsetX: x, offsetY: y }: PointerEvent): void => {
    const nodeId =
      pressed && Math.hypot(x - pressed.x, y - pressed.y) < CLICK_PX ? surface.nodeAt({ x, y }) : undefined;
    pressed = undefined;
    if (nodeId !== undefined) choose(nodeId);
  };
  canvas.addEventListener('wheel', wheel, { signal, passive: false });
  canvas.addEventListener('pointerdown', down, { signal });
  canvas.addEventListener('pointermove', move, { signal });
  canvas.addEventListener('pointerup', up, { signal });
  canvas.addEventListener('pointercancel', () => (pressed = undefined), { signal });
  return () => listening.abort();
};

type LargeGraphProps = ShownWorkflow & { readonly choose: ((nodeId: string) => void) | undefined };

/** A graph with more nodes than elements of a page can show: painted on a canvas, laid out in one pass. */
export const LargeGraph = ({ elements, phases, chosen, choose }: LargeGraphProps): ReactNode => {
  const canvas = useRef<HTMLCanvasElement>(null);
  const surface = useRef<Surface>(undefined);
  const chosenBy = useRef(choose);
  const positions = useMemo(() => layersOf(elements), [elements]);
  const drawing = useMemo(
    () => drawingOf({ elements, phases, chosen }, positions),
    [elements, phases, chosen, positions],
  );
  useEffect(() => {
    if (!canvas.current) return undefined;
    const opened = new Surface(canvas.current);
    surface.current = opened;
    const ignore = followPointer(canvas.current, opened, (nodeId) => chosenBy.current?.(nodeId));
    return () => {
      ignore();
      opened.close();
    };
  }, []);
  useEffect(() => {
    chosenBy.current = choose;
    surface.current?.show(drawing);
  }, [drawing, choose]);
  return (
    <div className="large-graph">
      <canvas
        ref={canvas}
        role="img"
        tabIndex={0}
        aria-label={`A graph of ${drawing.nodes.length} nodes. Arrows move it, plus and minus zoom.`}
        onKeyDown={(event) => byKey(surface.current, event)}
      />
      <div className="beside">
        <button type="button" className="button" onClick={() => zoom(surface.current, ZOOM_STEP)} aria-label="Zoom in">
          +
        </button>
        <button
          type="button"
          className="button"
          onClick={() => zoom(surface.current, 1 / ZOOM_STEP)}
          aria-label="Zoom out"
        >
          −
        </button>
        <button type="button" className="button" onClick={() => surface.current?.showAll()}>
          Whole graph
        </button>
      </div>
    </div>
  );
};
