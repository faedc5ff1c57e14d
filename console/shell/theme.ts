import { useState } from 'react';
import { storedValue, storeValue } from './browser-storage.js';

const KEY = 'flightlog.theme';

/** Light or dark; without a choice, as the system has it. */
export type Theme = 'light' | 'dark';

const preferred = (): Theme => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

const chosen = (): Theme | undefined => {
  const value = storedValue(KEY);
  return value === 'light' || value === 'dark' ? value : undefined;
};

const apply = (theme: Theme): void => {
  document.documentElement.dataset['theme'] = theme;
};

/** Applies the choice of an earlier visit; called before anything is rendered. */
export const applyChosenTheme = (): void => {
  const theme = chosen();
  if (theme) apply(theme);
};

/** The theme, and a function that switches to the other. */
export const useTheme = (): readonly [Theme, () => void] => {
  const [theme, setTheme] = useState(() => chosen() ?? preferred());
  const toggle = (): void => {
    const next = theme === 'dark' ? 'light' : 'dark';
    storeValue(KEY, next);
    apply(next);
    setTheme(next);
  };
  return [theme, toggle];
};
