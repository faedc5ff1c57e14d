import { comments } from '../../../proto/gen/comments.js';
import { readBindings } from '../../../services/gateway/rest/bindings.js';
import { type Endpoint, isBuilt, type RouteTable } from '../../../services/gateway/routes.js';
import { markdownTable } from '../../support/documents/markdown-table.js';

const BEGIN = '<!-- derived from the route table: npm run coverage -->';
const END = '<!-- end of what is derived -->';

/** The endpoints by the name of their service. */
const services = (routes: RouteTable): Map<string, Endpoint[]> => {
  const byService = new Map<string, Endpoint[]>();
  for (const endpoint of routes) {
    const { name } = endpoint.method.parent;
    byService.set(name, [...(byService.get(name) ?? []), endpoint]);
  }
  return byService;
};

const FIELD = /\{([\w.]+)\}/gu;

/** The last words of a field's path. */
const lastOf = (path: string, words: number): string => path.split('.').slice(-words).join('.');

/** A path with its fields by their last word, or by the last two where two fields have the same last word. */
const shortPath = (template: string): string => {
  const names = [...template.matchAll(FIELD)].map(([, path = '']) => lastOf(path, 1));
  const isTwice = (name: string): boolean => names.indexOf(name) !== names.lastIndexOf(name);
  return template.replaceAll(FIELD, (_, path: string) => `{${lastOf(path, isTwice(lastOf(path, 1)) ? 2 : 1)}}`);
};

/** The first sentence of the RPC's comment in the proto files. */
const meaningOf = ({ method }: Endpoint): string => {
  const comment = comments[`${method.parent.typeName}.${method.name}`] ?? '';
  return (comment.split(/\.(?:\s|$)/u, 1)[0] ?? '').replaceAll(/\s+/gu, ' ');
};

/** The text that the route table gives: a count, and a table for each service. */
const derived = (routes: RouteTable): string => {
  const bindings = readBindings(routes);
  const rest = (endpoint: Endpoint) =>
    bindings
      .filter((binding) => binding.endpoint === endpoint)
      .map(({ verb, template }) => `\`${verb} ${shortPath(template)}\``)
      .join(', ');
  const section = ([service, endpoints]: [string, Endpoint[]]): string => {
    const rows = endpoints.map((endpoint) => [
      endpoint.method.name,
      meaningOf(endpoint),
      isBuilt(endpoint) ? 'built' : 'UNIMPLEMENTED',
      rest(endpoint) || 'gRPC only',
    ]);
    const count = `${endpoints.filter(isBuilt).length} of ${endpoints.length}`;
    return `### ${service}: ${count}\n\n${markdownTable(['RPC', 'does or gives', 'state', 'REST'], rows)}`;
  };
  const count = `${routes.filter(isBuilt).length} of ${routes.length} RPCs are built.`;
  return [count, ...[...services(routes)].map(section)].join('\n\n');
};

/** Replaces the derived section of the document by one made from the route table; the rest stays as it is. */
export const withDerivedPart = (page: string, routes: RouteTable): string => {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new Error(`the document has no section between ${BEGIN} and ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${derived(routes)}\n\n${page.slice(end)}`;
};

const RPC = /`((?:\w+Service\.)?(?:Create|Get|List|Update|Terminate|Relaunch|Recover|Register|User)[A-Z]\w+)`/g;

/**
 * The RPCs that {@link RPC} finds in the text before the derived section, as `Service.Rpc`; of AdminService when the
 * text names no service.
 */
export const namedRpcs = (page: string): readonly string[] => {
  const written = page.slice(0, page.indexOf(BEGIN));
  return [...written.matchAll(RPC)].map(([, name = '']) => (name.includes('.') ? name : `AdminService.${name}`));
};
