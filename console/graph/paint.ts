import type { Tone } from '../look/phases.js';
import type { Colours } from './colours.js';
import { NODE } from './positions.js';
import { pointAt, type Point, type Size, type View } from './view.js';

/** A node of a large graph, with its place in the drawing; without a tone where it was not reported. */
export type PlacedNode = Point & {
  readonly id: string;
  readonly name: string;
  readonly detail: string;
  readonly tone: Tone | undefined;
};

/** A line between two nodes. */
type PlacedLine = { readonly from: Point; readonly to: Point };

export type Drawing = {
  readonly nodes: readonly PlacedNode[];
  readonly lines: readonly PlacedLine[];
  readonly chosen: string | undefined;
};

/** Texts are painted from this scale on: smaller ones cannot be read, and cost most of the time. */
const READABLE_SCALE = 0.35;
const INSET = 12;
const RADIUS = 10;

const TONES = ['waiting', 'running', 'good', 'bad', 'stopped', 'skipped', undefined] as const;

type Painted = { readonly context: CanvasRenderingContext2D; readonly colours: Colours; readonly scale: number };

const paintLines = ({ context, colours, scale }: Painted, lines: readonly PlacedLine[]): void => {
  context.beginPath();
  for (const { from, to } of lines) {
    context.moveTo(from.x + NODE.width, from.y + NODE.height / 2);
    context.lineTo(to.x, to.y + NODE.height / 2);
  }
  context.lineWidth = Math.max(1.5, 0.5 / scale);
  context.strokeStyle = colours.line;
  context.stroke();
};

const paintBoxes = (
  { context, colours, scale }: Painted,
  nodes: readonly PlacedNode[],
  tone: Tone | undefined,
): void => {
  const { edge, ground } = tone === undefined ? { edge: colours.quiet, ground: colours.surface } : colours.tones[tone];
  const isDetailed = scale >= READABLE_SCALE;
  context.beginPath();
  for (const { x, y } of nodes)
    if (isDetailed) context.roundRect(x, y, NODE.width, NODE.height, RADIUS);
    else context.rect(x, y, NODE.width, NODE.height);
  context.fillStyle = isDetailed ? ground : edge;
  context.fill();
  if (!isDetailed) return;
  context.lineWidth = 1.5;
  context.strokeStyle = edge;
  context.stroke();
};

const fittedText = (context: CanvasRenderingContext2D, text: string): string => {
  const most = NODE.width - 2 * INSET;
  const { width } = context.measureText(text);
  return width <= most ? text : `${text.slice(0, Math.floor((text.length * most) / width) - 1)}…`;
};

const paintTexts = ({ context, colours }: Painted, nodes: readonly PlacedNode[]): void => {
  for (const [font, colour, field, down] of [
    [`650 13px ${colours.font}`, colours.ink, 'name', 25],
    [`11.5px ${colours.font}`, colours.quiet, 'detail', 43],
  ] as const) {
    context.font = font;
    context.fillStyle = colour;
    for (const node of nodes) context.fillText(fittedText(context, node[field]), node.x + INSET, node.y + down);
  }
};

const paintChosen = ({ context, colours, scale }: Painted, { x, y }: Point): void => {
  context.lineWidth = Math.max(3, 2 / scale);
  context.strokeStyle = colours.accent;
  context.strokeRect(x - 3, y - 3, NODE.width + 6, NODE.height + 6);
};

/** Paints the part of a large graph that is in view. */
export const paint = (
  context: CanvasRenderingContext2D,
  drawing: Drawing,
  { view, size, colours }: { readonly view: View; readonly size: Size; readonly colours: Colours },
): void => {
  const from = pointAt(view, { x: 0, y: 0 });
  const to = pointAt(view, { x: size.width, y: size.height });
  const inView = drawing.nodes.filter(
    ({ x, y }) => x + NODE.width >= from.x && x <= to.x && y + NODE.height >= from.y && y <= to.y,
  );
  const painted = { context, colours, scale: view.scale };
  context.clearRect(0, 0, size.width, size.height);
  context.save();
  context.translate(view.x, view.y);
  context.scale(view.scale, view.scale);
  paintLines(
    painted,
    drawing.lines.filter(
      (line) =>
        line.from.x <= to.x &&
        line.to.x + NODE.width >= from.x &&
        Math.min(line.from.y, line.to.y) <= to.y &&
        Math.max(line.from.y, line.to.y) + NODE.height >= from.y,
    ),
  );
  for (const tone of TONES)
    paintBoxes(
      painted,
      inView.filter((node) => node.tone === tone),
      tone,
    );
  if (view.scale >= READABLE_SCALE) paintTexts(painted, inView);
  for (const node of inView) if (node.id === drawing.chosen) paintChosen(painted, node);
  context.restore();
};
