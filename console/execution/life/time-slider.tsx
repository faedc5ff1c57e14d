import { Slider } from 'radix-ui';
import { type ReactNode, useEffect, useRef, useState } from 'react';

import type { Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { phaseText, toneOf } from '../../look/phases.js';
import { clockText, msOf } from '../../look/times.js';
import { TransitionFacts } from './transition-facts.js';
import { subjectOf } from './transitions.js';

const PLAY_MS = 250;
/** A long life is played several transitions at a time, so that a play takes about a minute at most. */
const MAX_STRIDES = 240;
const PERCENT = 100;
const MAX_TICKS = 400;

type TimeSliderProps = {
  readonly life: readonly Transition[];
  /** The index in `life` of the transition that is shown. */
  readonly index: number;
  /** Steps towards the transition at an index. */
  readonly step: (index: number) => void;
  /** False while older transitions are still being read. */
  readonly isWhole: boolean;
};

const usePlay = ({ life, index, step }: Omit<TimeSliderProps, 'isWhole'>): readonly [boolean, () => void] => {
  const [isPlaying, setPlaying] = useState(false);
  const last = life.length - 1;
  const isOver = index >= last;
  const stride = Math.ceil(life.length / MAX_STRIDES);
  // `step` changes with the address of the page, which must not restart the timer of the next step.
  const latestStep = useRef(step);
  useEffect(() => {
    latestStep.current = step;
  }, [step]);
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (isOver) {
      setPlaying(false);
      return undefined;
    }
    const timer = window.setTimeout(() => latestStep.current(Math.min(last, index + stride)), PLAY_MS);
    return () => window.clearTimeout(timer);
  }, [isPlaying, isOver, index, last, stride]);
  const toggle = (): void => {
    if (!isPlaying && isOver) step(0);
    setPlaying(!isPlaying);
  };
  return [isPlaying, toggle];
};

const Ticks = ({ life }: { readonly life: readonly Transition[] }): ReactNode => {
  const step = Math.max(1, Math.ceil(life.length / MAX_TICKS));
  return life.map((transition, index) =>
    index % step === 0 ? (
      <span
        key={`${transition.position} ${transition.nodeId} ${transition.entity} ${transition.attempt}`}
        className={`tick tone-${toneOf(transition.phase)}`}
        style={{ left: `${(index / Math.max(1, life.length - 1)) * PERCENT}%` }}
      />
    ) : null,
  );
};

/** Moves through the life of an execution, from transition to transition. */
export const TimeSlider = (props: TimeSliderProps): ReactNode => {
  const { life, index, step, isWhole } = props;
  const [isPlaying, toggle] = usePlay(props);
  const shown = life[index];
  if (!shown) return null;
  const text = `${clockText(msOf(shown.recordedAt) ?? 0)}: ${subjectOf(shown)} ${phaseText(shown.phase)}`;
  return (
    <div className="card slider-card">
      <div className="beside">
        <button
          type="button"
          className="button"
          disabled={index === 0}
          onClick={() => step(index - 1)}
          aria-label="One event back"
        >
          ‹
        </button>
        <button type="button" className="button main" onClick={toggle}>
          {isPlaying ? 'Pause' : 'Play'}
        </button>
        <button
          type="button"
          className="button"
          disabled={index >= life.length - 1}
          onClick={() => step(index + 1)}
          aria-label="One event on"
        >
          ›
        </button>
        <output className="mono">
          {index + 1} of {life.length} · {text}
        </output>
        {!isWhole && <span className="quiet">Reading older events …</span>}
      </div>
      <Slider.Root
        className="slider"
        min={0}
        max={Math.max(1, life.length - 1)}
        value={[index]}
        onValueChange={([next = 0]) => step(next)}
      >
        <Slider.Track className="slider-track">
          <Slider.Range className="slider-range" />
          <Ticks life={life} />
        </Slider.Track>
        <Slider.Thumb className="slider-thumb" aria-label="Moment of the execution" aria-valuetext={text} />
      </Slider.Root>
      <TransitionFacts transition={shown} />
    </div>
  );
};
