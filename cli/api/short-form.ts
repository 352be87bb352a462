import { InvalidArgumentError, Option, type Command } from 'commander';
import { DomainError, invalidInput } from '../../core/errors.js';
import { apiVersion } from '../../core/meta/meta.js';
import type { PolicyType } from '../../core/policy/kinds.js';
import type { Kind } from '../../core/resources/kinds.js';
import { isObject } from '../../core/schema/json-value.js';
import { given } from '../../core/units/given.js';
import { mergePatch } from '../../server/dashboard/manage/edit.js';
import { collect } from '../terminal.js';

// Options instead of YAML: what the rows of short-forms.ts mean.

export type Spec = Readonly<Record<string, unknown>>;
export type Row = {
  readonly flags: string;
  readonly says: string;
  /** What it stands for, below `spec`. */
  readonly member?: string;
  /** The same by kind of policy, for what only policies of these kinds have. */
  readonly of?: Partial<Readonly<Record<PolicyType, string>>>;
  /** What is written besides. */
  readonly adds?: Spec;
  /** Reads each text that was given; `spec` is what rows before this one wrote. Throws INVALID_INPUT, which names `flag`. */
  readonly read?: (text: string, flag: string, spec: Spec) => unknown;
  readonly isList?: true;
  readonly choices?: readonly string[];
  /** The flag that is not given together with it. */
  readonly without?: string;
  /** Flags of which one is given together with it. */
  readonly with?: readonly string[];
};

export type ShortForm = {
  readonly kind: Kind;
  readonly rows: readonly Row[];
  /** Defaults of the spec. */
  readonly usual: Spec;
  /** A name, where none is given. */
  readonly nameOf?: (spec: Spec) => string;
};

export function withShortForm(command: Command, { rows, nameOf }: ShortForm): Command {
  command.argument('[name]', nameOf === undefined ? 'its name' : 'its name; default: by paymaster and limit');
  for (const { flags, says, isList, choices, without } of rows) {
    const option = new Option(flags, says);
    if (without !== undefined) option.conflicts(attributeName(without));
    if (choices !== undefined) option.choices(choices);
    command.addOption(isList ? option.argParser(listParser(choices)) : option);
  }
  return command.option('--dry-run', 'write nothing; print the manifest to commit');
}

/**
 * What the options and the file say together: name, labels and spec. `onlyPaymaster` is asked where a paymaster is not named. Throws
 * INVALID_INPUT, which names options.
 */
export async function readShortForm(
  form: ShortForm,
  name: string | undefined,
  options: Readonly<Record<string, unknown>>,
  file: unknown,
  onlyPaymaster: () => Promise<string | undefined>,
): Promise<Readonly<Record<string, unknown>>> {
  const used = usedRows(form, options);
  const fileSpec = isObject(file) && isObject(file['spec']) ? file['spec'] : undefined;
  if (name === undefined && used.length === 0) {
    if (isObject(file) && Object.keys(file).length > 0) return file;
    throw invalidInput({ field: 'NAME', expected: `given with ${listFlags(form.rows)}, or -f FILE` });
  }
  const policyType = readPolicyType(form, used, fileSpec);
  if (fileSpec === undefined) requireCompany(used);
  let spec = mergePatch(form.usual, fileSpec ?? {}) as Spec;
  for (const row of used) {
    const member = row.member ?? (policyType && row.of?.[policyType]) ?? '';
    const said = readValue(row, options[attributeName(row.flags)], spec);
    for (const patch of [row.adds ?? {}, nested(member.split('.'), said), given({ policyType })])
      spec = mergePatch(spec, patch) as Spec;
  }
  if (form.rows.some(({ member }) => member === paymasterMember) && spec['paymasterRef'] === undefined) {
    const only = await onlyPaymaster();
    if (only === undefined)
      throw invalidInput({
        field: '--paymaster',
        expected: 'the name of one, as "paymaster paymaster list" has it',
      });
    spec = { paymasterRef: { name: only }, ...spec };
  }
  const called = name ?? (isObject(file) ? file['name'] : undefined) ?? form.nameOf?.(spec);
  const written = { ...(isObject(file) && file), name: called, spec: { name: called, ...spec } };
  await requireValid(
    form.kind,
    written.name,
    written.spec,
    (field) => optionAt(form, options, field) ?? field,
  );
  return written;
}

/** Of a reference to the paymaster that something belongs to. */
export const paymasterMember = 'paymasterRef.name';

/** To be committed, and applied by kubectl or "paymaster apply". */
export function composeManifest(
  { kind }: ShortForm,
  { name, labels, spec }: Readonly<Record<string, unknown>>,
  namespace: string | undefined,
) {
  return { apiVersion, kind, metadata: { name, ...given({ namespace, labels }) }, spec };
}

