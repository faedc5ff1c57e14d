import type { Tone } from '../look/phases.js';

/** The colours of the theme and its font, as a canvas takes them. */
export type Colours = {
  readonly line: string;
  readonly ink: string;
  readonly quiet: string;
  readonly surface: string;
  readonly accent: string;
  readonly font: string;
  readonly tones: Readonly<Record<Tone, { readonly edge: string; readonly ground: string }>>;
};

/** The colours and font of the theme that an element is shown in. A canvas does not know variables of style sheets. */
export const coloursOf = (element: HTMLElement): Colours => {
  const style = getComputedStyle(element);
  const valueOf = (variable: string): string => {
    element.style.color = `var(--${variable})`;
    return style.color;
  };
  const toneOf = (tone: Tone) => ({ edge: valueOf(tone), ground: valueOf(`${tone}-ground`) });
  const colours = {
    line: valueOf('line'),
    ink: valueOf('ink'),
    quiet: valueOf('quiet'),
    surface: valueOf('surface'),
    accent: valueOf('accent'),
    font: style.fontFamily,
    tones: {
      waiting: toneOf('waiting'),
      running: toneOf('running'),
      good: toneOf('good'),
      bad: toneOf('bad'),
      stopped: toneOf('stopped'),
      skipped: toneOf('skipped'),
    },
  };
  element.style.removeProperty('color');
  return colours;
};

/** Calls back when the person or the system changes the theme, until the returned function is called. */
export const whenColoursChange = (changed: () => void): (() => void) => {
  const ofPerson = new MutationObserver(changed);
  ofPerson.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const ofSystem = matchMedia('(prefers-color-scheme: dark)');
  ofSystem.addEventListener('change', changed);
  return () => {
    ofPerson.disconnect();
    ofSystem.removeEventListener('change', changed);
  };
};
