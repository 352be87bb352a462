import { Option, type Command } from 'commander';
import { invalidInput, quote } from '../../core/errors.js';
import { printableLines } from '../../core/terminal-text.js';
import { isObject } from '../../core/schema/json-value.js';
import type { JsonSchema } from '../../core/schema/json-schema.js';
import type { Endpoint } from '../../server/dashboard/endpoint.js';
import { manageEndpoints, platformEndpoints } from '../../server/dashboard/endpoints.js';
import { bodyOf, withBody } from '../api/body.js';
import { callServer, textFrom } from '../api/client.js';
import { commandNameOf } from '../api/command-name.js';
import { renderAnswer } from '../api/render-answer.js';
import { readServer, withServer, type ServerOptions } from '../api/server.js';
import { addNoun, Refused, say, show, withFormat, type Format, type Terminal } from '../terminal.js';

type Options = ServerOptions & {
  readonly output: Format;
  readonly yes?: true;
  readonly ifMatch?: string;
  readonly csv?: true;
} & Readonly<Record<string, unknown>>;

/** A command for every endpoint of the management API: arguments, options, help and completion follow from its row. */
export function addServerCommands(program: Command, terminal: Terminal): void {
  const endpoints = [...manageEndpoints, ...platformEndpoints];
  const names = endpoints.map((endpoint) => commandNameOf(endpoint, endpoints));
  const describe = (path: string, noun: string): string => {
    const verbs = names.flatMap((name) => (name.noun === noun ? (name.verb ?? []) : []));
    return `${path.split('/')[1]}: ${verbs.join(', ')}`;
  };
  for (const endpoint of endpoints) {
    const { noun, verb } = commandNameOf(endpoint, endpoints);
    const known = program.commands.find((each) => each.name() === noun);
    const command =
      verb === undefined
        ? program.command(noun)
        : (known ?? addNoun(program, noun, describe(endpoint.path, noun))).command(verb);
    addEndpoint(command.description(endpoint.summary), endpoint, terminal);
  }
}

function addEndpoint(command: Command, endpoint: Endpoint, terminal: Terminal): void {
  const names = [...endpoint.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
  for (const name of names) command.argument(`<${name}>`);
  const { parameters = {}, body } = endpoint;
  const isDeletion = endpoint.method === 'delete' && 'dryRun' in parameters;
  for (const [name, { description, schema }] of Object.entries(parameters))
    if (!(isDeletion && name === 'dryRun')) command.addOption(optionOf(name, description, schema));
  if (isDeletion) command.option('--yes', 'do it; without it only what would end is shown');
  if (endpoint.form === 'table') command.option('--csv', 'all rows with all columns as CSV');
  if (isOfObject(endpoint))
    command.option('--if-match <uid.generation>', 'only if it is still the one that was shown');
  if (body !== undefined) withBody(command, body.schemas);
  withServer(withFormat(command)).action(async (...given: readonly unknown[]) => {
    const options = given[names.length] as Options;
    const values = given.slice(0, names.length).map(String);
    const query = Object.keys(parameters).flatMap((name) => {
      const value = options[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    const isDry = isDeletion && options.yes !== true;
    const server = readServer(terminal, options, endpoint.scope === 'platform' ? 'platform' : 'organisation');
    const request = {
      method: endpoint.method,
      path: pathOf(endpoint.path, names, values),
      query: { ...Object.fromEntries(query), ...(isDry ? { dryRun: 'true' } : {}) },
      ...(body === undefined ? {} : { body: bodyOf(body.schemas, options) }),
      ...(options.ifMatch === undefined ? {} : { headers: { 'if-match': `"${options.ifMatch}"` } }),
    };
    if (options.csv === true) {
      const csv = await textFrom(server, { ...request, headers: { accept: 'text/csv' } });
      return terminal.out(printableLines(csv.replaceAll('\r\n', '\n')));
    }
    const data = await callServer(server, request, () =>
      say(
        terminal,
        'it is saved, and the servers that sign do not follow it yet: "paymaster doctor" says why',
      ),
    );
    const text = renderAnswer(endpoint, data);
    show(terminal, options.output, { text, data: isObject(data) ? data : { data: data ?? null } });
    const cursor = isObject(data) ? (data['nextCursor'] ?? data['cursor']) : undefined;
    if (typeof cursor === 'string') say(terminal, `there are more: repeat with --cursor ${cursor}`);
    if (isDry) throw new Refused('nothing was deleted: --yes deletes it');
  });
}

/** Changes an object, of which somebody may have seen an older generation. */
function isOfObject({ method, path }: Endpoint): boolean {
  return ['put', 'patch', 'delete'].includes(method) && path.endsWith('/:name');
}

function optionOf(name: string, description: string, schema: JsonSchema): Option {
  const option = new Option(
    `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} <value>`,
    description,
  );
  const choices = schema['type'] === 'boolean' ? ['true', 'false'] : schema['enum'];
  return Array.isArray(choices) ? option.choices(choices.map(String)) : option;
}

function pathOf(path: string, names: readonly string[], values: readonly string[]): string {
  return names.reduce((whole, name, at) => {
    const value = values[at] ?? '';
    // As a part of a path they would name another endpoint.
    if (['', '.', '..'].includes(value))
      throw invalidInput({ field: name, expected: 'a name or an id', value: quote(value) });
    return whole.replace(`:${name}`, () => encodeURIComponent(value));
  }, path);
}
