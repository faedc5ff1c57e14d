import { isDeepStrictEqual } from 'node:util';
import type { GivenSetting } from './configuration.js';
import { allSettings, type Setting } from './sources.js';

/** The defaults that the help leaves out. */
const UNSHOWN: readonly unknown[] = [undefined, '', false, {}, []];

/** The note with a default as the file would have it; empty for the defaults that the help leaves out. */
const written = (value: unknown): string => {
  if (UNSHOWN.some((each) => isDeepStrictEqual(each, value))) return '';
  return ` (default ${typeof value === 'string' ? value : JSON.stringify(value)})`;
};

const widthOf = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length)) + 2;

const KEY_WIDTH = widthOf(allSettings.map(({ path }) => path.join('.')));
const VARIABLE_WIDTH = widthOf(allSettings.map(({ variable }) => variable));

const line = ({ path, variable, description, byDefault }: Setting, defaults: readonly GivenSetting[]): string => {
  const key = path.join('.');
  const commandDefault = defaults.find((each) => each.path.join('.') === key);
  return `  ${key.padEnd(KEY_WIDTH)}${variable.padEnd(VARIABLE_WIDTH)}${description.replaceAll('`', '')}${written(commandDefault === undefined ? byDefault : commandDefault.value)}`;
};

/** The help text with the table of all settings; `defaults` of the command have precedence over those of the schema. */
export const settingsHelp = (defaults: readonly GivenSetting[]): string => `
Every setting can stand in the file that --config or FLIGHTLOG_CONFIG names (YAML or JSON), or in the environment;
flags win over the environment, and the environment over the file:

${allSettings.map((setting) => line(setting, defaults)).join('\n')}
`;

/** The help text with the settings that a command has flags for, by their paths; it may use other settings, too. */
export const settingsOfFlags = (paths: readonly (readonly string[])[]): string => {
  const needed = allSettings.filter(({ path }) => paths.some((each) => each.join('.') === path.join('.')));
  const lines = needed.map(({ path, variable }) => `  ${path.join('.').padEnd(KEY_WIDTH)}${variable}`);
  return `
Of the flags above, these settings can also stand in the file that --config or FLIGHTLOG_CONFIG names (YAML or JSON),
or in the environment:

${lines.join('\n')}
`;
};
