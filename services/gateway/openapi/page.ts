/** A page to read the interface and to try it: reads `/openapi.json`, and loads nothing from anywhere else. */
export const openApiPage = String.raw`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>flightlog · interface</title>
<style>
:root { --ink: #1b1f2a; --soft: #667085; --line: #e3e6ec; --paper: #fff; --ground: #f6f7f9; --accent: #3b5bdb;
  --get: #1c7ed6; --post: #2b8a3e; --put: #e67700; --delete: #c92a2a; --mono: ui-monospace, SFMono-Regular, Menlo, monospace }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ee; --soft: #98a2b3; --line: #2c3240; --paper: #171b24;
  --ground: #10131a; --accent: #8da2fb; --get: #4dabf7; --post: #69db7c; --put: #ffa94d; --delete: #ff8787 } }
* { box-sizing: border-box }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground) }
header { position: sticky; top: 0; z-index: 2; display: flex; gap: 16px; align-items: center; padding: 12px 24px;
  background: var(--paper); border-bottom: 1px solid var(--line) }
h1 { font-size: 17px; margin: 0; white-space: nowrap } h1 small { color: var(--soft); font-weight: 400 }
#search { flex: 1; max-width: 520px } header a { color: var(--accent); margin-left: auto; white-space: nowrap }
main { display: grid; grid-template-columns: 320px minmax(0, 1fr); max-width: 1280px; margin: 0 auto }
nav { position: sticky; top: 57px; height: calc(100vh - 57px); overflow: auto; padding: 16px 8px 40px 24px }
nav h2 { font-size: 11px; text-transform: uppercase; letter-spacing: .08em; color: var(--soft); margin: 18px 0 4px }
nav a { display: flex; gap: 8px; align-items: baseline; padding: 3px 8px; border-radius: 6px; color: inherit;
  text-decoration: none; font-size: 13.5px } nav a:hover, nav a[aria-current] { background: var(--line) }
nav a span:last-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.verb { font: 700 10.5px var(--mono); min-width: 46px; text-transform: uppercase }
.get { color: var(--get) } .post { color: var(--post) } .put { color: var(--put) } .delete { color: var(--delete) }
article { padding: 24px 24px 80px } section { background: var(--paper); border: 1px solid var(--line);
  border-radius: 10px; padding: 20px 24px; margin-bottom: 20px }
h2 { font-size: 20px; margin: 0 0 4px } h3 { font-size: 12px; text-transform: uppercase; letter-spacing: .06em;
  color: var(--soft); margin: 20px 0 8px } p { margin: 6px 0 } .path { font: 13.5px var(--mono); overflow-wrap: anywhere }
.soft { color: var(--soft); font-size: 13px } code, pre, textarea { font-family: var(--mono); font-size: 13px }
code { background: var(--ground); padding: 1px 4px; border-radius: 4px }
input, select, textarea { font: inherit; font-size: 14px; color: inherit; background: var(--ground); width: 100%;
  border: 1px solid var(--line); border-radius: 7px; padding: 6px 9px } textarea { font-family: var(--mono); min-height: 190px }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
.fields { display: grid; grid-template-columns: minmax(120px, 240px) minmax(0, 1fr); gap: 8px 16px; align-items: start }
.fields label { font: 13px var(--mono); padding-top: 7px; overflow-wrap: anywhere } .fields b { color: var(--delete) }
button { font: inherit; font-weight: 600; color: #fff; background: var(--accent); border: 0; border-radius: 7px;
  padding: 8px 20px; cursor: pointer; margin-top: 14px } @media (prefers-color-scheme: dark) { button { color: #10131a } }
pre { background: var(--ground); border: 1px solid var(--line); border-radius: 7px; padding: 12px; overflow: auto;
  max-height: 460px; margin: 8px 0; white-space: pre-wrap; overflow-wrap: anywhere }
details > summary { cursor: pointer; color: var(--accent); font-size: 13.5px } .ok { color: var(--post) } .bad { color: var(--delete) }
.tree { margin: 0; padding-left: 16px; list-style: none; border-left: 1px solid var(--line) } .tree li { margin: 4px 0 }
.tree .type { color: var(--soft); font: 12.5px var(--mono) } .tree .name { font: 600 13px var(--mono) }
table { border-collapse: collapse; font-size: 13.5px } td, th { border: 1px solid var(--line); padding: 3px 10px; text-align: left }
@media (max-width: 820px) { main { grid-template-columns: 1fr } nav { position: static; height: auto; max-height: 40vh }
  .fields { grid-template-columns: 1fr; gap: 2px } }
</style>
<header><h1>flightlog <small id="version"></small></h1>
<input id="search" type="search" placeholder="Search operations" aria-label="Search operations" autofocus>
<a href="/openapi.json">openapi.json</a></header>
<main><nav aria-label="Operations"></nav><article aria-live="polite"></article></main>
<script>
'use strict';
const make = (name, attributes, ...inside) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...inside.filter((each) => each !== undefined && each !== null));
  return element;
};
// The little of Markdown that the document uses.
const inline = (text) => text.split(/(\x60[^\x60]+\x60)/).map((part) =>
  part.startsWith('\x60') ? make('code', {}, part.slice(1, -1)) : part);
const prose = (text) => {
  const box = make('div', {});
  for (const block of (text || '').split(/\n\n+/)) {
    const lines = block.split('\n');
    if (lines[0].startsWith('|')) {
      const rows = lines.filter((line) => !/^[| -]+$/.test(line)).map((line) => line.split('|').slice(1, -1));
      box.append(make('table', {}, ...rows.map((row, at) =>
        make('tr', {}, ...row.map((cell) => make(at ? 'td' : 'th', {}, ...inline(cell.trim())))))));
    } else if (lines[0].startsWith('- ')) {
      box.append(make('ul', {}, ...lines.map((line) => make('li', {}, ...inline(line.replace(/^- /, ''))))));
    } else if (block) box.append(make('p', {}, ...inline(block)));
  }
  return box;
};
let api, operations;
const nav = document.querySelector('nav'), article = document.querySelector('article');
const search = document.querySelector('#search');
const resolve = (schema) => {
  let at = schema || {};
  if (at.anyOf) at = at.anyOf[0];
  while (at.$ref) at = at.$ref.split('/').slice(1).reduce((within, key) => within[key], api);
  return at;
};
const refName = (schema) => ((schema.$ref || (schema.anyOf && schema.anyOf[0].$ref) || '').split('/').pop());
const typeName = (schema) => {
  if (schema.type === 'array') return typeName(schema.items || {}) + '[]';
  if (schema.additionalProperties) return 'map of ' + typeName(schema.additionalProperties);
  return refName(schema) || schema.format || [].concat(schema.type || 'any').join(' or ');
};
const tree = (schema) => {
  const inner = resolve(schema.type === 'array' ? schema.items : schema.additionalProperties || schema);
  if (inner.enum) return make('p', { class: 'soft' }, inner.enum.join(' · '));
  const items = Object.entries(inner.properties || {}).map(([name, field]) => {
    const below = resolve(field.type === 'array' ? field.items : field.additionalProperties || field);
    const item = make('li', {}, make('span', { class: 'name' }, name), ' ', make('span', { class: 'type' }, typeName(field)),
      field.description ? make('div', { class: 'soft' }, ...inline(field.description)) : undefined);
    if (below.properties || below.enum) {
      const more = make('details', { ontoggle: () => { if (more.children.length < 2) more.append(tree(field)); } },
        make('summary', {}, below.enum ? 'values' : 'fields'));
      item.append(more);
    }
    return item;
  });
  return make('ul', { class: 'tree' }, ...items);
};
const sample = (schema, depth) => {
  const inner = resolve(schema);
  if (inner.enum) return inner.enum[0];
  if (inner.type === 'array' || inner.additionalProperties) return inner.type === 'array' ? [] : {};
  if (inner.properties && depth < 2) {
    const simple = Object.entries(inner.properties).filter(([, field]) => !/^At most one/.test(field.description || ''));
    return Object.fromEntries(simple.map(([name, field]) => [name, sample(field, depth + 1)]).filter(([, value]) => value !== undefined));
  }
  const type = [].concat(inner.type || [])[0];
  return type === 'string' ? (inner.format || inner.pattern ? undefined : '') : type === 'boolean' ? false : type === 'integer' ? 0 : undefined;
};
const inputFor = (parameter) => {
  const schema = resolve(parameter.schema), id = 'field-' + parameter.name;
  const options = schema.enum || (schema.type === 'boolean' ? ['true', 'false'] : undefined);
  if (!options) return make('input', { id, placeholder: typeName(parameter.schema), title: parameter.description });
  return make('select', { id }, make('option', { value: '' }, '—'), ...options.map((each) => make('option', {}, each)));
};
const show = (operation) => {
  const { verb, path, of } = operation;
  const parameters = (of.parameters || []).map(resolve);
  const inputs = parameters.map((parameter) => [parameter, inputFor(parameter)]);
  const bodySchema = of.requestBody && of.requestBody.content['application/json'].schema;
  const body = bodySchema && make('textarea', { spellcheck: 'false', 'aria-label': 'Body' });
  if (body) body.value = JSON.stringify(sample(bodySchema, 0), null, 2);
  const answer = make('div', {});
  const row = ([parameter, input]) => [make('label', { for: input.id }, parameter.name, parameter.required ? make('b', {}, ' *') : ''),
    make('div', {}, input, parameter.description ? make('div', { class: 'soft' }, ...inline(parameter.description)) : undefined)];
  const group = (title, places) => {
    const rows = inputs.filter(([parameter]) => places.includes(parameter.in)).flatMap(row);
    return rows.length ? [make('h3', {}, title), make('div', { class: 'fields' }, ...rows)] : [];
  };
  const send = async (event) => {
    event.preventDefault();
    const query = new URLSearchParams(), headers = { accept: 'application/json' };
    let url = path;
    for (const [parameter, input] of inputs) {
      const value = input.value;
      if (parameter.in === 'path') url = url.replace('{' + parameter.name + '}', encodeURIComponent(value));
      else if (value === '') continue;
      else if (parameter.in === 'header') headers[parameter.name] = value;
      else if (parameter.schema.type === 'array') for (const each of value.split(',')) query.append(parameter.name, each.trim());
      else query.append(parameter.name, value);
    }
    if (String(query)) url += '?' + query;
    const options = { method: verb.toUpperCase(), headers };
    if (body) { options.body = body.value; headers['content-type'] = 'application/json'; }
    answer.replaceChildren(make('p', { class: 'soft' }, 'Asking…'));
    const startedAt = performance.now();
    try {
      const response = await fetch(url, options);
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it is */ }
      const position = response.headers.get('flightlog-position');
      answer.replaceChildren(make('h3', {}, 'Answer'),
        make('p', {}, make('b', { class: response.ok ? 'ok' : 'bad' }, response.status + ' ' + response.statusText),
          make('span', { class: 'soft' }, '  ' + Math.round(performance.now() - startedAt) + ' ms' + (position ? ' · position ' + position : ''))),
        make('p', { class: 'path soft' }, options.method + ' ' + url), make('pre', {}, shown || 'no content'));
    } catch (error) {
      answer.replaceChildren(make('h3', {}, 'Answer'), make('p', { class: 'bad' }, String(error)));
    }
  };
  const ok = of.responses[200] && of.responses[200].content && of.responses[200].content['application/json'].schema;
  article.replaceChildren(make('section', {},
    make('h2', {}, of.operationId.replace(/^\w+?_/, '').replace(/_\d+$/, '') || of.operationId),
    make('p', { class: 'path' }, make('span', { class: 'verb ' + verb }, verb), ' ', path), prose(of.description || of.summary),
    make('form', { onsubmit: send }, ...group('Path', ['path']), ...group('Query', ['query']),
      ...(body ? [make('h3', {}, 'Body'), body] : []),
      make('details', {}, make('summary', {}, 'Headers'), ...group('', ['header'])),
      make('button', {}, 'Send')), answer),
    make('section', {}, ...(bodySchema ? [make('h3', {}, 'Request · ' + refName(bodySchema)), tree(bodySchema)] : []),
      ...(ok ? [make('h3', {}, 'Answer · ' + refName(ok)), prose(of.responses[200].description), tree(ok)] : [])));
  document.title = of.operationId + ' · flightlog';
};
const list = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = operations.filter(({ text }) => words.every((word) => text.includes(word)));
  nav.replaceChildren(...api.tags.flatMap(({ name }) => {
    const own = found.filter(({ of }) => of.tags[0] === name);
    return own.length ? [make('h2', {}, name), ...own.map(({ verb, of, id }) =>
      make('a', { href: '#' + id, title: of.summary, 'aria-current': location.hash === '#' + id }, make('span', { class: 'verb ' + verb }, verb),
        make('span', {}, of.operationId.replace(/^\w+?_(?=\w)/, ''))))] : [];
  }));
  if (!found.length) nav.append(make('p', { class: 'soft' }, 'Nothing has all of these words.'));
};
const go = () => {
  const operation = operations.find(({ id }) => '#' + id === location.hash);
  if (operation) { show(operation); scrollTo(0, 0); } else article.replaceChildren(make('section', {}, make('h2', {}, api.info.title), prose(api.info.description)),
    ...api.tags.map(({ name, description }) => make('section', {}, make('h2', {}, name), prose(description))));
  list();
};
fetch('/openapi.json').then((response) => response.json()).then((document_) => {
  api = document_;
  document.querySelector('#version').textContent = api.info.version;
  operations = Object.entries(api.paths).flatMap(([path, verbs]) => Object.entries(verbs).map(([verb, of]) =>
    ({ path, verb, of, id: of.operationId, text: [path, verb, of.operationId, of.summary, of.tags[0]].join(' ').toLowerCase() })));
  search.addEventListener('input', list);
  addEventListener('hashchange', go);
  go();
}).catch((error) => article.append(make('section', {}, make('p', { class: 'bad' }, 'The document cannot be read: ' + error))));
</script>
</html>
`;
