import { Option, type Command } from 'commander';
import { invalidInput, isDomainError, quote } from '../../core/errors.js';
import { printableLines } from '../../core/terminal-text.js';
import { readField, isObject } from '../../core/schema/json-value.js';
import type { JsonSchema } from '../../core/schema/json-schema.js';
import { mergePatch } from '../../server/dashboard/manage/edit.js';
import type { ApiEndpoint } from '../api/endpoints.js';
import { composeBody, formatFlag, isOption, withBody } from '../api/body.js';
import { callServer, textFrom, type Request } from '../api/client.js';
import { nameCommand, singular } from '../api/command-name.js';
import { renderAnswer } from '../api/render-answer.js';
import {
  composeManifest,
  optionAt,
  readShortForm,
  withShortForm,
  type ShortForm,
} from '../api/short-form.js';
import { limitForm, shortForms } from '../api/short-forms.js';
import { tables, type Beside } from '../api/tables.js';
import { renderYaml } from '../../adapters/manifests/yaml.js';
import { setTimeout } from 'node:timers/promises';
import { hasServer, readServer, withServer, type Server, type ServerOptions } from '../api/server.js';
import {
  addNoun,
  Refused,
  say,
  show,
  unlessYes,
  withFormat,
  withYes,
  type Format,
  type Result,
  type Terminal,
} from '../terminal.js';

type Options = ServerOptions & {
  readonly output: Format;
  readonly yes?: true;
  readonly ifMatch?: string;
  readonly csv?: true;
  readonly watch?: string | true;
} & Readonly<Record<string, unknown>>;

const isWithout = (name: string) => (data: unknown) => isObject(data) && data[name] !== true;

/** Whether the answer of a check is a no: exit code 1. */
const saysNo: Readonly<Record<string, (data: unknown) => boolean>> = {
  testPolicyWebhook: isWithout('wouldPass'),
  testNotification: isWithout('delivered'),
  explainSponsorship: isWithout('sponsored'),
};

/** A command for every endpoint of the management API: arguments, options, help and completion follow from its row. */
export function addServerCommands(
  program: Command,
  terminal: Terminal,
  endpoints: readonly ApiEndpoint[],
): void {
  const names = endpoints.map((endpoint) => nameCommand(endpoint, endpoints));
  const describe = (path: string, noun: string): string => {
    const verbs = names.flatMap((name) => (name.noun === noun ? (name.verb ?? []) : []));
    const subject = path.split('/').find((part) => singular(part) === noun);
    return `${subject}: ${verbs.join(', ')}`;
  };
  for (const endpoint of endpoints) {
    const { noun, verb } = nameCommand(endpoint, endpoints);
    const known = program.commands.find((each) => each.name() === noun);
    const command =
      verb === undefined
        ? program.command(noun)
        : (known ?? addNoun(program, noun, describe(endpoint.path, noun))).command(verb);
    if (endpoint.operationId === 'createContractObject') command.alias('add');
    const form = shortForms[endpoint.operationId];
    addEndpoint(command.description(endpoint.summary), endpoint, terminal, form);
    if (endpoint.operationId === 'getLimits')
      addEndpoint(
        program.commands
          .find((each) => each.name() === noun)!
          .command('set')
          .description(
            'Set a limit of each account, or of all together; the same command makes and changes it',
          ),
        endpoints.find(({ operationId }) => operationId === 'putPolicy')!,
        terminal,
        limitForm,
      );
  }
}