/** The kind of policy that all the options are of; undefined where they say none. */
function readPolicyType(
  { rows }: ShortForm,
  used: readonly Row[],
  fileSpec: Spec | undefined,
): PolicyType | undefined {
  const rowPolicyTypes = ({ of = {} }: Row) => Object.keys(of) as PolicyType[];
  const [first, ...others] = used.filter(({ of }) => of !== undefined);
  if (first === undefined) {
    const makers = rows.filter((row) => rowPolicyTypes(row).length === 1 && row.with === undefined);
    if (makers.length === 0 || fileSpec !== undefined) return undefined;
    throw invalidInput({ field: 'the policy', expected: `one of ${listFlags(makers)}` });
  }
  let shared = rowPolicyTypes(first);
  for (const row of others) {
    const both = shared.filter((type) => rowPolicyTypes(row).includes(type));
    if (both.length === 0)
      throw invalidInput({
        field: `${firstFlag(first.flags)} and ${firstFlag(row.flags)}`,
        expected: `given to two commands: each makes a policy, of ${shared.join(' or ')} and of ${rowPolicyTypes(row).join(' or ')}`,
      });
    shared = both;
  }
  return shared.length === 1 ? shared[0] : undefined;
}

/** Throws INVALID_INPUT for an option that means nothing by itself. */
function requireCompany(used: readonly Row[]): void {
  const flags = used.map((row) => firstFlag(row.flags));
  for (const row of used)
    if (row.with !== undefined && !row.with.some((flag) => flags.includes(flag)))
      throw invalidInput({ field: firstFlag(row.flags), expected: `given with ${row.with.join(' or ')}` });
}

/** Throws INVALID_INPUT for mistakes that can be found without a server. `say` names a field. */
export async function requireValid(
  kind: Kind,
  name: unknown,
  spec: Spec,
  say: (field: string) => string = (field) => field,
): Promise<void> {
  // Rules in CEL are compiled, which no other command waits for.
  const [{ validateResource }, { findPolicyData, findPolicyKind }] = await Promise.all([
    import('../../core/resources/validate.js'),
    import('../../core/policy/derived.js'),
  ]);
  const metadata = { name: typeof name === 'string' ? name : '', namespace: 'any' };
  const problems = validateResource(kind, { metadata, spec });
  if (problems.length > 0)
    throw invalidInput(problems.map(({ field, ...rest }) => ({ field: say(field), ...rest })));
  const policyKind = findPolicyKind(spec['policyType']);
  const data = policyKind && findPolicyData(spec, policyKind);
  // The server alone knows the methods of contracts, and the private hosts of the platform.
  if (data === undefined || (policyKind?.methodsNamed?.(data).length ?? 0) > 0) return;
  const url = 'url' in data && typeof data.url === 'string' && URL.canParse(data.url) ? data.url : undefined;
  const privateHosts = url === undefined ? [] : [{ origin: new URL(url).origin, networks: [] }];
  const problem = policyKind?.problem?.(data, { webhookUrls: { privateHosts }, methods: new Map() });
  // A sentence that begins with its field.
  const [field = '', ...words] = problem?.replace(/\.$/, '').split(' ') ?? [];
  if (problem !== undefined) throw new DomainError('INVALID_INPUT', [say(field), ...words].join(' '));
}

function readValue({ read, flags }: Row, given: unknown, spec: Spec): unknown {
  if (read === undefined) return given;
  const flag = firstFlag(flags);
  return Array.isArray(given)
    ? given.flatMap((each) => read(String(each), flag, spec))
    : read(String(given), flag, spec);
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined;
}

/** The library checks choices only of an option without a parser. */
function listParser(choices: readonly string[] | undefined) {
  return (value: string, before: readonly string[] | undefined): readonly string[] => {
    if (choices?.includes(value) === false)
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`);
    return collect(value, before);
  };
}

function firstFlag(flags: string): string {
  return flags.split(' ')[0] ?? '';
}

function listFlags(rows: readonly Row[]): string {
  return rows.map(({ flags }) => firstFlag(flags)).join(', ');
}

function attributeName(flags: string): string {
  return new Option(flags).attributeName();
}

/** The option that says a field of the spec: the nearest, and of several one that was given. */
export function optionAt(
  form: ShortForm,
  options: Readonly<Record<string, unknown>>,
  field: string,
): string | undefined {
  if (field === 'name' || field === 'metadata.name') return 'NAME';
  const path = field.startsWith('spec.') ? field : `spec.${field}`;
  const within = (member: string): boolean =>
    ['.', '['].some((next) => `${path}.`.startsWith(`spec.${member}${next}`));
  const [best] = [...usedRows(form, options), ...form.rows]
    .flatMap(({ flags, member, of = {} }) =>
      [...(member === undefined ? [] : [member]), ...Object.values(of)]
        .filter(within)
        .map((each) => ({ flag: firstFlag(flags), depth: each.split('.').length })),
    )
    .toSorted((left, right) => right.depth - left.depth);
  return best?.flag;
}

function usedRows({ rows }: ShortForm, options: Readonly<Record<string, unknown>>): readonly Row[] {
  return rows.filter(({ flags }) => isGiven(options[attributeName(flags)]));
}

function nested([first = '', ...rest]: readonly string[], value: unknown): Spec {
  if (first === '') return {};
  return { [first]: rest.length === 0 ? value : nested(rest, value) };
}
