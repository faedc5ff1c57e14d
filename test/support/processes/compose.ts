import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

import { CHECKOUT } from './command.js';

/** A service of docker-compose.yml, with the values that it merges from anchors. */
export type ComposeService = {
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly aliases?: readonly string[] } | null>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly deploy?: { readonly resources?: { readonly limits?: Readonly<Record<string, string>> } };
};

export type ComposeFile = {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly configs: Readonly<Record<string, { readonly file: string }>>;
};

/** A file of this repository, as text. */
export const fileText = (path: string): string => readFileSync(join(CHECKOUT, path), 'utf8');

export const composeFile = (): ComposeFile => parse(fileText('docker-compose.yml'), { merge: true }) as ComposeFile;

/** The services that start with these profiles, with their names. */
export const servicesOf = (
  { services }: ComposeFile,
  profiles: readonly string[],
): readonly [string, ComposeService][] =>
  Object.entries(services).filter(([, service]) => service.profiles?.some((each) => profiles.includes(each)) ?? true);

type Attached = Readonly<Record<string, { readonly aliases?: readonly string[] } | null>>;

/** The networks that a service is on, with its aliases there. */
export const networksOf = ({ networks = {} }: ComposeService): Attached =>
  Array.isArray(networks)
    ? Object.fromEntries((networks as readonly string[]).map((name) => [name, null]))
    : (networks as Attached);

/** The names by which other services reach a service. */
export const namesOf = (name: string, service: ComposeService): readonly string[] => [
  name,
  ...Object.values(networksOf(service)).flatMap((network) => network?.aliases ?? []),
];