function addEndpoint(command: Command, endpoint: ApiEndpoint, terminal: Terminal, form?: ShortForm): void {
  const names = [...endpoint.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
  const positions = form === undefined ? names : ['name'];
  if (form === undefined) for (const name of names) command.argument(`<${name}>`);
  else withShortForm(command, form);
  const { parameters = {}, body, method } = endpoint;
  const isAsked = 'dryRun' in parameters;
  const isDeletion = isAsked && method === 'delete';
  // A limit may count anew.
  const isForgetful = isAsked && !isDeletion && endpoint.path.startsWith('/policies/');
  for (const [name, { description, schema }] of Object.entries(parameters))
    if (name !== 'dryRun') command.addOption(createOption(name, description, schema));
  if (isDeletion) withYes(command);
  else if (isForgetful)
    withYes(command, 'do it, also when a count begins anew; without it nothing is changed then').option(
      '--keep-count',
      'of a limit: go on with its count (keepCount: true of the limit)',
    );
  if (endpoint.isList)
    command.option('--watch [seconds]', 'show it again whenever it differs, until Ctrl-C (default: each 5)');
  if (endpoint.form === 'table') command.option('--csv', 'all rows with all columns as CSV');
  if (isOfObject(endpoint))
    command.option('--if-match <uid.generation>', 'only if it is still the one that was shown');
  if (body !== undefined) withBody(command, form === undefined ? body.schemas : []);
  withServer(withFormat(command)).action(async (...given: readonly unknown[]) => {
    const options = given[positions.length] as Options;
    const query = Object.keys(parameters).flatMap((name) => {
      const value = options[name];
      return typeof value === 'string' || value === true ? [[name, String(value)] as const] : [];
    });
    const isDry = isDeletion && options.yes !== true;
    const server = () =>
      readServer(terminal, options, endpoint.scope === 'platform' ? 'platform' : 'organisation');
    const sent =
      body && keeping(options, await sentBody(endpoint, options, form, given[0] as string, server));
    if (form !== undefined && options['dryRun'] === true) {
      const manifest = composeManifest(form, Object(sent), await namespaceAt(terminal, options));
      return terminal.out(renderYaml(manifest));
    }
    const values =
      form === undefined ? given.slice(0, names.length).map(String) : [String(readField(sent, 'name'))];
    const request = {
      method: endpoint.method,
      optionOf: createOptionReader(endpoint, form, options),
      path: fillPath(endpoint.path, names, values),
      query: { ...Object.fromEntries(query), ...(isDry ? { dryRun: 'true' } : {}) },
      ...(body === undefined ? {} : { body: sent }),
      ...(options.ifMatch === undefined ? {} : { headers: { 'if-match': `"${options.ifMatch}"` } }),
    };
    if (options.csv === true) {
      const csv = await textFrom(server(), { ...request, headers: { accept: 'text/csv' } });
      return terminal.out(printableLines(csv.replaceAll('\r\n', '\n')));
    }
    if (isForgetful && options.yes !== true) await requireNoWarning(terminal, server(), request);
    if (options.watch !== undefined)
      return watch(terminal, options, () => answerTo(endpoint, server(), request, options));
    const { data, text } = await answerTo(endpoint, server(), request, options, (message) =>
      say(terminal, message),
    );
    show(terminal, options.output, { text, data });
    const cursor = data['nextCursor'];
    if (typeof cursor === 'string') say(terminal, `there are more: repeat with --cursor ${cursor}`);
    const more =
      'cascade' in parameters && options['cascade'] !== true
        ? ', with --cascade also what belongs to it'
        : '';
    if (isDry) throw unlessYes('deleted', `deletes it${more}`);
    if (saysNo[endpoint.operationId]?.(data) === true) throw new Refused();
  });
}

async function answerTo(
  endpoint: ApiEndpoint,
  server: Server,
  request: Request,
  { output }: Pick<Options, 'output'>,
  tell?: (message: string) => void,
): Promise<Result> {
  const isTable = output === 'table' || output === 'wide';
  const [answer, beside] = await Promise.all([
    callServer(server, request, tell),
    isTable ? askBeside(endpoint, server) : {},
  ]);
  return {
    data: isObject(answer) ? answer : { data: answer ?? null },
    text: isTable ? renderAnswer(endpoint, answer, { isWide: output === 'wide', beside }) : '',
  };
}

/** What is not answered leaves its columns empty: a token may see less, and a ledger may be away. */
async function askBeside({ operationId }: ApiEndpoint, server: Server): Promise<Beside> {
  const asks = Object.entries(tables[operationId]?.asks?.(new Date()) ?? {});
  return Object.fromEntries(
    await Promise.all(
      asks.map(async ([name, ask]) => {
        const answer = await callServer(server, { method: 'get', ...ask }).catch((error: unknown) => {
          if (error instanceof Refused || isDomainError(error)) return undefined;
          throw error;
        });
        return [name, answer] as const;
      }),
    ),
  );
}

/** Ends with the process. A server that is away for a while is waited for. */
async function watch(
  terminal: Terminal,
  { output, watch: given }: Options,
  ask: () => Promise<Result>,
): Promise<void> {
  const seconds = given === true ? 5 : Number(given);
  if (!(seconds >= 1 && seconds <= 3600))
    throw invalidInput({ field: '--watch', expected: '1 to 3600 seconds', value: quote(given) });
  const { clear, stopped } = terminal;
  let before = '';
  while (stopped?.aborted !== true) {
    try {
      const answer = await ask();
      const now = JSON.stringify(answer);
      if (now !== before) {
        terminal.out(clear ?? (before === '' ? '' : '\n'));
        show(terminal, output, answer);
      }
      before = now;
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
      say(terminal, error.message);
    }
    await setTimeout(seconds * 1000, undefined, { ...(stopped && { signal: stopped }) }).catch(
      () => undefined,
    );
  }
}

/** Throws Refused where the change would have a warning. */
async function requireNoWarning(terminal: Terminal, server: Server, request: Request): Promise<void> {
  let isWarned = false;
  try {
    await callServer(server, { ...request, query: { ...request.query, dryRun: 'true' } }, (message) => {
      isWarned = true;
      say(terminal, message);
    });
  } catch (error) {
    // What is refused now, or is not there to be changed, is answered by the call itself.
    if (!(error instanceof Refused)) throw error;
  }
  if (isWarned) throw unlessYes('changed', 'changes it, --keep-count goes on with the count');
}

/** The option that gives a field; undefined for what only a file can give. */
function createOptionReader(
  { parameters = {}, body }: ApiEndpoint,
  form: ShortForm | undefined,
  options: Options,
): NonNullable<Request['optionOf']> {
  return (field) => {
    if (form !== undefined) return optionAt(form, options, field);
    const [name = ''] = field.split(/[.[]/);
    const isMember = options['file'] === undefined && isOption(body?.schemas ?? [], name);
    return Object.hasOwn(parameters, name) || isMember ? formatFlag(name) : undefined;
  };
}

async function sentBody(
  { body }: ApiEndpoint,
  options: Options,
  form: ShortForm | undefined,
  name: string | undefined,
  server: () => Server,
): Promise<unknown> {
  const file = composeBody(form === undefined ? (body?.schemas ?? []) : [], options);
  if (form === undefined) return file;
  return readShortForm(form, name, options, file, async () => {
    const found = await callServer(server(), { method: 'get', path: '/paymasters', query: { limit: '2' } });
    const [only, ...others] = isObject(found) && Array.isArray(found['items']) ? found['items'] : [];
    return isObject(only) && others.length === 0 ? String(only['name']) : undefined;
  });
}

/** A manifest may be made without a server. */
async function namespaceAt(terminal: Terminal, options: Options): Promise<string | undefined> {
  if (options.context === undefined && !hasServer(terminal)) return undefined;
  const me = await callServer(readServer(terminal, options), { method: 'get', path: '/me' });
  return String(readField(readField(me, 'organisation'), 'namespace'));
}

function keeping({ keepCount }: Options, body: unknown): unknown {
  return keepCount === true ? mergePatch(body, { spec: { spendingLimit: { keepCount } } }) : body;
}

/** Changes an object, of which somebody may have seen an older generation. */
function isOfObject({ method, path }: ApiEndpoint): boolean {
  return ['put', 'patch', 'delete'].includes(method) && path.endsWith('/:name');
}

function createOption(name: string, description: string, schema: JsonSchema): Option {
  const flag = formatFlag(name);
  if (schema['type'] === 'boolean') return new Option(flag, description);
  const option = new Option(`${flag} <value>`, description);
  const choices = schema['enum'];
  return Array.isArray(choices) ? option.choices(choices.map(String)) : option;
}

function fillPath(path: string, names: readonly string[], values: readonly string[]): string {
  return names.reduce((whole, name, at) => {
    const value = values[at] ?? '';
    // As a part of a path they would name another endpoint.
    if (['', '.', '..'].includes(value))
      throw invalidInput({ field: name, expected: 'a name or an id', value: quote(value) });
    return whole.replace(`:${name}`, () => encodeURIComponent(value));
  }, path);
}
