import { type Colours, coloursOf, whenColoursChange } from './colours.js';
import { NODE } from './positions.js';
import { type Drawing, paint } from './paint.js';
import { type Box, fitted, type Point, pointAt, type Size, type View } from './view.js';

const boundsOf = ({ nodes }: Drawing): Box =>
  nodes.reduce(
    ({ left, top, right, bottom }, { x, y }) => ({
      left: Math.min(left, x),
      top: Math.min(top, y),
      right: Math.max(right, x + NODE.width),
      bottom: Math.max(bottom, y + NODE.height),
    }),
    { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity },
  );

const EMPTY: Drawing = { nodes: [], lines: [], chosen: undefined };

/** A canvas with a drawing and the part of it that is shown; it is painted at most once a frame. */
export class Surface {
  readonly #canvas: HTMLCanvasElement;
  readonly #size: ResizeObserver;
  readonly #stopFollowingColours: () => void;
  #drawing = EMPTY;
  /** `undefined` shows the whole drawing. */
  #view: View | undefined;
  #colours: Colours | undefined;
  #frame = 0;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#size = new ResizeObserver(() => this.#repaint());
    this.#size.observe(canvas);
    this.#stopFollowingColours = whenColoursChange(() => {
      this.#colours = undefined;
      this.#repaint();
    });
  }

  show(drawing: Drawing): void {
    this.#drawing = drawing;
    this.#repaint();
  }

  showAll(): void {
    this.#view = undefined;
    this.#repaint();
  }

  change(next: (view: View) => View): void {
    this.#view = next(this.#shown());
    this.#repaint();
  }

  /** The id of the node under a pixel. */
  nodeAt(pixel: Point): string | undefined {
    const { x, y } = pointAt(this.#shown(), pixel);
    return this.#drawing.nodes.find(
      (node) => x >= node.x && x <= node.x + NODE.width && y >= node.y && y <= node.y + NODE.height,
    )?.id;
  }

  /** The pixel in the middle of the canvas, about which the buttons and keys zoom. */
  middle(): Point {
    const { width, height } = this.#dimensions();
    return { x: width / 2, y: height / 2 };
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#size.disconnect();
    this.#stopFollowingColours();
  }

  #dimensions(): Size {
    return { width: this.#canvas.clientWidth, height: this.#canvas.clientHeight };
  }

  #shown(): View {
    return this.#view ?? fitted(boundsOf(this.#drawing), this.#dimensions());
  }

  #repaint(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #paint(): void {
    const context = this.#canvas.getContext('2d');
    const size = this.#dimensions();
    if (!context || size.width === 0 || this.#drawing.nodes.length === 0) return;
    this.#canvas.width = size.width * devicePixelRatio;
    this.#canvas.height = size.height * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    this.#colours ??= coloursOf(this.#canvas);
    paint(context, this.#drawing, { view: this.#shown(), size, colours: this.#colours });
  }
}
