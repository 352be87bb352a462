import { Option, type Command } from 'commander';
import { readYaml } from '../../adapters/manifests/yaml.js';
import { DomainError, invalidInput, errorMessage } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import type { JsonSchema } from '../../core/schema/json-schema.js';
import { collect, readInput } from '../terminal.js';

type Members = Readonly<Record<string, JsonSchema>>;

/** `--file` for the whole body, and an option for each member that is short enough to type, or the text of a file for it. */
export function withBody(command: Command, schemas: readonly JsonSchema[]): Command {
  command.option(
    '-f, --file <file>',
    'the body, or the manifest whose spec it is, as YAML or JSON; - is stdin',
  );
  for (const [name, schema] of Object.entries(mergeMembers(schemas))) {
    const kind = valueKind(schema);
    if (kind === undefined) continue;
    const flag = formatFlag(name);
    const said = typeof schema['description'] === 'string' ? schema['description'] : '';
    const each = isObject(schema['items']) ? listChoices(schema['items']) : undefined;
    const description =
      each === undefined ? said : `${said}${said && ' '}One of ${each.join(', ')}; may be repeated`;
    const option = new Option(`${flag} <${kind === 'file' ? 'file' : 'value'}>`, description);
    if (Array.isArray(schema['enum'])) option.choices(schema['enum'].map(String));
    command.addOption(kind === 'list' ? option.argParser(collect) : option);
  }
  return command;
}

/** Throws INVALID_INPUT. */
export function composeBody(
  schemas: readonly JsonSchema[],
  { file, ...options }: Readonly<Record<string, unknown>>,
): unknown {
  const members = Object.entries(mergeMembers(schemas)).flatMap(([name, schema]) => {
    const value = options[name];
    const kind = valueKind(schema);
    if (kind === undefined || value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    return [[name, convertValue(kind, value)] as const];
  });
  const whole = typeof file === 'string' ? readBody(file) : undefined;
  if (members.length === 0 && whole !== undefined) return whole;
  if (whole !== undefined && !isObject(whole))
    throw invalidInput({ field: String(file), expected: 'an object, to which the options are added' });
  return { ...whole, ...Object.fromEntries(members) };
}

/** Of a parameter or a member. */
export function formatFlag(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Whether a member of a body is an option. */
export function isOption(schemas: readonly JsonSchema[], name: string): boolean {
  const schema = Object.entries(mergeMembers(schemas)).find(([each]) => each === name)?.[1];
  return schema !== undefined && valueKind(schema) !== undefined;
}

type Kind = 'text' | 'number' | 'boolean' | 'list' | 'file';

/** Undefined for what only a file can say. */
function valueKind({ type, items, anyOf, enum: choices }: JsonSchema): Kind | undefined {
  if (type === 'string' || choices !== undefined) return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  if (type === 'array' && isObject(items) && (items['type'] === 'string' || listChoices(items) !== undefined))
    return 'list';
  // A text or something larger: nobody types it.
  if (Array.isArray(anyOf) && anyOf.some((each) => isObject(each) && each['type'] === 'string'))
    return 'file';
  return undefined;
}

function listChoices(schema: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  return Array.isArray(schema['enum']) ? schema['enum'].map(String) : undefined;
}

function convertValue(kind: Kind, value: unknown): unknown {
  if (kind === 'number') return Number(value);
  if (kind === 'boolean') return value === 'true';
  return kind === 'file' ? readInput(String(value)) : value;
}

function mergeMembers(schemas: readonly JsonSchema[]): Members {
  return Object.assign({}, ...schemas.map(({ properties }) => properties ?? {})) as Members;
}

/** Of a manifest what the API takes of it. */
export function readBody(file: string): unknown {
  const text = readInput(file);
  let value: unknown;
  try {
    value = readYaml(text);
  } catch (cause) {
    throw new DomainError('INVALID_INPUT', `${file} is not YAML: ${errorMessage(cause)}`, { cause });
  }
  if (!isObject(value) || !isObject(value['metadata']) || value['spec'] === undefined) return value;
  const { name, labels } = value['metadata'];
  return { name, ...(labels === undefined ? {} : { labels }), spec: value['spec'] };
}
